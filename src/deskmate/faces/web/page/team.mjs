// One team: its parts side by side, live or at an earlier time.

import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { ask, follow, saved, send } from "deskmate/connection";
import { Cost, EMPTY, Timeline, reduce, stateAt } from "deskmate/history";
import { Board, Changes, Conversation, Graph, Mail, Members, Question, html } from "deskmate/views";
import { clock, money, t } from "deskmate/words";

const VIEWS = ["Conversation", "Board", "Graph", "Mail", "Timeline", "Cost", "Changes"];
// The past is read again at most this often, while something happens.
const HISTORY_SECONDS = 5;

export function useNow() {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => { const timer = setInterval(() => setNow(Date.now() / 1000), HISTORY_SECONDS * 1000); return () => clearInterval(timer); }, []);
  return now;
}

// The steps of a team, as long as they are wanted.
function useHistory(name, wanted, now) {
  const [steps, setSteps] = useState(saved ? saved.steps : []);
  useEffect(() => { if (wanted && !saved) ask(`/api/teams/${encodeURIComponent(name)}/history`).then((found) => setSteps(found.steps), () => {}); }, [name, wanted, wanted ? now : 0]);
  return steps;
}

function useAlerts(name, questions) {
  const [known, setKnown] = useState(0);
  useEffect(() => {
    document.title = `${questions ? `(${questions}) ` : ""}${name} – Deskmate`;
    if (questions > known && document.hidden && "Notification" in window && Notification.permission === "granted") {
      new Notification(`${name}: ${t("a question waits for you")}`);
    }
    setKnown(questions);
  }, [name, questions]);
}

// Keys that work unless something is being typed: a number for a view, / to search, m to write.
function useKeys(setView) {
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      const view = VIEWS[Number(event.key) - 1];
      const target = { "/": 'input[type="search"]', m: "#words" }[event.key];
      if (view) setView(view);
      if (target && document.querySelector(target)) { event.preventDefault(); document.querySelector(target).focus(); }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function Team({ name, back }) {
  const [live, change] = useReducer(reduce, EMPTY);
  const [member, setMember] = useState("lead");
  const [view, setView] = useState("Conversation");
  const [linked, setLinked] = useState(true);
  const [trouble, setTrouble] = useState(null);
  const [at, setAt] = useState(null);
  const [rewinds, setRewinds] = useState(false);
  const now = useNow();
  const steps = useHistory(name, rewinds || ["Timeline", "Cost"].includes(view), now);
  useEffect(() => { change("another member"); return follow(name, member, { told: change, linked: setLinked, refused: setTrouble }); }, [name, member]);
  useAlerts(name, live.questions.size);
  useKeys(setView);
  const past = useMemo(() => (at === null ? null : stateAt(steps, at)), [steps, at]);
  const state = past ? { ...past, items: live.items, before: live.before } : live;
  const act = (kind, body) => send(name, kind, body).then(() => { setTrouble(null); return true; }, (error) => { setTrouble({ error: error.message, hint: error.hint }); return false; });
  const members = [...state.members.values()], tasks = [...state.tasks.values()].sort((a, b) => a.id - b.id);
  const colours = Object.fromEntries(members.map((one) => [one.name, one.colour]));
  const end = live.team && live.team.running ? now : steps.length ? steps[steps.length - 1].at : now;
  return html`<div class="team">
    <${Head} name=${name} team=${state.team} live=${live.team} linked=${linked} back=${back} rewinds=${rewinds} toggle=${() => { setRewinds(!rewinds); setAt(null); }} />
    <div class="notes">
      ${trouble && html`<p class="trouble" role="alert">${trouble.error} ${trouble.hint} <button onClick=${() => setTrouble(null)} aria-label="Close">×</button></p>`}
      ${!saved && live.team && !live.team.running && html`<p class="note">${t("This team is not running. To continue it, run:")} <code>deskmate resume ${name}</code></p>`}
      ${rewinds && html`<${Scrubber} steps=${steps} at=${at} setAt=${setAt} />`}
    </div>
    <${Members} members=${members} chosen=${member} now=${at === null ? now : at} choose=${(one) => { setMember(one); setView("Conversation"); }} />
    <${Tabs} view=${view} setView=${setView} />
    <main id="view" role="tabpanel" aria-label=${t(view)}>
      ${view === "Conversation" && html`<${Conversation} key=${member} items=${[...state.items.values()]} before=${state.before} member=${member} past=${at !== null} />`}
      ${view === "Board" && html`<${Board} tasks=${tasks} add=${saved ? null : (subject) => act("tasks", { subject })} />`}
      ${view === "Graph" && html`<${Graph} tasks=${tasks} />`}
      ${view === "Mail" && html`<${Mail} letters=${[...state.letters.values()].sort((a, b) => a.at - b.at)} names=${["user", ...members.map((one) => one.name)]} colours=${colours} />`}
      ${view === "Timeline" && html`<${Timeline} steps=${steps} end=${end} />`}
      ${view === "Cost" && html`<${Cost} steps=${steps} end=${end} colours=${colours} />`}
      ${view === "Changes" && html`<${Changes} name=${name} tasks=${tasks.filter((task) => task.merged)} members=${members.filter((one) => one.own && one.here)} />`}
    </main>
    <aside class="questions" aria-label=${t("Questions")} aria-live="polite">
      ${state.team && state.team.conflicts.length > 0 && html`<ul class="conflicts">${state.team.conflicts.map((one, index) => html`<li key=${index}><b>${one.who}</b>: ${one.what}: ${one.files}</li>`)}</ul>`}
      ${at === null && [...live.questions.values()].map((one) => html`<${Question} key=${one.id} question=${one} answer=${saved ? null : (id, answer, words) => act("answers", { id, answer, words })} />`)}
    </aside>
    ${!saved && html`<${Writer} name=${member} act=${act} />`}
  </div>`;
}

function Head({ name, team, live, linked, back, rewinds, toggle }) {
  const canAsk = !saved && "Notification" in window && Notification.permission === "default";
  const [asked, setAsked] = useState(false);
  return html`<header>${!saved && html`<button onClick=${back}>← ${t("Teams")}</button>`}<h1>${name}</h1>
    ${live && !saved && html`<span class="state ${live.running ? "working" : "left"}" aria-hidden="true"></span><span>${t(live.running ? "running" : "stopped")}</span>`}
    ${team && html`<span>${money(team.cost)}</span><span class="wide">${team.tokens.toLocaleString()} ${t("tokens")}</span><span class="wide">${team.calls} ${t("model calls")}</span>`}
    <button aria-pressed=${rewinds} onClick=${toggle}>${t("Past")}</button>
    ${canAsk && !asked && html`<button onClick=${() => Notification.requestPermission().then(() => setAsked(true))}>${t("Notify me")}</button>`}
    ${!linked && html`<span class="trouble" role="status">${t("No connection. Trying again …")}</span>`}</header>`;
}

function Tabs({ view, setView }) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length];
    setView(next);
    event.currentTarget.querySelector(`[data-view="${next}"]`).focus();
  };
  return html`<div class="views" role="tablist" aria-label=${t("Views")} onKeyDown=${move}>${VIEWS.map((one) => html`<button key=${one} data-view=${one} role="tab"
    aria-controls="view" aria-selected=${view === one} tabindex=${view === one ? 0 : -1} onClick=${() => setView(one)}>${t(one)}</button>`)}</div>`;
}

const SPEEDS = [1, 10, 60, 600];

function Scrubber({ steps, at, setAt }) {
  const [speed, setSpeed] = useState(10);
  const [plays, setPlays] = useState(false);
  const begin = steps.length ? steps[0].at : 0, end = steps.length ? steps[steps.length - 1].at : 1;
  useEffect(() => {
    if (!plays) return undefined;
    const timer = setInterval(() => setAt((now) => {
      const next = (now === null || now >= end ? begin : now) + speed / 5;
      if (next >= end) setPlays(false);
      return Math.min(next, end);
    }), 200);
    return () => clearInterval(timer);
  }, [plays, speed, begin, end]);
  if (!steps.length) return html`<p class="note">…</p>`;
  return html`<div class="scrubber">
    <button onClick=${() => setPlays(!plays)}>${plays ? t("Pause") : t("Play")}</button>
    <label>${t("Speed")} <select value=${speed} onChange=${(e) => setSpeed(Number(e.target.value))}>${SPEEDS.map((one) => html`<option key=${one} value=${one}>${one}×</option>`)}</select></label>
    <input type="range" aria-label=${t("Time")} min=${begin} max=${end} step="any" value=${at === null ? end : at} aria-valuetext=${clock(at === null ? end : at)} onInput=${(e) => { setPlays(false); setAt(Number(e.target.value)); }} />
    <time>${clock(at === null ? end : at)}</time>
    <button disabled=${at === null} onClick=${() => { setPlays(false); setAt(null); }}>${t("Now")}</button></div>`;
}

function Writer({ name, act }) {
  const [text, setText] = useState("");
  const [all, setAll] = useState(false);
  const submit = (event) => {
    event.preventDefault();
    if (text.trim()) act("messages", { to: all ? "all" : name, text }).then((ok) => ok && setText(""));
  };
  const typed = (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event); };
  return html`<form class="writer" onSubmit=${submit}>
    <label for="words">${t("Message to")} ${all ? t("all members") : name}</label>
    <textarea id="words" rows="2" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${typed}></textarea>
    <div class="choices"><button type="submit">${t("Send")}</button>
      <label><input type="checkbox" checked=${all} onChange=${(e) => setAll(e.target.checked)} /> ${t("all members")}</label>
      <button type="button" onClick=${() => act("interrupts", { member: name })}>${t("Interrupt")}</button>
      ${name !== "lead" && html`<button type="button" onClick=${() => act("stops", { member: name })}>${t("Ask to leave")}</button>`}
    </div></form>`;
}
