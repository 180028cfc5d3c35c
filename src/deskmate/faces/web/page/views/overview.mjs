// The team at a glance: the page for the wall.

import { Ago, Context, Dot, Icon, Name, Text, activity, html, now, partedMembers } from "deskmate/elements";
import { ago, clock, duration, money, t } from "deskmate/words";
import { criticalPath } from "deskmate/views/layout";

const COLUMNS = ["done", "in progress", "ready", "blocked"];
const LETTERS_SHOWN = 8;

function Figure({ title, value, children }) {
  return html`<div class="figure panel"><span class="soft">${title}</span><strong>${value}</strong>${children}</div>`;
}

function Progress({ store, setView }) {
  const tasks = store.tasks.values();
  const counts = COLUMNS.map((column) => tasks.filter((task) => task.column === column && task.state !== "dropped").length);
  const total = counts.reduce((a, b) => a + b, 0);
  const path = criticalPath(tasks);
  return html`<div class="figure panel progress"><span class="soft">${t("Tasks")}</span>
    <strong>${total ? `${counts[0]} / ${total}` : "–"}</strong>
    <span class="segments" role="img" aria-label=${COLUMNS.map((one, index) => `${t(one)} ${counts[index]}`).join(", ")}>
      ${COLUMNS.map((one, index) => counts[index] > 0 && html`<i key=${one} class=${one.replace(" ", "-")} ref=${(node) => node && node.style.setProperty("--part", counts[index])}></i>`)}</span>
    <span class="legend">${COLUMNS.map((one, index) => html`<span key=${one}><i class="key ${one.replace(" ", "-")}"></i>${t(one)} ${counts[index]}</span>`)}</span>
    ${path.ids.length > 1 && html`<button class="link" onClick=${() => setView("Graph")}>${t("critical path")}: ${path.ids.length} ${t("tasks in a row")}${path.seconds ? `, ${duration(path.seconds)}` : ""}</button>`}
  </div>`;
}

function Card({ row, store, show, at }) {
  const one = row.value;
  const { state, words } = activity(one, store);
  const task = one.task ? store.tasks.row(String(one.task))?.value : null;
  const done = store.done.value.get(one.name);
  return html`<button class="card panel ${one.here ? "" : "gone"} ${one.asks ? "asks" : ""}" onClick=${() => show(one.name)}>
    <span class="card-top"><${Dot} state=${state} /><${Name} name=${one.name} colour=${one.colour} /><span class="soft role">${one.role}</span></span>
    <span class="doing">${words}</span>
    <span class="card-task soft">${task ? `#${task.id} ${task.subject}` : done ? `${done} ${t(done === 1 ? "task done" : "tasks done")}` : ""}</span>
    <span class="card-foot soft"><span>${money(one.spent.cost)}</span><${Context} share=${one.context} />${at === null && html`<${Ago} at=${one.at} />`}</span>
  </button>`;
}

function Latest({ store, setView }) {
  const letters = store.letters.values().slice(-LETTERS_SHOWN).reverse();
  return html`<section class="panel latest" aria-label=${t("Latest mail")}><h2>${t("Latest mail")}</h2>
    ${!letters.length && html`<p class="soft">${t("There is no mail.")}</p>`}
    <ul>${letters.map((one) => html`<li key=${one.key}><span class="soft">${clock(one.at)}</span> <b>${one.sender}</b> → ${one.recipients.slice(0, 3).join(", ")}${one.recipients.length > 3 ? " …" : ""}
      <p>${[one.title, one.summary].filter(Boolean).join(": ")}</p></li>`)}</ul>
    ${letters.length > 0 && html`<button class="link" onClick=${() => setView("Mail")}>${t("All mail")}</button>`}</section>`;
}

// The last words of the member whose transcript is loaded. At the end, those of the lead are its answer.
function Said({ live, member, show }) {
  live.items.version.value;
  const said = live.items.values().filter((item) => item.kind === "words").at(-1);
  if (!said) return null;
  return html`<section class="panel said" aria-label=${t("Last words")}><h2><b>${member}</b> <span class="soft">${t("said last")}</span></h2><${Text} body=${said.body} />
    <button class="link" onClick=${() => show(member)}>${t("Whole conversation")}</button></section>`;
}

function Conflicts({ conflicts }) {
  return html`<section class="panel conflicts" aria-label=${t("Conflicts")}><h2>${t("Conflicts")}</h2><ul>${conflicts.map((one, index) => html`<li key=${index} class=${one.conflict ? "bad" : ""}>
    <${Icon} name=${one.conflict ? "warn" : "merge"} /><span><b>${one.who}</b> <span class="soft">${one.what}</span><br /><code>${one.files}</code></span></li>`)}</ul></section>`;
}

export function Overview({ store, live, at, member, show, setView }) {
  const team = store.team.value;
  if (!team) return html`<p class="soft pad">…</p>`;
  store.members.version.value;
  const [names, left] = partedMembers(store), here = names.map((name) => store.members.row(name).peek());
  const busy = here.filter((one) => activity(one, store).state === "working").length, asks = at === null ? live.questions.keys.value.length : here.filter((one) => one.asks).length;
  return html`<section class="overview scroll" tabindex="0" aria-label=${t("Overview")}>
    <div class="figures-row">
      <${Progress} store=${store} setView=${setView} />
      <${Figure} title=${t("Members")} value=${here.length}><span class="soft">${busy} ${t("working")}${left.length ? `, ${left.length} ${t("have left")}` : ""}${asks ? html` · <b class="asks-word">${asks} ${t(asks === 1 ? "question for you" : "questions for you")}</b>` : ""}</span><//>
      <${Figure} title=${t("Cost")} value=${money(team.cost)}><span class="soft">${team.tokens.toLocaleString()} ${t("tokens")}</span><//>
      ${team.founded > 0 && html`<${Figure} title=${t("Age")} value=${ago(team.founded, at === null ? now.value : at)}><span class="soft">${at === null && t(team.running ? "running" : "stopped")}</span><//>`}
    </div>
    <div class="cards">${[...names, ...left].map((name) => html`<${Card} key=${name} row=${store.members.row(name)} store=${store} show=${show} at=${at} />`)}</div>
    <div class="lower">
      ${team.conflicts.length > 0 && html`<${Conflicts} conflicts=${team.conflicts} />`}
      ${at === null && html`<${Said} live=${live} member=${member} show=${show} />`}
      <${Latest} store=${store} setView=${setView} />
    </div>
  </section>`;
}
