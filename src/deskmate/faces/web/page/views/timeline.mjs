// When each member worked, waited and rested.

import { useMemo } from "preact/hooks";
import { Empty, Name, html, now } from "deskmate/elements";
import { clock, t } from "deskmate/words";

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

function Lane({ name, lane, begin, end, show }) {
  const x = (at) => ((at - begin) / (end - begin)) * 1000;
  return html`<div class="lane"><button class="link" onClick=${() => show(name)}><${Name} name=${name} colour=${lane.colour} /></button>
    <svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=${name}>${lane.spans.filter((one) => one.start <= end).map((one, index) => {
      const upto = Math.min(one.end ?? end, end);
      return html`<rect key=${index} class="span ${one.state}" x=${x(one.start)} y="0" height="10" width=${Math.max(1, x(upto) - x(one.start))}>
        <title>${name}: ${one.status}${one.task ? ` #${one.task}` : ""}, ${clock(one.start)} – ${clock(upto)}</title></rect>`;
    })}</svg></div>`;
}

export function Axis({ begin, end }) {
  return html`<div class="axis" aria-hidden="true">${TICKS.map((part) => html`<span key=${part}>${clock(begin + part * (end - begin))}</span>`)}</div>`;
}

export function Timeline({ history, live, at, show }) {
  const version = history.version.value;
  const lanes = useMemo(() => lanesOf(history.steps), [history, version]);
  if (!history.isLoaded.value) return html`<section aria-label=${t("Timeline")}><p class="soft pad">${t("Reading the past …")}</p></section>`;
  if (!lanes.length) return html`<section aria-label=${t("Timeline")}><${Empty} title=${t("Nothing has happened yet.")} /></section>`;
  const { begin } = history;
  const end = Math.max(begin + 1, at !== null ? at : live.team.value?.running ? now.value : history.end);
  return html`<section class="timeline-view" aria-label=${t("Timeline")}>
    <div class="tools"><span class="legend">${STATES.map((one) => html`<span key=${one}><i class="key ${one}"></i>${t(one)}</span>`)}</span></div>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("Timeline")}><div class="lanes">
      <${Axis} begin=${begin} end=${end} />
      ${lanes.map(([name, lane]) => html`<${Lane} key=${name} name=${name} lane=${lane} begin=${begin} end=${end} show=${show} />`)}
    </div></div></section>`;
}
