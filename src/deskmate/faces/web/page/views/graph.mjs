// The tasks and what waits for what. The places are computed once for each shape of the graph.

import { useMemo, useRef, useState } from "preact/hooks";
import { Empty, html, lastMoment } from "deskmate/elements";
import { duration, t } from "deskmate/words";
import { criticalPath, layout, related, secondsOf } from "deskmate/views/layout";

const WIDE = 232, HIGH = 52, BOX_WIDE = 200, BOX_HIGH = 38, EDGE = 12, WORDS = 25;
const ZOOMS = [0.3, 0.5, 0.75, 1, 1.5];

// As much of a text as fits: a Chinese character is as wide as two others.
function cut(text, most) {
  let wide = 0, shown = "";
  for (const one of text) {
    wide += one.codePointAt(0) > 0x2e7f ? 2 : 1;
    if (wide > most) return `${shown}…`;
    shown += one;
  }
  return text;
}

function Node({ row, place, hot, dim, open, point, store, at }) {
  const task = row.value;
  const x = EDGE + place.layer * WIDE, y = EDGE + place.row * HIGH;
  const words = cut(task.subject, WORDS);
  const pressed = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(task.id); } };
  return html`<g class="node ${task.column.replace(" ", "-")} ${hot ? "hot" : ""} ${dim ? "dim" : ""}" role="button" tabindex="0"
    aria-label=${`#${task.id} ${task.subject}, ${t(task.state)}`} onClick=${() => open(task.id)} onKeyDown=${pressed}
    onMouseEnter=${() => point(task.id)} onMouseLeave=${() => point(null)} onFocus=${() => point(task.id)} onBlur=${() => point(null)}>
    <title>#${task.id} ${task.subject} (${t(task.state)})</title>
    <rect x=${x} y=${y} width=${BOX_WIDE} height=${BOX_HIGH} rx="7" /><rect class="edge-mark" x=${x} y=${y} width="4" height=${BOX_HIGH} rx="2" />
    <text class="id" x=${x + 12} y=${y + 15}>#${task.id}${task.owner ? ` ${cut(task.owner, task.began ? WORDS - 12 : WORDS - 4)}` : ""}</text>
    ${task.began > 0 && html`<text class="id took" x=${x + BOX_WIDE - 10} y=${y + 15}>${duration(secondsOf(task, lastMoment(task, store, at)))}</text>`}
    <text x=${x + 12} y=${y + 30}>${words}</text></g>`;
}

export function Graph({ store, open, at }) {
  const [pointed, point] = useState(null);
  const [hides, setHides] = useState(false);
  const [zoom, setZoom] = useState(1);
  const box = useRef(null);
  const all = store.tasks.values();
  const tasks = hides ? all.filter((task) => task.column !== "done") : all;
  const shape = tasks.map((task) => `${task.id}<${task.blockedBy}`).join(" ");
  const { places, layers, rows } = useMemo(() => layout(tasks), [shape]);
  const edges = useMemo(() => tasks.flatMap((task) => task.blockedBy.filter((id) => places.has(id)).map((id) => [id, task.id])), [shape]);
  const path = criticalPath(all), chain = path.ids.map((id) => `#${id}`), onPath = new Set(path.ids);
  const near = useMemo(() => (pointed === null ? null : related(tasks, pointed)), [shape, pointed]);
  if (!all.length) return html`<section class="graph-view" aria-label=${t("Graph")}><${Empty} title=${t("There are no tasks.")} /></section>`;
  const wide = 2 * EDGE + layers * WIDE - (WIDE - BOX_WIDE), high = 2 * EDGE + rows * HIGH - (HIGH - BOX_HIGH);
  const line = ([from, to]) => {
    const a = places.get(from), b = places.get(to);
    const x1 = EDGE + a.layer * WIDE + BOX_WIDE, y1 = EDGE + a.row * HIGH + BOX_HIGH / 2;
    const x2 = EDGE + b.layer * WIDE, y2 = EDGE + b.row * HIGH + BOX_HIGH / 2, bend = Math.max(16, (x2 - x1) / 2);
    const hot = onPath.has(from) && onPath.has(to), dim = near && !(near.has(from) && near.has(to));
    return html`<path key=${`${from}-${to}`} class="edge ${hot ? "hot" : ""} ${dim ? "dim" : ""}" d=${`M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`} />`;
  };
  const fit = () => setZoom(Math.min(1, (box.current.clientWidth - 24) / wide));
  const step = (by) => setZoom(ZOOMS[Math.min(ZOOMS.length - 1, Math.max(0, ZOOMS.findIndex((one) => one >= zoom) + by))]);
  return html`<section class="graph-view" aria-label=${t("Graph")}>
    <div class="tools"><span class="legend">${["done", "in progress", "ready", "blocked"].map((one) => html`<span key=${one}><i class="key ${one.replace(" ", "-")}"></i>${t(one)}</span>`)}</span>
      ${chain.length > 1 && html`<span class="path-words" title=${chain.join(" → ")}><i class="key hot"></i>${t("critical path")}: ${chain.length > 6 ? `${chain[0]} → … → ${chain.at(-1)} (${chain.length})` : chain.join(" → ")}${path.seconds ? `, ${duration(path.seconds)}` : ""}</span>`}
      <span class="push"></span>
      <label class="check"><input type="checkbox" checked=${hides} onChange=${(event) => setHides(event.target.checked)} /> ${t("Hide what is done")}</label>
      <span class="zooms"><button class="quiet small" onClick=${() => step(-1)} aria-label=${t("Smaller")}>−</button><button class="quiet small" onClick=${() => step(1)} aria-label=${t("Larger")}>+</button><button class="quiet small" onClick=${fit}>${t("Fit")}</button></span></div>
    <div class="scroll graph" ref=${box} tabindex="0" role="region" aria-label=${`${t("Graph")}: ${tasks.length} ${t("tasks")}`}>
      <svg width=${wide * zoom} height=${high * zoom} viewBox=${`0 0 ${wide} ${high}`} role="group" aria-label=${`${tasks.length} ${t("tasks")}`}>
        ${edges.map(line)}
        ${tasks.map((task) => html`<${Node} key=${task.id} row=${store.tasks.row(String(task.id))} place=${places.get(task.id)} hot=${onPath.has(task.id)} dim=${near && !near.has(task.id)} open=${open} point=${point} store=${store} at=${at} />`)}
      </svg></div></section>`;
}
