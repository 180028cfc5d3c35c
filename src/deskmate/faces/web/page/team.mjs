// One team: its parts side by side, live or at an earlier time.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { download, follow, saved, send } from "deskmate/connection";
import { Dot, Icon, html, now } from "deskmate/elements";
import { History, PastStore } from "deskmate/past";
import { TeamStore } from "deskmate/store";
import { Head, Help, Members, Notes, Question, Scrubber, TaskPanel } from "deskmate/team_parts";
import { Board } from "deskmate/views/board";
import { Conversation } from "deskmate/views/conversation";
import { Cost } from "deskmate/views/cost";
import { Changes, Files } from "deskmate/views/files";
import { Graph } from "deskmate/views/graph";
import { Mail } from "deskmate/views/mail";
import { Overview } from "deskmate/views/overview";
import { Timeline } from "deskmate/views/timeline";
import { t } from "deskmate/words";

const VIEWS = ["Overview", "Conversation", "Board", "Graph", "Mail", "Timeline", "Cost", "Changes", "Files"];
const SHOW = { Overview, Conversation, Board, Graph, Mail, Timeline, Cost, Changes, Files };
const OF_THE_PAST = ["Timeline", "Cost"];

// The steps of a team, as long as they are wanted.
function useHistory(name, wanted) {
  const history = useMemo(() => new History(name), [name]);
  const tick = now.value;
  useEffect(() => { if (wanted) history.refresh().catch(() => {}); }, [history, wanted, wanted ? tick : 0]);
  return history;
}

function useAlerts(name, store) {
  const known = useRef(0);
  const questions = store.questions.keys.value.length;
  useEffect(() => {
    document.title = `${questions ? `(${questions}) ` : ""}${name} – Deskmate`;
    if (questions > known.current && document.hidden && "Notification" in window && Notification.permission === "granted") {
      const asked = store.questions.values().at(-1);
      new Notification(`${name}: ${asked.asker} ${asked.asks}`, { tag: name });
    }
    known.current = questions;
  }, [name, questions]);
}

// Keys that work unless something is being typed.
function useKeys(wanted, { setView, open, place }) {
  useEffect(() => {
    if (!wanted) return undefined;
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") open(null);
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      const view = VIEWS[Number(event.key) - 1];
      const focus = (target) => setTimeout(() => place.current?.querySelector(target)?.focus());
      if (view) setView(view);
      else if (event.key === "/") { event.preventDefault(); setView("Conversation"); focus('input[type="search"]'); }
      else if (event.key === "m") { event.preventDefault(); setView("Conversation"); focus(".writer textarea"); }
      else if (event.key === "?") open("help");
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [wanted]);
}

export function Team({ name, notes, choose, besides, first }) {
  const place = useRef(null);
  const live = useMemo(() => new TeamStore(), [name]);
  const [member, setMember] = useState("lead");
  const [view, setShownView] = useState("Overview");
  const [linked, setLinked] = useState(true);
  const [trouble, setTrouble] = useState(null);
  const [told, setTold] = useState(notes);
  const [at, setAt] = useState(null);
  const [rewinds, setRewinds] = useState(false);
  // What is open beside the view: the number of a task, or the help.
  const [opened, open] = useState(null);
  const [wanted, setWanted] = useState(null);
  const setView = (one) => { setShownView(one); open(null); };
  const history = useHistory(name, rewinds || OF_THE_PAST.includes(view));
  const past = useMemo(() => new PastStore(history), [history, rewinds]);
  useEffect(() => {
    live.clearItems();
    return follow(name, member, { told: (change) => live.apply(change), linked: setLinked, refused: setTrouble });
  }, [name, member]);
  useAlerts(name, live);
  useKeys(first, { setView, open, place });
  if (at !== null) past.seek(at);
  const store = at === null ? live : past;
  const act = (kind, body) => send(name, kind, body).then(
    (done) => { setTrouble(null); return done; },
    (error) => { setTrouble({ error: error.message, hint: error.hint }); return null; });
  const show = (one, key = null) => { setMember(one); setView("Conversation"); setWanted(key); if (key) setAt(null); };
  const save = () => download(`/api/teams/${encodeURIComponent(name)}/page`, `${name}.html`).catch((error) => setTrouble({ error: error.message, hint: error.hint }));
  const Shown = SHOW[view];
  return html`<div class="team" ref=${place}>
    <${Head} name=${name} store=${store} live=${live} linked=${linked} act=${act} choose=${choose} besides=${besides} save=${save}
      rewinds=${rewinds} toggle=${() => { setRewinds(!rewinds); setAt(null); }} help=${() => open(opened === "help" ? null : "help")} />
    <${Notes} name=${name} live=${live} trouble=${trouble} close=${() => setTrouble(null)} told=${told} closeTold=${() => setTold([])} act=${act} choose=${besides ? null : choose} />
    ${rewinds && html`<${Scrubber} history=${history} at=${at} setAt=${setAt} />`}
    <${Members} store=${store} chosen=${view === "Conversation" ? member : null} choose=${show} at=${at} />
    <${Tabs} view=${view} setView=${setView} />
    <main tabindex="-1" id=${first ? "view" : undefined} class="view view-${view.toLowerCase()}" role="tabpanel" aria-label=${t(view)}>
      <${Shown} key=${view === "Conversation" ? member : view} name=${name} store=${store} live=${live} history=${history} at=${at} member=${member}
        act=${saved ? null : act} show=${show} open=${open} setView=${setView} wanted=${wanted} found=${() => setWanted(null)} />
    </main>
    ${opened !== null && (opened === "help" ? html`<${Help} views=${VIEWS} close=${() => open(null)} />`
      : html`<${TaskPanel} key=${opened} id=${opened} store=${store} open=${open} show=${show} at=${at} />`)}
    <${Questions} store=${live} past=${at !== null} act=${saved ? null : act} />
  </div>`;
}

function Questions({ store, past, act }) {
  const keys = store.questions.keys.value;
  // On a phone they take the place of the views, so they can be folded.
  const [folded, setFolded] = useState(false);
  return html`<aside class="questions ${folded ? "folded-away" : ""}" aria-label=${t("Questions")} aria-live="polite">
    ${!past && keys.length > 0 && html`<button class="questions-head quiet" aria-expanded=${!folded} onClick=${() => setFolded(!folded)}>
      <${Dot} state="asks" />${keys.length} ${t(keys.length === 1 ? "question for you" : "questions for you")}<span class="chevron"><${Icon} name="down" /></span></button>`}
    ${!past && keys.map((key) =>
    html`<${Question} key=${key} row=${store.questions.row(key)} answer=${act && ((id, answer, words) => act("answers", { id, answer, words }))} />`)}</aside>`;
}

function Tabs({ view, setView }) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length];
    setView(next);
    event.currentTarget.querySelector(`[data-view="${next}"]`).focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${t("Views")} onKeyDown=${move}>${VIEWS.map((one) => html`<button key=${one} data-view=${one} role="tab"
    aria-selected=${view === one} tabindex=${view === one ? 0 : -1} onClick=${() => setView(one)}>${t(one)}</button>`)}</div>`;
}
