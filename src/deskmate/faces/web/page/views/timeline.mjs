// When each member worked, waited and rested.

import { useMemo } from "preact/hooks";
import { Empty, Name, html, now } from "deskmate/elements";
import { clock, duration, t, when } from "deskmate/words";

const STATES = ["working", "waiting", "parked", "idle", "left"];
const TICKS = [0, 0.25, 0.5, 0.75, 1];

// For each member, the times from one status to the next.
function lanesOf(steps) {
  const lanes = new Map();
  for (const step of steps) {
    for (const [name, one] of Object.entries(step.members || {})) {
      const lane = lanes.get(name) || { colour: one.colour, spans: [] };
      const last = lane.spans.at(-1);
      if (!last || last.state !== one.state || last.task !== one.task) {
        if (last) last.end = step.at;
        lane.spans.push({ state: one.state, status: one.status, task: one.task, start: step.at, end: null });
      }
      lanes.set(name, lane);
    }
  }
  return [...lanes];
}

// Where a part of the line begins and how wide it is, of a thousand.
function extent(scale, start, end) {
  const x = 1000 * scale.place(start);
  return { x, width: Math.max(1, 1000 * scale.place(end) - x) };
}

function Lane({ name, lane, scale, upto, show }) {
  return html`<div class="lane"><button class="link" onClick=${() => show(name)}><${Name} name=${name} colour=${lane.colour} /></button>
    <svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=${name}>${lane.spans.filter((one) => one.start <= upto).map((one, index) => {
      const end = Math.min(one.end ?? upto, upto), { x, width } = extent(scale, one.start, end);
      return html`<rect key=${index} class="span ${one.state}" x=${x} y="0" height="10" width=${width}>
        <title>${name}: ${one.status}${one.task ? ` #${one.task}` : ""}, ${clock(one.start)} – ${clock(end)} (${duration(end - one.start)})</title></rect>`;
    })}</svg></div>`;
}

// What is across all lanes: the pauses that are cut out, and the time of the slider.
export function Marks({ scale, at }) {
  const place = (from, to) => (node) => {
    if (!node) return;
    node.style.setProperty("--from", `${100 * from}%`);
    node.style.setProperty("--long", `${100 * (to - from)}%`);
  };
  return html`<div class="marks">${scale.pauses.map((one) => html`<span key=${one.start} class="pause" ref=${place(scale.place(one.start), scale.place(one.end))}
      role="img" aria-label=${`${t("pause")} ${duration(one.end - one.start)}`} title=${`${t("pause")} ${duration(one.end - one.start)}: ${t("nothing was recorded")}`}></span>`)}
    ${at !== null && html`<span class="cursor" ref=${place(scale.place(at), scale.place(at))}></span>`}</div>`;
}

export function Axis({ scale }) {
  return html`<div class="axis" aria-hidden="true">${TICKS.map((part) => html`<span key=${part}>${when(scale.at(part), scale)}</span>`)}</div>`;
}

// What the marks of pauses on a line mean.
export function PauseKey({ scale }) {
  if (!scale.pauses.length) return null;
  const seconds = scale.pauses.reduce((sum, one) => sum + one.end - one.start, 0);
  return html`<span><i class="key pause"></i>${t(scale.pauses.length === 1 ? "pause cut out" : "pauses cut out")}: ${duration(seconds)}</span>`;
}

export function Timeline({ history, live, at, show }) {
  const version = history.version.value;
  const lanes = useMemo(() => lanesOf(history.steps), [history, version]);
  if (!history.isLoaded.value) return html`<section aria-label=${t("Timeline")}><p class="soft pad">${t("Reading the past …")}</p></section>`;
  if (!lanes.length) return html`<section aria-label=${t("Timeline")}><${Empty} title=${t("Nothing has happened yet.")} /></section>`;
  const scale = history.scale(at === null && live.team.value?.running ? Math.max(now.value, history.end) : history.end);
  const upto = at ?? scale.end;
  return html`<section class="timeline-view" aria-label=${t("Timeline")}>
    <div class="tools"><span class="legend">${STATES.map((one) => html`<span key=${one}><i class="key ${one}"></i>${t(one)}</span>`)}<${PauseKey} scale=${scale} /></span></div>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("Timeline")}><div class="lanes">
      <${Axis} scale=${scale} />
      <${Marks} scale=${scale} at=${at} />
      ${lanes.map(([name, lane]) => html`<${Lane} key=${name} name=${name} lane=${lane} scale=${scale} upto=${upto} show=${show} />`)}
    </div></div></section>`;
}
