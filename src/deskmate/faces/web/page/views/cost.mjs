// What was spent over time, by member or by model.

import { useMemo, useState } from "preact/hooks";
import { Bar, Empty, html } from "deskmate/elements";
import { Axis } from "deskmate/views/timeline";
import { money, t } from "deskmate/words";

const POINTS = 160, PARTS = 6, WIDE = 1000, HIGH = 220;
const REST = "…";

// What each part has spent by the end of each of so many equal times.
function curves(calls, key, unit, begin, end) {
  const totals = new Map();
  for (const { call } of calls) totals.set(call[key], (totals.get(call[key]) || 0) + (call[unit] || 0));
  const ordered = [...totals].sort((a, b) => b[1] - a[1]);
  const shown = ordered.slice(0, PARTS).map(([name]) => name);
  const names = ordered.length > PARTS ? [...shown, REST] : shown;
  const sums = Object.fromEntries(names.map((name) => [name, new Array(POINTS + 1).fill(0)]));
  for (const { at, call } of calls) {
    const point = Math.min(POINTS, Math.ceil(((at - begin) / Math.max(1e-9, end - begin)) * POINTS));
    sums[shown.includes(call[key]) ? call[key] : REST][Math.max(0, point)] += call[unit] || 0;
  }
  for (const name of names) for (let point = 1; point <= POINTS; point += 1) sums[name][point] += sums[name][point - 1];
  return { ordered, names, sums, total: ordered.reduce((sum, [, one]) => sum + one, 0) };
}

function Areas({ names, sums, total }) {
  const below = new Array(POINTS + 1).fill(0);
  return names.map((name, index) => {
    const low = [...below];
    for (let point = 0; point <= POINTS; point += 1) below[point] += sums[name][point];
    const at = (values, point) => `${((point / POINTS) * WIDE).toFixed(1)},${(HIGH - (values[point] / (total || 1)) * HIGH).toFixed(1)}`;
    const points = [...low.map((_, point) => at(below, point)), ...low.map((_, point) => at(low, POINTS - point))].join(" ");
    return html`<polygon key=${name} class="area area-${index}" points=${points}><title>${name}</title></polygon>`;
  });
}

export function Cost({ history, at }) {
  const [key, setKey] = useState("member");
  const version = history.version.value;
  const calls = useMemo(() => history.steps.filter((step) => step.call && (at === null || step.at <= at)), [history, version, at]);
  if (!history.isLoaded.value) return html`<section aria-label=${t("Cost")}><p class="soft pad">${t("Reading the past …")}</p></section>`;
  if (!calls.length) return html`<section aria-label=${t("Cost")}><${Empty} title=${t("No model was asked yet.")} /></section>`;
  const { begin } = history, end = at === null ? history.end : at;
  // Without a known price, tokens are what can be compared.
  const unit = calls.some(({ call }) => call.cost) ? "cost" : "tokens";
  const words = (sum) => (unit === "cost" ? money(sum) : `${sum.toLocaleString()} ${t("tokens")}`);
  const { ordered, names, sums, total } = curves(calls, key, unit, begin, end);
  const count = (name) => calls.filter(({ call }) => call[key] === name).length;
  return html`<section class="cost-view" aria-label=${t("Cost")}>
    <div class="tools"><strong>${words(total)}</strong><span class="soft">${calls.length.toLocaleString()} ${t("model calls")}</span><span class="push"></span>
      <span class="switch" role="group" aria-label=${t("Group by")}>${[["member", "Members"], ["model", "Models"]].map(([one, label]) =>
        html`<button key=${one} aria-pressed=${key === one} onClick=${() => setKey(one)}>${t(label)}</button>`)}</span></div>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("Cost")}>
      <div class="chart panel"><span class="soft chart-top">${words(total)}</span>
        <svg viewBox=${`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label=${`${t("Cost")} ${words(total)}`}><${Areas} names=${names} sums=${sums} total=${total} /></svg>
        <${Axis} begin=${begin} end=${end} /></div>
      <table class="sums"><caption class="hidden">${t("Cost")}</caption><thead><tr><th scope="col">${t(key === "member" ? "Member" : "Model")}</th><th scope="col">${t("Portion")}</th><th scope="col" class="number">${t("Calls")}</th><th scope="col" class="number">${t(unit === "cost" ? "Cost" : "Tokens")}</th></tr></thead>
        <tbody>${ordered.map(([name, sum]) => { const index = names.indexOf(name); return html`<tr key=${name}><th scope="row"><i class="key area-${index < 0 ? PARTS : index}"></i>${name}</th>
          <td><${Bar} share=${(100 * sum) / (total || 1)} label=${`${Math.round((100 * sum) / (total || 1))}%`} /></td><td class="number">${count(name).toLocaleString()}</td><td class="number">${words(sum)}</td></tr>`; })}</tbody></table>
    </div></section>`;
}
