// The transcript of one member, a search in all transcripts, and the field to write to it.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, saved } from "deskmate/connection";
import { Context, Diff, Dot, Empty, Folded, Icon, Name, Text, Words, activity, html } from "deskmate/elements";
import { PastWords } from "deskmate/past";
import { clock, t } from "deskmate/words";

const MARKS = { said: "clock", asked: "lock", running: "clock", done: "check", failed: "cross" };
const NEAR_END = 60, SEARCH_PAUSE = 250, LOADS = 25;

function hasText(body) {
  return Boolean(body && body.length);
}

function Call({ item, content }) {
  const words = html`<span class="mark" title=${t(item.state)}><${Icon} name=${MARKS[item.state]} /></span><span class="call-words">${item.title}</span>`;
  const failure = item.failure && html`<div class="failure">${item.failure}</div>`;
  return html`<div class="entry call ${item.state}" id=${item.key} tabindex="-1">
    ${item.diff || item.details || hasText(item.body) ? html`<${Folded} open=${item.fold === "open"} title=${words} between=${failure}>
      ${item.details && html`<pre class="plain" tabindex="0">${item.details}</pre>`}${content}<//>` : html`<div class="title">${words}</div>${failure}`}
  </div>`;
}

export function Entry({ row }) {
  const item = row.value;
  const content = item.diff ? html`<${Diff} diff=${item.diff} />` : html`<${Text} body=${item.body} />`;
  switch (item.kind) {
    case "words":
      return html`<div class="entry words" id=${item.key} tabindex="-1"><${Text} body=${item.body} /></div>`;
    case "call":
      return html`<${Call} item=${item} content=${content} />`;
    case "mail":
      return html`<div class="entry mail ${item.sender === "user" ? "from-user" : ""}" id=${item.key} tabindex="-1">
        <div class="title"><b>${item.sender}</b> ${item.title} <time>${clock(item.at)}</time></div>${content}</div>`;
    default:
      return html`<div class="entry ${item.kind} ${item.minor ? "minor" : ""}" id=${item.key} tabindex="-1">
        ${!item.brief && hasText(item.body) && item.fold === "closed" ? html`<${Folded} open=${false} title=${html`<span>${item.title}</span>`}>${content}<//>`
          : html`<div class="title">${item.title} ${item.brief && hasText(item.body) ? item.body : ""}</div>${!item.brief && content}`}
      </div>`;
  }
}

function textOf(item) {
  return JSON.stringify([item.title, item.body, item.details, item.diff, item.failure]).toLowerCase();
}

// Where words are in any transcript. A saved page has all of them.
function everywhere(name, words) {
  if (!saved) return ask(`/api/teams/${encodeURIComponent(name)}/search?words=${encodeURIComponent(words)}`);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = Object.entries(saved.transcripts).flatMap(([member, items]) =>
    items.filter((item) => wanted.every((word) => textOf(item).includes(word))).reverse()
      .map((item) => ({ member, key: item.key, number: item.number, excerpt: item.title || textOf(item).slice(0, 160) })));
  return Promise.resolve({ found: found.slice(0, 100), cut: found.length > 100 });
}

function Found({ name, words, show }) {
  const [result, setResult] = useState(null);
  useEffect(() => {
    setResult(null);
    const timer = setTimeout(() => everywhere(name, words).then(setResult, () => setResult({ found: [], cut: false })), SEARCH_PAUSE);
    return () => clearTimeout(timer);
  }, [name, words]);
  if (!result) return html`<p class="soft pad">…</p>`;
  if (!result.found.length) return html`<${Empty} title=${t("No transcript has these words.")} />`;
  return html`<ul class="found" aria-label=${t("Found")}>${result.found.map((one) => html`<li key=${`${one.member}/${one.key}`}>
    <button onClick=${() => show(one.member, one)}><b>${one.member}</b> <span>${one.excerpt}</span></button></li>`)}
    ${result.cut && html`<li class="soft">${t("There is more. Search for more words.")}</li>`}</ul>`;
}

// Load earlier items until the one that was found is there, and go to it.
function useFound({ name, live, member, wanted, found, box }) {
  useEffect(() => {
    if (!wanted) return undefined;
    let stopped = false;
    (async () => {
      for (let loads = 0; loads < LOADS && !stopped && !live.items.row(wanted.key); loads += 1) {
        if (!live.items.keys.value.length) await new Promise((done) => setTimeout(done, 100));
        else if (live.before.value > 0) await earlier(name, live, member);
        else break;
      }
      setTimeout(() => {
        const entry = !stopped && box.current && [...box.current.children].find((one) => one.id === wanted.key);
        if (entry) { entry.scrollIntoView({ block: "center" }); entry.focus(); }
        found();
      }, 50);
    })();
    return () => { stopped = true; };
  }, [wanted]);
}

async function earlier(name, live, member) {
  const first = live.items.row(live.items.keys.value[0]);
  const number = Math.min(...live.items.values().map((item) => item.number), first ? first.value.number : Infinity);
  const path = `/api/teams/${encodeURIComponent(name)}/transcript?member=${encodeURIComponent(member)}&before=${number}`;
  live.addEarlier(await ask(path));
}

// What the user wrote to a member that it has not read yet.
function Waiting({ live, member }) {
  live.letters.version.value;
  const letters = live.letters.values().filter((one) => one.unread.includes(member));
  if (!letters.length) return null;
  const words = live.team.value?.running ? t("Not read yet") : t("Waits until the team runs again");
  return letters.map((one) => html`<div key=${one.key} class="entry mail from-user unread">
    <div class="title"><b>${one.sender}</b> ${one.title} <time>${clock(one.at)}</time><span class="badge blocked"><${Icon} name="clock" />${words}</span></div><${Text} body=${one.body} /></div>`);
}

// The conversation at the time of the slider.
function PastEntries({ name, member, at }) {
  const words = useMemo(() => new PastWords(name, member), [name, member]);
  const box = useRef(null), [trouble, setTrouble] = useState(null);
  words.version.value;
  useEffect(() => { words.load(at).then(() => setTrouble(null), setTrouble); }, [words, at]);
  const shown = words.at(at);
  useLayoutEffect(() => { if (box.current) box.current.scrollTop = box.current.scrollHeight; }, [shown.length]);
  return html`<div class="entries" ref=${box} tabindex="0" role="log" aria-live="off" aria-label=${t("Conversation")}>
    ${trouble ? html`<p class="trouble">${trouble.message}</p>` : !shown.length && html`<${Empty} title=${t(words.has(at) ? "Nothing had been said by then." : "Reading the past …")} />`}
    ${shown.map((item) => html`<${Entry} key=${item.key} row=${{ value: item }} />`)}
  </div>`;
}

function Entries({ name, live, member, wanted, found }) {
  const box = useRef(null), follows = useRef(true);
  const keys = live.items.keys.value, before = live.before.value;
  live.items.version.value;
  useLayoutEffect(() => { if (follows.current && !wanted && box.current) box.current.scrollTop = box.current.scrollHeight; });
  useFound({ name, live, member, wanted, found: () => { follows.current = false; found(); }, box });
  const scrolled = ({ currentTarget: one }) => { follows.current = one.scrollHeight - one.scrollTop - one.clientHeight < NEAR_END; };
  const load = async () => {
    const low = box.current.scrollHeight - box.current.scrollTop;
    follows.current = false;
    await earlier(name, live, member);
    requestAnimationFrame(() => { box.current.scrollTop = box.current.scrollHeight - low; });
  };
  return html`<div class="entries" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label=${t("Conversation")}>
    ${before > 0 && (saved ? null : html`<button class="quiet" onClick=${load}>${t("Show earlier")} (${before})</button>`)}
    ${!keys.length && html`<${Empty} title=${t("Nothing was said yet.")} />`}
    ${keys.map((key) => html`<${Entry} key=${key} row=${live.items.row(key)} />`)}
    <${Waiting} live=${live} member=${member} />
  </div>`;
}

export function Conversation({ name, store, live, at, member, act, show, wanted, found }) {
  const [words, setWords] = useState("");
  const one = store.members.keys.value && store.members.row(member)?.value;
  const goTo = (who, item) => { setWords(""); show(who, item); };
  return html`<section class="conversation" aria-label=${`${t("Conversation")} ${member}`}>
    <div class="conversation-head">
      ${one && html`<span class="who"><${Dot} state=${activity(one, store).state} /><${Name} name=${one.name} colour=${one.colour} /><span class="soft role">${one.role}</span>
        <span class="soft wide">${activity(one, store).words}</span><${Context} share=${one.context} /></span>`}
      <label class="search"><${Icon} name="search" /><input type="search" placeholder=${t("Search all transcripts")} aria-label=${t("Search")} value=${words} onInput=${(event) => setWords(event.target.value)} /></label>
    </div>
    ${words.trim() ? html`<${Found} name=${name} words=${words.trim()} show=${goTo} />`
      : at !== null ? html`<${PastEntries} key=${member} name=${name} member=${member} at=${at} />`
      : html`<${Entries} key=${member} name=${name} live=${live} member=${member} wanted=${wanted} found=${found} />`}
    ${act && at === null && one && (one.here ? html`<${Writer} name=${member} team=${live} act=${act} />` : html`<p class="writer soft"><span>${member} ${t("has left the team and reads no mail any more.")} ${member !== "lead" && html`<button class="link" onClick=${() => show("lead")}>${t("Write to the lead")}</button>`}</span></p>`)}
  </section>`;
}

function Writer({ name, team, act }) {
  const [text, setText] = useState("");
  const [all, setAll] = useState(false);
  const submit = () => {
    if (text.trim()) act("messages", { to: all ? "all" : name, text: text.trim() }).then((done) => done && setText(""));
  };
  const leave = () => { if (confirm(t("Ask this teammate to leave the team for good?"))) act("stops", { member: name }); };
  const label = `${t("Message to")} ${all ? t("all members") : name}`;
  return html`<form class="writer" onSubmit=${(event) => { event.preventDefault(); submit(); }}>
    <div class="writer-box"><${Words} label=${label} placeholder=${label} value=${text} change=${setText} submit=${submit} rows=1 />
      <button type="submit" class="primary" disabled=${!text.trim()}>${t("Send")}</button></div>
    <div class="actions"><label class="check"><input type="checkbox" checked=${all} onChange=${(event) => setAll(event.target.checked)} /> ${t("all members")}</label>
      ${team.team.value?.running && html`<button type="button" class="quiet small" onClick=${() => act("interrupts", { member: name })}>${t("Interrupt")} ${name}</button>`}
      ${name !== "lead" && html`<button type="button" class="quiet small" onClick=${leave}>${t("Ask to leave")}</button>`}
    </div></form>`;
}
