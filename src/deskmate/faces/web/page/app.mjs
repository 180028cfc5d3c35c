// The page: a list of teams, one team, or two side by side.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { saved, takeLink } from "deskmate/connection";
import { html } from "deskmate/elements";
import { Team } from "deskmate/team";
import { Teams } from "deskmate/views/teams";
import { language, t } from "deskmate/words";

function chosen() {
  const parts = new URLSearchParams(location.hash.slice(1));
  return [...new Set([parts.get("team"), parts.get("beside")])].filter(Boolean);
}

function App() {
  const [names, setNames] = useState(chosen());
  const [notes, setNotes] = useState([]);
  useEffect(() => {
    const moved = () => setNames(chosen());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  const choose = (name, said = [], beside = "") => {
    setNotes(said);
    location.hash = name ? new URLSearchParams({ team: name, ...(beside ? { beside } : {}) }).toString() : "";
  };
  if (!names.length) { document.title = "Deskmate"; return html`<${Teams} choose=${choose} />`; }
  const others = (name) => names.filter((one) => one !== name);
  return html`<div class=${names.length > 1 ? "pair" : "single"}>${names.map((name, index) => html`<${Team} key=${name} name=${name} notes=${index ? [] : notes}
    choose=${choose} besides=${names.length > 1 ? () => choose(others(name)[0]) : null} first=${index === 0} />`)}</div>`;
}

function Page() {
  if (saved) return html`<div class="single"><${Team} name=${saved.name} notes=${[]} choose=${null} besides=${null} first=${true} /></div>`;
  if (takeLink()) return html`<${App} />`;
  return html`<main class="home"><h1>Deskmate</h1><p class="trouble" role="alert">${t("Open the link that deskmate web printed. It has the token that this page needs.")}</p></main>`;
}

document.documentElement.lang = language;
render(html`<${Page} />`, document.getElementById("root"));
