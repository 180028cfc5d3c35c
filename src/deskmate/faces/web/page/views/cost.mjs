// What was spent over time, by member or by model.

import { useMemo, useState } from "preact/hooks";
import { Bar, Empty, html } from "deskmate/elements";
import { Axis, Marks, PauseKey } from "deskmate/views/timeline";
import { money, t } from "deskmate/words";

const POINTS = 160, PARTS = 6, WIDE = 1000, HIGH = 220;
const REST = "…";

// What each part has spent by the end of each of so many equal parts of the line of time.
function curves(calls, key, unit, scale) {
  const totals = new Map();
  for (const { call } of calls) totals.set(call[key], (totals.get(call[key]) || 0) + (call[unit] || 0));
  const ordered = [...totals].sort((a, b) => b[1] - a[1]);
  const shown = ordered.slice(0, PARTS).map(([name]) => name);
  const names = ordered.length > PARTS ? [...shown, REST] : shown;
  const sums = Object.fromEntries(names.map((name) => [name, new Array(POINTS + 1).fill(0)]));
  for (const { at, call } of calls) {
    const point = Math.min(POINTS, Math.ceil(scale.place(at) * POINTS));
    sums[shown.includes(call[key]) ? call[key] : REST][Math.max(0, point)] += call[unit] || 0;
  }
  for (const name of names) for (let point = 1; point <= POINTS; point += 1) sums[name][point] += sums[name][point - 1];
  return { ordered, names, sums, total: ordered.reduce((sum, [, one]) => sum + one, 0) };
}

// `upto`: the last point that is drawn.
function Areas({ names, sums, most, upto }) {
  const below = new Array(POINTS + 1).fill(0);
  return names.map((name, index) => {
    const low = [...below];
    for (let point = 0; point <= POINTS; point += 1) below[point] += sums[name][point];
    const at = (values, point) => `${((point / POINTS) * WIDE).toFixed(1)},${(HIGH - (values[point] / (most || 1)) * HIGH).toFixed(1)}`;
    const drawn = low.slice(0, upto + 1);
    const points = [...drawn.map((_, point) => at(below, point)), ...drawn.map((_, point) => at(low, upto - point))].join(" ");
    return html`<polygon key=${name} class="area area-${index}" points=${points}><title>${name}</title></polygon>`;
  });
}

export function Cost({ history, at }) {
  const [key, setKey] = useState("member");
  const version = history.version.value;
  const all = useMemo(() => history.steps.filter((step) => step.call), [history, version]);
  const calls = at === null ? all : all.filter((step) => step.at <= at);
  if (!history.isLoaded.value) return html`<section aria-label=${t("Cost")}><p class="soft pad">${t("Reading the past …")}</p></section>`;
  if (!calls.length) return html`<section aria-label=${t("Cost")}><${Empty} title=${t("No model was asked yet.")} /></section>`;
  const scale = history.scale();
  // Without a known price, tokens are what can be compared.
  const unit = calls.some(({ call }) => call.cost) ? "cost" : "tokens";
  const words = (sum) => (unit === "cost" ? money(sum) : `${sum.toLocaleString()} ${t("tokens")}`);
  const { ordered, names, sums, total } = curves(calls, key, unit, scale);
  // The chart keeps its size while the slider moves.
  const most = all.reduce((sum, { call }) => sum + (call[unit] || 0), 0), upto = at === null ? POINTS : Math.ceil(scale.place(at) * POINTS);
  const count = (name) => calls.filter(({ call }) => call[key] === name).length;
  return html`<section class="cost-view" aria-label=${t("Cost")}>
    <div class="tools"><strong>${words(total)}</strong><span class="soft">${calls.length.toLocaleString()} ${t("model calls")}</span><span class="legend"><${PauseKey} scale=${scale} /></span><span class="push"></span>
      <span class="switch" role="group" aria-label=${t("Group by")}>${[["member", "Members"], ["model", "Models"]].map(([one, label]) =>
        html`<button key=${one} aria-pressed=${key === one} onClick=${() => setKey(one)}>${t(label)}</button>`)}</span></div>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("Cost")}>
      <div class="chart panel"><span class="soft chart-top">${words(most)}</span><div class="chart-area"><${Marks} scale=${scale} at=${at} />
        <svg viewBox=${`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label=${`${t("Cost")} ${words(total)}`}><${Areas} names=${names} sums=${sums} most=${most} upto=${upto} /></svg></div>
        <${Axis} scale=${scale} /></div>
      <table class="sums"><caption class="hidden">${t("Cost")}</caption><thead><tr><th scope="col">${t(key === "member" ? "Member" : "Model")}</th><th scope="col">${t("Portion")}</th><th scope="col" class="number">${t("Calls")}</th><th scope="col" class="number">${t(unit === "cost" ? "Cost" : "Tokens")}</th></tr></thead>
        <tbody>${ordered.map(([name, sum]) => { const index = names.indexOf(name); return html`<tr key=${name}><th scope="row"><i class="key area-${index < 0 ? PARTS : index}"></i>${name}</th>
          <td><${Bar} share=${(100 * sum) / (total || 1)} label=${`${Math.round((100 * sum) / (total || 1))}%`} /></td><td class="number">${count(name).toLocaleString()}</td><td class="number">${words(sum)}</td></tr>`; })}</tbody></table>
    </div></section>`;
}
