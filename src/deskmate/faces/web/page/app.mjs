// The page: a list of teams, or one team.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask, saved, takeLink } from "deskmate/connection";
import { Team, useNow } from "deskmate/team";
import { TeamList, html } from "deskmate/views";
import { language, t } from "deskmate/words";

function Teams({ choose }) {
  const [found, setFound] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const now = useNow();
  useEffect(() => { ask("/api/teams").then((teams) => { setFound(teams); setTrouble(null); }, setTrouble); }, [now]);
  return html`<main class="list"><h1>${t("Teams")}</h1>
    ${trouble && html`<p class="trouble" role="alert">${trouble.message} ${trouble.hint}</p>`}
    ${found && html`<p class="note">${found.workspace}</p><${TeamList} teams=${found.teams} choose=${choose} now=${now} />`}</main>`;
}

function App() {
  const named = () => new URLSearchParams(location.hash.slice(1)).get("team");
  const [team, setTeam] = useState(named());
  useEffect(() => { const moved = () => setTeam(named()); addEventListener("hashchange", moved); return () => removeEventListener("hashchange", moved); }, []);
  const choose = (name) => { location.hash = name ? `team=${name}` : ""; };
  return team ? html`<${Team} key=${team} name=${team} back=${() => choose("")} />` : html`<${Teams} choose=${choose} />`;
}

function Page() {
  if (saved) return html`<${Team} name=${saved.name} back=${null} />`;
  if (takeLink()) return html`<${App} />`;
  return html`<main class="list"><h1>Deskmate</h1><p class="trouble" role="alert">${t("Open the link that deskmate web printed. It has the token that this page needs.")}</p></main>`;
}

document.documentElement.lang = language;
render(html`<${Page} />`, document.getElementById("root"));
