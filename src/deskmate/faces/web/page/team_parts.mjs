// What is around the views of a team: its head, members, questions, the slider, and a task or the help beside a view.

import { useEffect, useRef, useState } from "preact/hooks";
import { errorText, saved } from "deskmate/connection";
import { secondsOf } from "deskmate/views/layout";
import { Ago, Context, Diff, Dot, Empty, Icon, Name, Text, Words, activity, html, lastMoment, partedMembers } from "deskmate/elements";
import { clock, day, duration, money, t, when } from "deskmate/words";

export function Head({ name, store, live, linked, act, choose, besides, save, rewinds, toggle, help }) {
  const team = store.team.value, running = live.team.value && live.team.value.running;
  const [asked, setAsked] = useState(false);
  const canAsk = !saved && !asked && "Notification" in window && Notification.permission === "default";
  const stop = () => { if (confirm(t("Interrupt every member, so that the team stops?"))) act("interrupts", { member: "all" }); };
  return html`<header class="head">
    ${choose && html`<button class="quiet icon-only" onClick=${() => choose("")} aria-label=${t("Teams")} title=${t("Teams")}><${Icon} name="back" /></button>`}
    <h1 title=${name}>${name}</h1>
    ${live.team.value && !saved && html`<span class="pill"><${Dot} state=${running ? "working" : "stopped"} />${t(running ? "running" : "stopped")}</span>`}
    ${team && html`<span class="figures soft"><span>${money(team.cost)}</span><span class="wide">${team.tokens.toLocaleString()} ${t("tokens")}</span><span class="wide">${team.calls.toLocaleString()} ${t("model calls")}</span></span>`}
    ${!linked && html`<span class="trouble" role="status">${t("No connection. Trying again …")}</span>`}
    <span class="head-actions">
      ${canAsk && html`<button class="quiet" title=${t("Show a notification when a question waits")} onClick=${() => Notification.requestPermission().then(() => setAsked(true))}><${Icon} name="bell" /><span class="wide">${t("Notify me")}</span></button>`}
      ${running && !saved && html`<button class="quiet" onClick=${stop}><${Icon} name="pause" /><span class="wide">${t("Stop the team")}</span></button>`}
      ${!saved && html`<button class="quiet" title=${t("Save as one file to share")} onClick=${save}><${Icon} name="save" /><span class="wide">${t("Share")}</span></button>`}
      <button class="quiet" title=${t("Past")} aria-pressed=${rewinds} onClick=${toggle}><${Icon} name="clock" /><span class="wide">${t("Past")}</span></button>
      ${besides && html`<button class="quiet icon-only" onClick=${besides} aria-label=${t("Close")} title=${t("Close")}><${Icon} name="close" /></button>`}
      <button class="quiet icon-only wide" onClick=${help} aria-label=${t("Keys")} title=${t("Keys")}>?</button>
    </span></header>`;
}

export function Notes({ name, live, trouble, close, told, closeTold, act, choose }) {
  const [words, setWords] = useState("");
  const [busy, setBusy] = useState(false);
  const team = live.team.value;
  const resume = () => { setBusy(true); act("resumes", words.trim() ? { text: words.trim() } : {}).then((done) => { setBusy(false); if (done) setWords(""); }); };
  return html`<div class="notes">
    ${trouble && html`<p class="trouble note" role="alert"><span>${errorText(trouble)}</span><button class="quiet icon-only" onClick=${close} aria-label=${t("Close")}><${Icon} name="close" /></button></p>`}
    ${told.length > 0 && html`<div class="note"><span>${told.map((one, index) => html`<p key=${index}>${one}</p>`)}</span><button class="quiet icon-only" onClick=${closeTold} aria-label=${t("Close")}><${Icon} name="close" /></button></div>`}
    ${team && team.home && choose && html`<p class="note pair-note"><span>${t("The lead of this team comes from team")} <b>${team.home}</b>.</span><button class="quiet" onClick=${() => choose(team.home, [], name)}><${Icon} name="columns" />${t("Side by side")}</button></p>`}
    ${!saved && team && !team.running && html`<form class="note resume" onSubmit=${(event) => { event.preventDefault(); resume(); }}>
      <span>${t("This team is not running.")}</span>
      <${Words} id=${`resume-${name}`} label=${t("What to tell the lead first (optional)")} placeholder=${t("What to tell the lead first (optional)")} value=${words} change=${setWords} submit=${resume} />
      <button type="submit" class="primary" disabled=${busy}>${busy ? t("Starting …") : t("Resume")}</button></form>`}
  </div>`;
}

function Member({ row, store, chosen, choose, at }) {
  const one = row.value;
  const { state, words: doing } = activity(one, store);
  return html`<button class="member ${one.here ? "" : "gone"}" aria-current=${chosen ? "true" : undefined} onClick=${() => choose(one.name)}>
    <${Dot} state=${state} /><span class="named"><${Name} name=${one.name} colour=${one.colour} />${one.unread > 0 && html`<span class="waits" title=${t("Messages of yours that it has not read yet")}><${Icon} name="mail" />${one.unread}</span>`}</span>
    <span class="cost">${money(one.spent.cost)}</span>
    <span class="status" title=${one.doing || one.status}>${doing}${one.task ? ` · #${one.task}` : ""}</span>
    ${at === null ? html`<${Ago} at=${one.at} />` : null}
    <${Context} share=${one.context} />
  </button>`;
}

export function Members({ store, chosen, choose, at }) {
  const [here, left] = partedMembers(store);
  const list = (names) => html`<ul>${names.map((name) => html`<li key=${name}><${Member} row=${store.members.row(name)} store=${store} chosen=${name === chosen} choose=${choose} at=${at} /></li>`)}</ul>`;
  return html`<nav class="members" aria-label=${t("Members")}><h2>${t("Members")} <small>${here.length}</small></h2>${list(here)}
    ${left.length > 0 && html`<h2>${t("Have left")} <small>${left.length}</small></h2>${list(left)}`}</nav>`;
}

// One field of the form of an MCP server. An empty one is left out.
function FormField({ field, value, fill }) {
  const choices = field.kind === "boolean" ? ["yes", "no"] : field.kind === "choice" ? field.choices : null;
  const set = (event) => fill(event.target.value === "" ? null : event.target.value);
  return html`<label class="field">${field.name}${field.required ? " *" : ""}
    ${choices ? html`<select value=${value ?? ""} onChange=${set}><option value="">–</option>${choices.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select>`
    : html`<input value=${value ?? ""} placeholder=${field.default === undefined ? "" : String(field.default)} onInput=${set} />`}</label>`;
}

// One question of a member: its options, and other words.
function ChoiceField({ field, value, fill }) {
  const several = field.kind === "choices", given = several ? value ?? [] : value === undefined ? [] : [value];
  const picked = given.filter((one) => field.choices.includes(one)), own = given.find((one) => !field.choices.includes(one)) ?? "";
  const give = (all) => fill(several ? all : all.at(-1));
  const pick = (one) => give(several ? [...(picked.includes(one) ? picked.filter((other) => other !== one) : [...picked, one]), ...(own ? [own] : [])] : [one]);
  const say = (words) => give([...(several ? picked : []), ...(words ? [words] : [])]);
  return html`<fieldset class="field options"><legend>${field.about}</legend>
    ${field.choices.map((one, n) => html`<label key=${one}><input type=${several ? "checkbox" : "radio"} name=${field.name} checked=${picked.includes(one)} onChange=${() => pick(one)} />
      <span>${one}${field.notes?.[n] ? html` <small class="soft">${field.notes[n]}</small>` : ""}</span></label>`)}
    <input value=${own} placeholder=${t("In your own words")} aria-label=${t("In your own words")} onInput=${(event) => say(event.target.value)} /></fieldset>`;
}

export function Question({ row, answer }) {
  const question = row.value;
  const [words, setWords] = useState("");
  const [values, setValues] = useState({});
  const fill = (name, value) => setValues({ ...values, [name]: value });
  const said = (one) => (one === "yes" && question.fields.length ? JSON.stringify(values) : words);
  const [busy, setBusy] = useState(false);
  const names = { yes: t("Yes"), always: t("Always"), no: t("No") };
  const give = (one) => { setBusy(true); answer(question.id, one, said(one)).then(() => setBusy(false)); };
  return html`<article class="question panel" aria-label=${`${question.asker} ${question.asks}`}>
    <h2><${Dot} state="asks" />${question.asker} ${question.asks}</h2>
    ${question.reason && html`<p class="soft">${question.reason}</p>`}
    ${question.plan.length > 0 && html`<${Text} body=${question.plan} />`}
    ${question.arguments.filter(([name]) => !answer || !question.fields.some((field) => field.free && field.name === name)).map(([name, value]) => html`<div key=${name} class="argument"><span class="soft">${name}</span><pre class="plain" tabindex="0">${value}</pre></div>`)}
    ${question.diff && html`<${Diff} diff=${question.diff} />`}
    ${answer && question.fields.map((field) => html`<${field.free ? ChoiceField : FormField} key=${field.name} field=${field} value=${values[field.name]} fill=${(value) => fill(field.name, value)} />`)}
    ${answer && !question.of_server && html`<input value=${words} placeholder=${t("Why not? (optional)")} aria-label=${t("Why not? (optional)")} onInput=${(event) => setWords(event.target.value)} />`}
    ${answer && html`<div class="choices">${question.choices.map((choice) => html`<button key=${choice.answer} class=${choice.answer} disabled=${busy} onClick=${() => give(choice.answer)}>
      ${names[choice.answer]}${choice.effect ? html` <small>${choice.effect}</small>` : ""}</button>`)}</div>`}
  </article>`;
}

const SPEEDS = [1, 10, 60, 600];
const FRAME_SECONDS = 0.1, WHOLE_SECONDS = 30;

// A little later on the line of time. Pauses are not waited for.
function later(scale, at, speed) {
  if (!speed) return scale.at(scale.place(at) + FRAME_SECONDS / WHOLE_SECONDS);
  const next = at + speed * FRAME_SECONDS;
  return scale.pauses.find((one) => one.start < next && next < one.end)?.end ?? next;
}

// The slider over the past. `at`: the time that is shown, null for now.
export function Scrubber({ history, at, setAt }) {
  const [speed, setSpeed] = useState(0);
  const [plays, setPlays] = useState(false);
  const scale = history.scale(), { end } = scale;
  useEffect(() => {
    if (!plays) return undefined;
    const timer = setInterval(() => setAt((shown) => {
      const next = later(scale, shown === null || shown >= end ? scale.begin : shown, speed);
      if (next >= end) setPlays(false);
      return Math.min(next, end);
    }), FRAME_SECONDS * 1000);
    return () => clearInterval(timer);
  }, [plays, speed, scale]);
  if (!history.isLoaded.value) return html`<p class="scrubber note">${t("Reading the past …")}</p>`;
  if (!history.steps.length) return html`<p class="scrubber note">${t("Nothing has happened yet.")}</p>`;
  const shown = at === null ? end : at, words = when(shown, scale);
  return html`<div class="scrubber">
    <button class="icon-only" aria-label=${plays ? t("Pause") : t("Play")} onClick=${() => setPlays(!plays)}><${Icon} name=${plays ? "pause" : "play"} /></button>
    <select aria-label=${t("Speed")} value=${speed} onChange=${(event) => setSpeed(Number(event.target.value))}>
      <option value=0>${t("all in 30 s")}</option>${SPEEDS.map((one) => html`<option key=${one} value=${one}>${one}×</option>`)}</select>
    <input type="range" aria-label=${t("Time")} aria-valuetext=${words} min="0" max="1" step="any" value=${scale.place(shown)}
      onInput=${(event) => { setPlays(false); setAt(scale.at(Number(event.target.value))); }} />
    <time>${at === null ? t("Now") : words}</time>
    <button disabled=${at === null} onClick=${() => { setPlays(false); setAt(null); }}>${t("Now")}</button>
  </div>`;
}

// The tasks that wait for each task.
function waiting(store, id) {
  return store.tasks.values().filter((task) => task.blockedBy.includes(id)).map((task) => task.id);
}

export function TaskPanel({ id, store, open, show, at }) {
  const panel = useRef(null);
  useEffect(() => { panel.current?.focus(); }, [id]);
  const row = store.tasks.keys.value && store.tasks.row(String(id));
  const task = row?.value;
  const number = (one) => html`<button key=${one} class="link" onClick=${() => open(one)}>#${one}</button> `;
  const before = task ? task.blockedBy : [], after = task ? waiting(store, id) : [];
  return html`<aside class="drawer" role="dialog" tabindex="-1" ref=${panel} aria-label=${`${t("Task")} #${id}`}>
    <button class="quiet icon-only close" onClick=${() => open(null)} aria-label=${t("Close")}><${Icon} name="close" /></button>
    ${!task ? html`<${Empty} title=${t("There was no such task then.")} />` : html`
    <p class="soft">#${task.id} · ${t(task.state)}</p><h2>${task.subject}</h2>
    <dl>
      ${task.owner && html`<dt>${t("Owner")}</dt><dd><button class="link" onClick=${() => show(task.owner)}>${task.owner}</button></dd>`}
      ${task.role && html`<dt>${t("Role")}</dt><dd>${task.role}</dd>`}
      ${before.length > 0 && html`<dt>${t("Needs")}</dt><dd>${before.map(number)}${task.waitsFor.length > 0 && html`<span class="soft">(${t("waits for")} ${task.waitsFor.map((one) => `#${one}`).join(", ")})</span>`}</dd>`}
      ${after.length > 0 && html`<dt>${t("Blocks")}</dt><dd>${after.map(number)}</dd>`}
      ${task.author && html`<dt>${t("Author")}</dt><dd>${task.author}</dd>`}
      ${task.merged && html`<dt>${t("Merged")}</dt><dd><code>${task.merged.slice(0, 12)}</code></dd>`}
      ${task.meets && html`<dt>${t("Conflict")}</dt><dd class="trouble">${task.meets}</dd>`}
      ${task.began > 0 && html`<dt>${t("Began")}</dt><dd>${day(task.began)} ${clock(task.began)}</dd>`}
      ${task.ended > 0 && html`<dt>${t("Ended")}</dt><dd>${day(task.ended)} ${clock(task.ended)}</dd>`}
      ${task.began > 0 && html`<dt>${t(task.ended ? "Took" : "So far")}</dt><dd>${duration(secondsOf(task, lastMoment(task, store, at)))}</dd>`}
      ${task.updated > 0 && task.updated !== task.ended && html`<dt>${t("Changed")}</dt><dd>${day(task.updated)} ${clock(task.updated)}</dd>`}
    </dl>
    ${task.description && html`<pre class="plain">${task.description}</pre>`}
    ${task.proof && html`<section class="receipt ${task.passed === null ? "" : task.passed ? "good" : "bad"}"><h3><${Icon} name=${task.passed ? "check" : task.passed === null ? "clock" : "cross"} />${task.proof}</h3>
      ${task.output && html`<pre class="plain" tabindex="0">${task.output}</pre>`}</section>`}
    ${task.returned && html`<h3>${t("Not merged")}</h3><pre class="plain">${task.returned}</pre>`}
    ${task.notes.length > 0 && html`<h3>${t("Notes")}</h3>${task.notes.map((note, index) => html`<p key=${index}><b>${note.by}</b> ${note.text}</p>`)}`}`}
  </aside>`;
}

export function Help({ views, close }) {
  const panel = useRef(null);
  useEffect(() => { panel.current?.focus(); }, []);
  const rows = [...views.map((one, index) => [String(index + 1), t(one)]), ["/", t("search the transcripts")], ["m", t("write a message")],
    ["Enter", t("send")], ["Shift Enter", t("begin a new line")], ["Esc", t("close what is open")], ["?", t("these keys")]];
  return html`<aside class="drawer" role="dialog" tabindex="-1" ref=${panel} aria-label=${t("Keys")}>
    <button class="quiet icon-only close" onClick=${close} aria-label=${t("Close")}><${Icon} name="close" /></button>
    <h2>${t("Keys")}</h2><dl>${rows.map(([key, words]) => html`<dt key=${key}><kbd>${key}</kbd></dt><dd>${words}</dd>`)}</dl></aside>`;
}
