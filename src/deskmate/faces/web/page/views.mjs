// How each part of a team looks. Every text of an agent becomes a text node.

import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import htm from "htm";
import { ask, saved } from "deskmate/connection";
import { criticalPath, layout } from "deskmate/graph";
import { ago, clock, money, t } from "deskmate/words";

export const html = htm.bind(h);

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

function Diff({ diff }) {
  const kind = (line) => (line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@@") ? "place" : "");
  return html`<pre class="diff">${diff.split("\n").map((line, index) => html`<span key=${index} class=${kind(line)}>${line + "\n"}</span>`)}</pre>`;
}

function Folded({ open, label, children }) {
  const [shown, setShown] = useState(open);
  return html`<div class="folded">
    <button class="fold" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${shown ? t("Hide") : t("Show")} ${label}</button>
    ${shown && children}
  </div>`;
}

function hasText(body) {
  return Boolean(body && body.length);
}

const MARKS = { said: "○", asked: "?", running: "●", done: "✓", failed: "✗" };

export function Entry({ item }) {
  const content = html`${item.diff ? html`<${Diff} diff=${item.diff} />` : html`<${Text} body=${item.body} />`}`;
  switch (item.kind) {
    case "words":
      return html`<div class="entry words"><${Text} body=${item.body} /></div>`;
    case "call":
      return html`<div class="entry call ${item.state}">
        <div class="title"><span class="mark" title=${item.state}>${MARKS[item.state]}</span> ${item.title}</div>
        ${item.failure && html`<div class="failure">${item.failure}</div>`}
        ${(item.diff || item.details || hasText(item.body)) && html`<${Folded} open=${item.fold === "open"} label="">
          ${item.details && html`<pre class="plain">${item.details}</pre>`}${content}<//>`}
      </div>`;
    case "mail":
      return html`<div class="entry mail"><div class="title">${t("from")} <b>${item.sender}</b> ${item.title} <time>${clock(item.at)}</time></div>${content}</div>`;
    default:
      return html`<div class="entry ${item.kind} ${item.minor ? "minor" : ""}">
        <div class="title">${item.title} ${item.brief && hasText(item.body) ? item.body : ""}</div>
        ${!item.brief && hasText(item.body) && (item.fold === "closed" ? html`<${Folded} open=${false} label="">${content}<//>` : content)}
      </div>`;
  }
}

export function Conversation({ items, before, member, past }) {
  const end = useRef(null);
  const [words, setWords] = useState("");
  const follows = useRef(true);
  useEffect(() => { if (follows.current && end.current) end.current.scrollTop = end.current.scrollHeight; });
  const scrolled = (event) => {
    const box = event.currentTarget;
    follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  };
  const wanted = words.toLowerCase();
  const shown = wanted ? items.filter((item) => JSON.stringify([item.title, item.body, item.details, item.diff]).toLowerCase().includes(wanted)) : items;
  return html`<section class="conversation" aria-label=${`${t("Conversation")} ${member}`}>
    <div class="tools"><input type="search" placeholder=${t("Search")} aria-label=${t("Search")} value=${words} onInput=${(e) => setWords(e.target.value)} /></div>
    <div class="entries" ref=${end} onScroll=${scrolled} tabindex="0" role="log" aria-label=${t("Conversation")}>
      ${past && html`<p class="note">${t("Conversations have no times, so this one is complete.")}</p>`}
      ${before > 0 && html`<p class="note">${before} ${t("earlier entries are not shown")}</p>`}
      ${!shown.length && html`<p class="note">${t("Nothing was said yet.")}</p>`}
      ${shown.map((item) => html`<${Entry} key=${item.key} item=${item} />`)}
    </div>
  </section>`;
}

export function Members({ members, chosen, choose, now }) {
  return html`<nav class="members" aria-label=${t("Members")}><ul>
    ${members.map((one) => html`<li key=${one.name}>
      <button class="member colour-${one.colour || "none"} ${one.here ? "" : "gone"}" aria-current=${one.name === chosen ? "true" : undefined} onClick=${() => choose(one.name)}>
        <span class="state ${one.state}" aria-hidden="true"></span>
        <span class="name">${one.name}</span> <span class="role">${one.role}</span>
        <span class="status">${one.asks ? `${t("asks you")} · ` : ""}${one.doing || one.status} · ${ago(one.at, now)}${one.task ? ` · #${one.task}` : ""}</span>
        <span class="cost">${money(one.spent.cost)}</span>
      </button></li>`)}
  </ul></nav>`;
}

const COLUMNS = ["blocked", "ready", "in progress", "done"];

function Task({ task, open, toggle }) {
  return html`<li class="task ${task.meets ? "meets" : ""}">
    <button class="title" aria-expanded=${open} onClick=${() => toggle(task.id)}>#${task.id} ${task.subject}</button>
    <div class="facts">${task.owner ? `@${task.owner}` : ""} ${task.role ? `(${task.role})` : ""}
      ${task.waitsFor.length ? ` ⟵ ${task.waitsFor.map((id) => `#${id}`).join(" ")}` : ""}
      ${task.merging ? " · merging" : ""}${task.merged ? ` · ${task.merged.slice(0, 8)}` : ""} ${task.meets}</div>
    ${task.proof && html`<div class="proof">${task.proof}</div>`}
    ${open && html`<div class="more">
      ${task.description && html`<pre class="plain">${task.description}</pre>`}
      ${task.returned && html`<pre class="plain">${task.returned}</pre>`}
      ${task.output && html`<pre class="plain">${task.output}</pre>`}
      ${task.notes.map((note, index) => html`<p key=${index}><b>${note.by}</b>: ${note.text}</p>`)}
    </div>`}
  </li>`;
}

export function Board({ tasks, add }) {
  const [open, setOpen] = useState(new Set());
  const [subject, setSubject] = useState("");
  const toggle = (id) => { const next = new Set(open); next.has(id) ? next.delete(id) : next.add(id); setOpen(next); };
  const submit = (event) => { event.preventDefault(); if (subject.trim()) add(subject.trim()).then((ok) => ok && setSubject("")); };
  return html`<section class="board-view" aria-label=${t("Board")}>
    ${add && html`<form class="tools" onSubmit=${submit}>
      <input value=${subject} placeholder=${t("Subject of the task")} aria-label=${t("Subject of the task")} onInput=${(e) => setSubject(e.target.value)} />
      <button type="submit">${t("Add a task")}</button>
    </form>`}
    ${!tasks.length && html`<p class="note">${t("There are no tasks.")}</p>`}
    <div class="board">${COLUMNS.map((column) => {
      const here = tasks.filter((task) => task.column === column);
      return html`<div class="column" key=${column}><h3>${t(column)} <small>${here.length}</small></h3>
        <ul>${here.map((task) => html`<${Task} key=${task.id} task=${task} open=${open.has(task.id)} toggle=${toggle} />`)}</ul></div>`;
    })}</div>
  </section>`;
}

const WIDE = 210, HIGH = 54, BOX_WIDE = 176, BOX_HIGH = 38;

export function Graph({ tasks }) {
  const { places, layers, rows } = layout(tasks);
  const critical = criticalPath(tasks);
  const onPath = new Set(critical);
  const at = (id) => { const place = places.get(id); return { x: 10 + place.layer * WIDE, y: 10 + place.row * HIGH }; };
  const edges = tasks.flatMap((task) => task.blockedBy.filter((id) => places.has(id)).map((id) => ({ from: id, to: task.id })));
  const label = `${tasks.length} tasks`;
  return html`<section class="graph-view" aria-label=${t("Graph")}>
    ${critical.length > 1 && html`<p class="note">${t("critical path")}: ${critical.map((id) => `#${id}`).join(" → ")}</p>`}
    ${!tasks.length && html`<p class="note">${t("There are no tasks.")}</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${label}>
      <svg width=${20 + layers * WIDE} height=${20 + rows * HIGH} role="img" aria-label=${label}>
        ${edges.map((edge) => {
          const a = at(edge.from), b = at(edge.to), hot = onPath.has(edge.from) && onPath.has(edge.to);
          const x1 = a.x + BOX_WIDE, y1 = a.y + BOX_HIGH / 2, x2 = b.x, y2 = b.y + BOX_HIGH / 2, middle = (x1 + x2) / 2;
          return html`<path key=${`${edge.from}-${edge.to}`} class=${hot ? "edge hot" : "edge"} d=${`M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`} />`;
        })}
        ${tasks.map((task) => { const { x, y } = at(task.id); return html`<g key=${task.id} class="node ${task.column.replace(" ", "-")} ${onPath.has(task.id) ? "hot" : ""}">
          <title>#${task.id} ${task.subject} (${task.state})</title>
          <rect x=${x} y=${y} width=${BOX_WIDE} height=${BOX_HIGH} rx="6" />
          <text x=${x + 8} y=${y + 16}>#${task.id} ${task.owner ? `@${task.owner}` : ""}</text>
          <text x=${x + 8} y=${y + 31}>${task.subject.length > 26 ? `${task.subject.slice(0, 25)}…` : task.subject}</text></g>`; })}
      </svg>
    </div></section>`;
}

// A sequence diagram: a column for each member, a row for each message.
export function Mail({ letters, names, colours }) {
  const [open, setOpen] = useState(null);
  if (!letters.length) return html`<section class="mail-view" aria-label=${t("Mail")}><p class="note">${t("There is no mail.")}</p></section>`;
  const known = [...new Set([...names, ...letters.flatMap((one) => [one.sender.split(":")[0], ...one.recipients])])];
  const used = known.filter((name) => letters.some((one) => one.sender.split(":")[0] === name || one.recipients.includes(name)));
  const column = (name) => 2 + used.indexOf(name);
  return html`<section class="mail-view" aria-label=${t("Mail")}><div class="scroll" tabindex="0" role="region" aria-label=${t("Mail")}>
    <div class="sequence" ref=${(node) => node && node.style.setProperty("--columns", used.length)}>
      <div class="heads"><span></span>${used.map((name) => html`<span key=${name} class="colour-${colours[name] || "none"}">${name}</span>`)}</div>
      ${letters.map((one) => {
        const from = column(one.sender.split(":")[0]), to = one.recipients.map(column);
        const low = Math.min(from, ...to), high = Math.max(from, ...to);
        const place = (node) => { if (node) node.style.gridColumn = `${low} / ${high + 1}`; };
        return html`<div class="letter" key=${one.key}>
          <time>${clock(one.at)}</time>
          <button ref=${place} class="arrow ${to.some((x) => x > from) ? "right" : ""} ${to.some((x) => x < from) ? "left" : ""} colour-${colours[one.sender.split(":")[0]] || "none"}" aria-expanded=${open === one.key}
            aria-label=${`${one.sender} → ${one.recipients.join(", ")}: ${one.title} ${one.summary}`} onClick=${() => setOpen(open === one.key ? null : one.key)}>
            <span>${one.title ? `${one.title}: ` : ""}${one.summary}</span></button>
          ${open === one.key && html`<div class="open-letter"><b>${one.sender}</b> → ${one.recipients.join(", ")} <${Text} body=${one.body} /></div>`}
        </div>`;
      })}
    </div></div></section>`;
}

export function Question({ question, answer }) {
  const [words, setWords] = useState("");
  const names = { yes: t("Yes"), always: t("Always"), no: t("No") };
  return html`<article class="question" aria-label=${`${question.asker} ${question.asks}`}>
    <h3>${question.asker} ${question.asks}</h3>
    ${question.reason && html`<p>${question.reason}</p>`}
    ${question.plan.length > 0 && html`<${Text} body=${question.plan} />`}
    ${question.arguments.map(([name, value]) => html`<div key=${name}><b>${name}</b><pre class="plain">${value}</pre></div>`)}
    ${question.diff && html`<${Diff} diff=${question.diff} />`}
    ${answer && html`<input value=${words} placeholder=${t("Why not? (optional)")} aria-label=${t("Why not? (optional)")} onInput=${(e) => setWords(e.target.value)} />
    <div class="choices">${question.choices.map((choice) => html`<button key=${choice.answer} class=${choice.answer} onClick=${() => answer(question.id, choice.answer, words)}>
      ${names[choice.answer]}${choice.effect ? html` <small>${choice.effect}</small>` : ""}</button>`)}</div>`}
  </article>`;
}

export function TeamList({ teams, choose, now }) {
  if (!teams.length) return html`<p class="note">${t("There are no teams here.")}</p>`;
  return html`<ul class="teams">${teams.map((team) => html`<li key=${team.name}><button onClick=${() => choose(team.name)}>
    <span class="state ${team.state}" aria-hidden="true"></span><b>${team.name}</b> <span class="status">${team.state}</span>
    <span class="what">${team.title}</span>
    <span class="facts">${team.done}/${team.done + team.open} · ${money(team.spent.cost)} · ${ago(team.written, now)}</span></button></li>`)}</ul>`;
}

// What the work of teammates with their own trees changes in the files.
export function Changes({ name, tasks, members }) {
  const [part, setPart] = useState("");
  const [found, setFound] = useState(null);
  const [trouble, setTrouble] = useState(null);
  useEffect(() => {
    if (saved) return;
    setFound(null);
    ask(`/api/teams/${encodeURIComponent(name)}/changes?part=${encodeURIComponent(part)}`).then((changes) => { setFound(changes); setTrouble(null); }, setTrouble);
  }, [name, part]);
  return html`<section aria-label=${t("Changes")}>
    <div class="tools"><select aria-label=${t("Part")} value=${part} onChange=${(e) => setPart(e.target.value)}>
      <option value="">${t("the whole team")}</option>
      ${tasks.map((task) => html`<option key=${task.id} value=${`#${task.id}`}>#${task.id} ${task.subject}</option>`)}
      ${members.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}: ${t("not merged yet")}</option>`)}
    </select></div>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("Changes")}>
      ${saved && html`<p class="note">${t("Changes are not in a saved page.")}</p>`}
      ${trouble && html`<p class="note">${trouble.message} ${trouble.hint}</p>`}
      ${found && (found.diff ? html`<${Diff} diff=${found.diff} />${found.cut && html`<p class="note">…</p>`}` : html`<p class="note">${found.none}</p>`)}
    </div></section>`;
}
