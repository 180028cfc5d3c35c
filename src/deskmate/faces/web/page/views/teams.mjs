// The teams of the workspace, and a form to start one.

import { useEffect, useState } from "preact/hooks";
import { ask, errorText, sendTo } from "deskmate/connection";
import { Ago, Bar, Dot, Empty, Icon, Words, html, now } from "deskmate/elements";
import { language, money, t } from "deskmate/words";

const MODES = {
  plan: "Plan first: change nothing until I agree", default: "Ask before edits, and before commands without a sandbox",
  acceptEdits: "Edit files, and ask before commands without a sandbox", dontAsk: "Ask nothing: deny what is not allowed",
};

function NewTeam({ modes, choose }) {
  const [goal, setGoal] = useState("");
  const [name, setName] = useState("");
  const [cost, setCost] = useState("");
  const [mode, setMode] = useState("default");
  const [more, setMore] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState(null);
  const submit = () => {
    if (!goal.trim() || busy) return;
    setBusy(true);
    const body = { goal: goal.trim(), permission_mode: mode };
    if (name.trim()) body.name = name.trim();
    if (Number(cost) > 0) body.max_cost = Number(cost);
    sendTo("/api/teams", body).then((begun) => choose(begun.team, begun.notes), (error) => { setTrouble(error); setBusy(false); });
  };
  return html`<form class="new-team panel" onSubmit=${(event) => { event.preventDefault(); submit(); }}>
    <${Words} id="goal" label=${t("What should a new team do?")} placeholder=${t("What should a new team do?")} value=${goal} change=${setGoal} submit=${submit} rows=2 />
    ${more && html`<div class="fields">
      <label>${t("Permissions")} <select value=${mode} onChange=${(event) => setMode(event.target.value)}>
        ${modes.map((one) => html`<option key=${one} value=${one}>${t(MODES[one])}</option>`)}</select></label>
      <label>${t("Name")} <input value=${name} placeholder="main" maxlength="64" onInput=${(event) => setName(event.target.value)} /></label>
      <label>${t("Stop at this cost")} <input value=${cost} placeholder="$" inputmode="decimal" onInput=${(event) => setCost(event.target.value)} /></label>
    </div>`}
    ${trouble && html`<p class="trouble" role="alert">${errorText(trouble)}</p>`}
    <div class="actions"><button type="button" class="quiet" aria-expanded=${more} onClick=${() => setMore(!more)}>${t("Options")}</button>
      <button type="submit" class="primary" disabled=${busy || !goal.trim()}>${busy ? t("Starting …") : t("Start a team")}</button></div>
  </form>`;
}

function TeamRow({ team, all, choose }) {
  const total = team.done + team.open;
  const label = `${team.done}/${total} ${t("tasks done")}`;
  const pair = all.find((one) => one.name === (team.away || team.home));
  return html`<li class="team-row panel">
    <button class="team-link" onClick=${() => choose(team.name)}>
      <span class="team-top"><${Dot} state=${team.state} /><b>${team.name}</b><span class="soft">${t(team.state)}</span></span>
      <span class="team-title">${team.title || t("Nothing was said yet.")}</span>
    </button>
    <div class="team-facts soft">
      ${total > 0 && html`<${Bar} share=${(100 * team.done) / total} label=${label} /><span>${label}</span>`}
      <span>${team.members} ${t(team.members === 1 ? "member" : "members")}</span><span>${money(team.spent.cost)}</span>
      <span>${t("last active")} <${Ago} at=${team.written} /></span>
      ${pair && html`<button class="quiet small" onClick=${() => choose(team.home || team.name, [], team.home ? team.name : pair.name)}>
        <${Icon} name="columns" /> ${t("Side by side with")} ${pair.name}</button>`}
    </div>
    ${team.damage.length > 0 && html`<p class="trouble">${team.damage[0]}</p>`}
  </li>`;
}

// The page of a conversation shows its team as soon as it has begun.
const opened = Date.now() / 1000;
const WAITING = 1000, SOON = 60;

function useNext(teams, look, choose) {
  const waits = new URLSearchParams(location.hash.slice(1)).has("next");
  useEffect(() => {
    const live = teams && waits ? teams.filter((one) => one.live) : [];
    const next = live.length === 1 ? live[0] : live.find((one) => one.written >= opened - SOON);
    if (next) choose(next.name);
    if (!waits || next) return undefined;
    const timer = setTimeout(look, WAITING);
    return () => clearTimeout(timer);
  }, [teams, waits]);
  return waits;
}

export function Teams({ choose }) {
  const [found, setFound] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const tick = now.value;
  const look = () => { ask("/api/teams").then((teams) => { setFound(teams); setTrouble(null); }, setTrouble); };
  useEffect(look, [tick]);
  const waits = useNext(found && found.teams, look, choose);
  return html`<main class="home" lang=${language}>
    <header class="home-head"><h1>${t("Teams")}</h1>${found && html`<p class="soft path" title=${found.workspace}>${found.workspace}</p>`}</header>
    ${trouble && html`<p class="trouble" role="alert">${errorText(trouble)}</p>`}
    ${waits && html`<p class="note panel" role="status">${t("Waiting for the conversation in the terminal to begin.")}</p>`}
    ${found && !waits && html`<${NewTeam} modes=${found.modes} choose=${choose} />`}
    ${found && !found.teams.length && html`<${Empty} title=${t("There are no teams here.")}>${t("Say above what should be done. The lead of the team hires others if it needs them.")}<//>`}
    ${found && html`<ul class="team-list">${found.teams.map((team) => html`<${TeamRow} key=${team.name} team=${team} all=${found.teams} choose=${choose} />`)}</ul>`}
  </main>`;
}
