// The past of a team: its state at any time, when each member worked, and what it cost.

import { html } from "deskmate/views";
import { clock, money, t } from "deskmate/words";

export const EMPTY = { team: null, members: new Map(), tasks: new Map(), letters: new Map(), questions: new Map(), items: new Map(), before: 0 };
// A page that is open for days keeps the newest of what only grows.
const LETTERS_KEPT = 500, ITEMS_KEPT = 1000;
const PARTS = ["members", "tasks", "letters", "questions"];

function put(map, changes) {
  for (const [key, value] of Object.entries(changes || {})) value === null ? map.delete(key) : map.set(key, value);
}

// Drop the oldest entries of a map, and return how many.
function drop(map, kept) {
  const dropped = Math.max(0, map.size - kept);
  for (const key of [...map.keys()].slice(0, dropped)) map.delete(key);
  return dropped;
}

// Entries with the same key replace earlier ones, and null means gone. So telling twice changes nothing. The first change
// of a connection is whole: what is not in it is gone, but for mail and transcripts, which only grow.
export function reduce(state, change) {
  if (change === "another member") return { ...state, items: new Map(), before: 0 };
  const next = { ...state };
  for (const part of PARTS) {
    if (change.whole && part !== "letters") next[part] = new Map();
    if (change[part]) { next[part] = new Map(next[part]); put(next[part], change[part]); }
  }
  if (change.team) next.team = { ...state.team, ...change.team[""] };
  if (change.transcript) {
    next.items = new Map(state.items);
    for (const item of change.transcript.items) next.items.set(item.key, item);
    next.before = (change.transcript.before || state.before) + drop(next.items, ITEMS_KEPT);
  }
  drop(next.letters, LETTERS_KEPT);
  return next;
}

// The state of a team at a time: all steps up to then, one after the other.
export function stateAt(steps, at) {
  const state = { ...EMPTY, members: new Map(), tasks: new Map(), letters: new Map() };
  for (const step of steps) {
    if (step.at > at) break;
    for (const part of PARTS) if (step[part]) put(state[part], step[part]);
    if (step.team) state.team = { ...state.team, ...step.team[""] };
  }
  return state;
}

// For each member, the times from one status to the next.
function spans(steps, end) {
  const lanes = new Map();
  for (const step of steps) {
    for (const [name, one] of Object.entries(step.members || {})) {
      const lane = lanes.get(name) || [];
      const last = lane[lane.length - 1];
      if (!last || last.state !== one.state || last.task !== one.task) {
        if (last) last.end = step.at;
        lane.push({ state: one.state, status: one.status, task: one.task, start: step.at, end });
      }
      lanes.set(name, lane);
    }
  }
  return lanes;
}

const WIDE = 1000, HIGH = 26;

function Axis({ begin, end, high }) {
  return [0, 0.25, 0.5, 0.75, 1].map((part) => html`<g key=${part}><line x1=${part * WIDE} x2=${part * WIDE} y1="0" y2=${high} class="axis" />
    <text x=${part * WIDE} y=${high + 14} text-anchor=${part === 0 ? "start" : part === 1 ? "end" : "middle"}>${clock(begin + part * (end - begin))}</text></g>`);
}

export function Timeline({ steps, end }) {
  if (!steps.length) return html`<p class="note">…</p>`;
  const begin = steps[0].at, length = Math.max(1, end - begin), lanes = [...spans(steps, end)];
  const x = (at) => ((at - begin) / length) * WIDE, high = lanes.length * HIGH;
  return html`<section aria-label=${t("Timeline")}><div class="scroll" tabindex="0" role="region" aria-label=${t("Timeline")}>
    <p class="legend">${["working", "waiting", "parked", "idle", "left"].map((one) => html`<span key=${one}><i class="span ${one}"></i>${t(one)}</span>`)}</p>
    <svg class="timeline" viewBox=${`-110 -6 ${WIDE + 130} ${high + 30}`} role="img" aria-label=${t("Timeline")}>
      <${Axis} begin=${begin} end=${begin + length} high=${high} />
      ${lanes.map(([name, lane], row) => html`<g key=${name}><text x="-8" y=${row * HIGH + 16} text-anchor="end">${name}</text>
        ${lane.map((one, index) => html`<rect key=${index} class="span ${one.state}" x=${x(one.start)} y=${row * HIGH + 3} width=${Math.max(1, x(one.end) - x(one.start))} height=${HIGH - 8}>
          <title>${name}: ${one.status}${one.task ? ` #${one.task}` : ""}, ${clock(one.start)} – ${clock(one.end)}</title></rect>`)}</g>`)}
    </svg></div></section>`;
}

function sums(steps, key) {
  const found = new Map();
  for (const step of steps) if (step.call) found.set(step.call[key], (found.get(step.call[key]) || 0) + (step.call.cost || 0));
  return [...found].sort((a, b) => b[1] - a[1]);
}

function Sums({ title, rows }) {
  return html`<table class="sums"><caption>${title}</caption><tbody>${rows.map(([name, cost]) => html`<tr key=${name}><th scope="row">${name}</th><td>${money(cost)}</td></tr>`)}</tbody></table>`;
}

export function Cost({ steps, end, colours }) {
  const calls = steps.filter((step) => step.call);
  if (!calls.length) return html`<section aria-label=${t("Cost")}><p class="note">${t("No model was asked yet.")}</p></section>`;
  const begin = steps[0].at, length = Math.max(1, end - begin), high = 240;
  const total = Math.max(calls.reduce((sum, step) => sum + (step.call.cost || 0), 0), 1e-9);
  const line = (wanted) => {
    let sum = 0;
    const points = [`0,${high}`];
    for (const step of calls) {
      if (wanted && step.call.member !== wanted) continue;
      const x = ((step.at - begin) / length) * WIDE;
      points.push(`${x},${high - (sum / total) * high}`);
      sum += step.call.cost || 0;
      points.push(`${x},${high - (sum / total) * high}`);
    }
    return [...points, `${WIDE},${high - (sum / total) * high}`].join(" ");
  };
  const members = sums(steps, "member");
  return html`<section aria-label=${t("Cost")}><div class="scroll" tabindex="0" role="region" aria-label=${t("Cost")}>
    <svg class="timeline" viewBox=${`-80 -14 ${WIDE + 100} ${high + 40}`} role="img" aria-label=${`${t("Cost")} ${money(total)}`}>
      <${Axis} begin=${begin} end=${begin + length} high=${high} />
      <text x="-8" y="4" text-anchor="end">${money(total)}</text><text x="-8" y=${high} text-anchor="end">$0</text>
      <polyline class="cost-line all" points=${line(null)} />
      ${members.map(([name]) => html`<polyline key=${name} class="cost-line colour-${colours[name] || "none"}" points=${line(name)}><title>${name}</title></polyline>`)}
    </svg>
    <div class="tables"><${Sums} title=${t("Members")} rows=${members} /><${Sums} title=${t("Models")} rows=${sums(steps, "model")} /></div>
  </div></section>`;
}
