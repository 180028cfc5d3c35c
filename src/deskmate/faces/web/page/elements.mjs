// Small parts that every view uses. Every text of an agent becomes a text node.

import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import htm from "htm";
import { ago, t } from "deskmate/words";

export const html = htm.bind(h);

// The time, for everything that says how long ago something was.
const TICK_SECONDS = 5;
export const now = signal(Date.now() / 1000);
setInterval(() => { if (!document.hidden) now.value = Date.now() / 1000; }, TICK_SECONDS * 1000);
document.addEventListener("visibilitychange", () => { now.value = Date.now() / 1000; });

export function Ago({ at, from = now }) {
  return html`<span class="ago">${ago(at, from.value)}</span>`;
}

const TAGS = new Set(["p", "ul", "ol", "li", "blockquote", "strong", "em", "del", "table", "thead", "tbody", "tr", "th",
  "td", "br", "hr", "code", "pre", "h3", "h4", "h5", "h6", "span"]);

// Markdown arrives as a tree. Only these elements are made, and only links to the web.
function Node({ node }) {
  if (typeof node === "string") return node;
  const [tag, attributes, children] = node;
  const inside = children.map((child, index) => html`<${Node} key=${index} node=${child} />`);
  if (tag === "a" && /^https?:\/\//.test(attributes.href)) {
    return h("a", { href: attributes.href, target: "_blank", rel: "noopener noreferrer" }, inside);
  }
  return TAGS.has(tag) ? h(tag, {}, inside) : html`<span>${inside}</span>`;
}

export function Text({ body }) {
  if (!body || !body.length) return null;
  if (typeof body === "string") return html`<pre class="plain">${body}</pre>`;
  return html`<div class="markdown">${body.map((node, index) => html`<${Node} key=${index} node=${node} />`)}</div>`;
}

function kindOf(line) {
  if (/^(\+\+\+|---|diff |index |new file|deleted file)/.test(line)) return "file";
  return { "+": "added", "-": "removed", "@": "place" }[line[0]] || "";
}

export function Diff({ diff }) {
  const lines = diff.replace(/\n$/, "").split("\n");
  return html`<pre class="diff" tabindex="0" role="region" aria-label=${t("Diff")}>${lines.map((line, index) =>
    html`<span key=${index} class=${kindOf(line)}>${`${line}\n`}</span>`)}</pre>`;
}

// A title that shows more if it is pressed. `between`: what is always shown.
export function Folded({ open, title, between, children }) {
  const [shown, setShown] = useState(open);
  return html`<button class="fold title" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${title}<span class="chevron"><${Icon} name="down" /></span></button>
    ${between}${shown && html`<div class="folded">${children}</div>`}`;
}

export function Empty({ title, children }) {
  return html`<div class="nothing"><p class="nothing-title">${title}</p>${children && html`<p>${children}</p>`}</div>`;
}

// What a member or a team is doing, as a coloured dot. The word is beside it, or read to those who cannot see it.
export function Dot({ state, word }) {
  const kind = state.startsWith("lead in") ? "working" : state.replace(" ", "-");
  return html`<span class="dot ${kind}" title=${word || t(state)} aria-hidden="true"></span>`;
}

// What a member does, for people. In a team that does not run it does nothing, whatever it did last.
export function activity(one, store) {
  const runs = !store.team.value || store.team.value.running !== false;
  if (one.asks) return { state: "asks", words: t("asks you") };
  if (!runs && (one.state === "working" || one.state === "waiting")) return { state: "stopped", words: t("stopped") };
  return { state: one.state, words: one.doing || t(one.state) };
}

// Up to when a task has taken time. In a team that stopped, until something was last heard of its members.
export function lastMoment(task, store, at) {
  if (task.ended || at !== null) return task.ended || at;
  if (store.team.value?.running) return now.value;
  return Math.max(0, ...store.members.values().map((one) => one.at));
}

// The names of members that are here, and of those that have left.
export function partedMembers(store) {
  const all = JSON.parse(store.presence.value);
  return [true, false].map((wanted) => all.filter(([, here]) => here === wanted).map(([name]) => name));
}

export function Name({ name, colour }) {
  return html`<span class="name colour-${colour || "none"}">${name}</span>`;
}

// How full something is. A style attribute is not allowed on this page, but a script may set one property.
export function Bar({ share, label, kind = "" }) {
  const fill = useRef(null);
  useEffect(() => { if (fill.current) fill.current.style.setProperty("--share", `${share}%`); }, [share]);
  return html`<span class="bar ${kind}" role="img" aria-label=${label} title=${label}><i ref=${fill}></i></span>`;
}

export function Context({ share }) {
  if (share === null || share === undefined) return null;
  const kind = share >= 85 ? "full" : share >= 65 ? "high" : "";
  return html`<${Bar} share=${share} kind=${`context ${kind}`} label=${`${t("context")} ${share}%`} />`;
}

const PATHS = {
  back: "M15 5l-7 7 7 7", down: "M7 10l5 5 5-5", mail: "M4 6h16v12H4zM4 7l8 6 8-6", close: "M6 6l12 12M18 6L6 18", play: "M8 5l11 7-11 7z", pause: "M8 5v14M16 5v14",
  search: "M11 4a7 7 0 100 14 7 7 0 000-14zM20 20l-4-4", clock: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l3 2",
  check: "M5 12l5 5L19 7", cross: "M7 7l10 10M17 7L7 17", link: "M5 12h14M13 6l6 6-6 6", save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  plus: "M12 5v14M5 12h14", columns: "M4 5h7v14H4zM13 5h7v14h-7z", bell: "M6 16V11a6 6 0 1112 0v5l2 2H4zM10 20h4",
  lock: "M7 11V8a5 5 0 0110 0v3M5 11h14v9H5z", merge: "M7 4v16M7 9c0 5 10 2 10 8M17 17v3", warn: "M12 4l9 16H3zM12 10v4M12 17v.5",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}

// A field that grows with its text. Enter sends, unless characters are being composed.
export function Words({ id, label, value, change, submit, rows = 1, placeholder = "" }) {
  const field = useRef(null);
  useEffect(() => {
    field.current.style.height = "auto";
    field.current.style.height = `${Math.min(field.current.scrollHeight + 2, 220)}px`;
  }, [value]);
  const typed = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
  };
  return html`<textarea ref=${field} id=${id} rows=${rows} aria-label=${label} placeholder=${placeholder} value=${value}
    onInput=${(event) => change(event.target.value)} onKeyDown=${typed}></textarea>`;
}
