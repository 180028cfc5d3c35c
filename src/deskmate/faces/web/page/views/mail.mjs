// Mail as a sequence diagram: a line for each member, an arrow for each message.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Empty, Icon, Name, Text, html } from "deskmate/elements";
import { clock, t } from "deskmate/words";

// With how many columns each is how wide at least.
const COLUMNS = [[4, 200], [8, 140], [Infinity, 104]];
const NEAR_END = 80;
// With more columns than these, an end of an arrow is mostly out of sight, so its ends are named.
const MANY = 8;

function nameOf(sender) {
  return sender.split(":")[0];
}

function Letter({ row, places, colours }) {
  const [open, setOpen] = useState(false);
  const one = row.value, sender = nameOf(one.sender);
  const from = places.get(sender), to = one.recipients.map((name) => places.get(name));
  const low = Math.min(from, ...to), high = Math.max(from, ...to);
  const place = (node) => {
    if (!node) return;
    node.style.setProperty("--from", low + 0.5);
    node.style.setProperty("--span", high - low);
  };
  const heads = `${to.some((x) => x > from) ? "right" : ""} ${to.some((x) => x < from) ? "left" : ""} ${to.every((x) => x === from) ? "self" : ""}`;
  return html`<div class="letter ${open ? "open" : ""} ${one.unread.length ? "unread" : ""}">
    <time>${clock(one.at)}</time>
    <button ref=${place} class="arrow ${heads} colour-${colours(sender) || "none"}" aria-expanded=${open}
      aria-label=${`${one.sender} → ${one.recipients.join(", ")}: ${one.title} ${one.summary}`} onClick=${() => setOpen(!open)}>
      <span class="route">${sender} → ${one.recipients.length > 3 ? `${one.recipients.length} ${t("members")}` : one.recipients.join(", ")}</span>
      <span class="words">${one.unread.length > 0 && html`<span class="badge blocked"><${Icon} name="clock" />${t("Not read yet")}</span> `}${one.title ? html`<b>${one.title}</b> ` : ""}${one.summary}</span><i></i></button>
    ${open && html`<div class="open-letter panel"><p class="soft">${one.sender} → ${one.recipients.join(", ")}${one.unread.length ? `. ${t("Not read yet")}: ${one.unread.join(", ")}` : ""}</p><${Text} body=${one.body} /></div>`}
  </div>`;
}

export function Mail({ store }) {
  const box = useRef(null), follows = useRef(true);
  const keys = store.letters.keys.value;
  store.members.keys.value;
  useLayoutEffect(() => { if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight; });
  if (!keys.length) return html`<section class="mail-view" aria-label=${t("Mail")}><${Empty} title=${t("There is no mail.")} /></section>`;
  const letters = keys.map((key) => store.letters.row(key).peek());
  const writers = new Set(letters.flatMap((one) => [nameOf(one.sender), ...one.recipients]));
  const names = [...new Set(["user", ...store.members.keys.value, ...writers])].filter((name) => writers.has(name));
  const places = new Map(names.map((name, index) => [name, index]));
  const least = COLUMNS.find(([most]) => names.length <= most)[1];
  const colours = (name) => store.members.row(name)?.peek().colour;
  const shape = names.join(" ");
  const size = (node) => {
    if (!node) return;
    node.style.setProperty("--least", `${least}px`);
    node.style.setProperty("--columns", names.length);
  };
  const scrolled = ({ currentTarget: one }) => { follows.current = one.scrollHeight - one.scrollTop - one.clientHeight < NEAR_END; };
  return html`<section class="mail-view" aria-label=${t("Mail")}><div class="scroll" ref=${box} onScroll=${scrolled} tabindex="0" role="region" aria-label=${t("Mail")}>
    <div class="sequence ${names.length > MANY ? "many" : ""}" ref=${size}>
      <div class="heads">${names.map((name) => html`<${Name} key=${name} name=${name} colour=${colours(name)} />`)}</div>
      ${keys.map((key) => html`<${Row} key=${key} row=${store.letters.row(key)} shape=${shape} places=${places} colours=${colours} />`)}
    </div></div></section>`;
}

// Drawn again only if the message or the columns have changed: `places` is new each time, and says the same.
function Row({ row, shape, places, colours }) {
  const known = useRef({ shape: null });
  if (known.current.shape !== shape) known.current = { shape, places, colours };
  return html`<${Letter} row=${row} places=${known.current.places} colours=${known.current.colours} />`;
}
