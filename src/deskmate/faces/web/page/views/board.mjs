// The tasks in columns.

import { useState } from "preact/hooks";
import { Empty, Icon, Words, html, lastMoment } from "deskmate/elements";
import { secondsOf } from "deskmate/views/layout";
import { duration, t } from "deskmate/words";

const COLUMNS = ["blocked", "ready", "in progress", "done"];
// A column that is longer begins with these.
const SHOWN = 50;

function Badges({ task, store, at }) {
  return html`<div class="badges">
    ${task.owner && html`<span class="badge owner">${task.owner}</span>`}
    ${task.role && task.role !== task.owner && html`<span class="badge">${task.role}</span>`}
    ${task.waitsFor.length > 0 && html`<span class="badge blocked" title=${t("waits for")}><${Icon} name="lock" />${task.waitsFor.map((id) => `#${id}`).join(" ")}</span>`}
    ${task.passed !== null && html`<span class="badge ${task.passed ? "good" : "bad"}" title=${task.proof}><${Icon} name=${task.passed ? "check" : "cross"} />${t(task.passed ? "verified" : "not verified")}</span>`}
    ${task.passed === null && task.proof && html`<span class="badge" title=${task.proof}>${t("to verify")}</span>`}
    ${task.merging && html`<span class="badge"><${Icon} name="merge" />${t("merging")}</span>`}
    ${task.merged && html`<span class="badge good"><${Icon} name="merge" />${t("merged")}</span>`}
    ${task.returned && !task.merged && html`<span class="badge bad">${t("not merged")}</span>`}
    ${task.began > 0 && html`<span class="badge" title=${t(task.ended ? "Took" : "So far")}><${Icon} name="clock" />${duration(secondsOf(task, lastMoment(task, store, at)))}</span>`}
    ${task.state === "dropped" && html`<span class="badge">${t("dropped")}</span>`}
    ${task.meets && html`<span class="badge bad"><${Icon} name="warn" />${task.meets}</span>`}
  </div>`;
}

function Task({ row, open, store, at }) {
  const task = row.value;
  return html`<li class="task ${task.meets ? "meets" : ""}"><button class="title" onClick=${() => open(task.id)}>
    <span class="soft">#${task.id}</span> ${task.subject}</button><${Badges} task=${task} store=${store} at=${at} /></li>`;
}

function Column({ name, store, keys, open, at }) {
  const [all, setAll] = useState(false);
  // Of what is done, the newest comes first.
  const ordered = name === "done" ? [...keys].sort((a, b) => store.tasks.row(b).value.updated - store.tasks.row(a).value.updated) : keys;
  const shown = all ? ordered : ordered.slice(0, SHOWN);
  return html`<section class="column ${name.replace(" ", "-")}" aria-label=${t(name)}><h2><i class="key ${name.replace(" ", "-")}"></i>${t(name)} <small>${keys.length}</small></h2>
    <ul>${shown.map((key) => html`<${Task} key=${key} row=${store.tasks.row(key)} open=${open} store=${store} at=${at} />`)}</ul>
    ${shown.length < keys.length && html`<button class="quiet" onClick=${() => setAll(true)}>${t("Show all")} ${keys.length}</button>`}
  </section>`;
}

function NewTask({ store, act }) {
  const [subject, setSubject] = useState("");
  const [description, setDescription] = useState("");
  const [owner, setOwner] = useState("");
  const [needs, setNeeds] = useState("");
  const submit = () => {
    if (!subject.trim()) return;
    const body = { subject: subject.trim(), description, blocked_by: (needs.match(/[0-9]{1,9}/g) || []).map(Number) };
    if (owner) body.owner = owner;
    act("tasks", body).then((done) => { if (done) { setSubject(""); setDescription(""); setNeeds(""); setOwner(""); } });
  };
  const mates = store.members.values().filter((one) => one.here && one.name !== "lead");
  return html`<form class="new-task" onSubmit=${(event) => { event.preventDefault(); submit(); }}>
    <div class="new-task-line"><input value=${subject} placeholder=${t("Subject of the task")} aria-label=${t("Subject of the task")} onInput=${(event) => setSubject(event.target.value)} />
      <button type="submit" class="primary" disabled=${!subject.trim()}><${Icon} name="plus" />${t("Add a task")}</button></div>
    ${subject.trim() && html`<div class="fields">
      <label>${t("Description")} <${Words} value=${description} label=${t("Description")} change=${setDescription} submit=${submit} /></label>
      <label>${t("Owner")} <select value=${owner} onChange=${(event) => setOwner(event.target.value)}><option value="">${t("anybody")}</option>${mates.map((one) => html`<option key=${one.name}>${one.name}</option>`)}</select></label>
      <label>${t("Needs tasks")} <input value=${needs} placeholder="#1 #2" onInput=${(event) => setNeeds(event.target.value)} /></label></div>`}
  </form>`;
}

export function Board({ store, at, act, open }) {
  store.tasks.version.value;
  const keys = store.tasks.keys.value;
  const columns = Object.fromEntries(COLUMNS.map((column) => [column, []]));
  for (const key of keys) columns[store.tasks.row(key).peek().column].push(key);
  return html`<section class="board-view scroll" tabindex="0" aria-label=${t("Board")}>
    ${act && at === null && html`<${NewTask} store=${store} act=${act} />`}
    ${!keys.length && html`<${Empty} title=${t("There are no tasks.")}>${act ? t("Add one above, or ask the lead to plan the work.") : ""}<//>`}
    ${keys.length > 0 && html`<div class="board">${COLUMNS.map((name) => html`<${Column} key=${name} name=${name} store=${store} keys=${columns[name]} open=${open} at=${at} />`)}</div>`}
  </section>`;
}
