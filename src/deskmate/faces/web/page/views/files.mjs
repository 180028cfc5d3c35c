// What the work changes, and the files as they were.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, saved } from "deskmate/connection";
import { Diff, Empty, html, now } from "deskmate/elements";
import { clock, day, t } from "deskmate/words";

const LOOK_SECONDS = 15;
const MARKS = { changed: "M", created: "A", deleted: "D" };

// The answer to a question, which is asked again if `news` changes. Meanwhile the last answer stays.
function useAnswer(path, news = 0) {
  const [found, setFound] = useState({});
  useEffect(() => setFound({}), [path]);
  useEffect(() => {
    if (saved || path === null) return undefined;
    let stopped = false;
    ask(path).then((value) => !stopped && setFound({ value }), (trouble) => !stopped && setFound({ trouble }));
    return () => { stopped = true; };
  }, [path, news]);
  return found;
}

// Grows if the team has done something, but seldom: the files of a large folder take time to read.
function useNews(store) {
  const known = useRef({ calls: null, news: 0 });
  const tick = Math.floor(now.value / LOOK_SECONDS), calls = store.team.value?.calls;
  useMemo(() => { if (known.current.calls !== calls) known.current = { calls, news: known.current.news + 1 }; }, [tick]);
  return known.current.news;
}

// What the work of teammates with their own trees changes in the files.
export function Changes({ name, store }) {
  const [part, setPart] = useState("");
  const { value, trouble } = useAnswer(`/api/teams/${encodeURIComponent(name)}/changes?part=${encodeURIComponent(part)}`, useNews(store));
  const tasks = store.tasks.values().filter((task) => task.merged), members = store.members.values().filter((one) => one.own && one.here);
  return html`<section class="changes-view" aria-label=${t("Changes")}>
    <div class="tools"><select aria-label=${t("Part")} value=${part} onChange=${(event) => setPart(event.target.value)}>
      <option value="">${t("the whole team")}</option>
      ${tasks.map((task) => html`<option key=${task.id} value=${`#${task.id}`}>#${task.id} ${task.subject}</option>`)}
      ${members.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}: ${t("not merged yet")}</option>`)}
    </select></div>
    <div class="scroll pad" tabindex="0" role="region" aria-label=${t("Changes")}>
      ${saved && html`<${Empty} title=${t("Changes are not in a saved page.")} />`}
      ${trouble && html`<${Empty} title=${trouble.message}>${trouble.hint}<//>`}
      ${value && (value.diff ? html`<${Diff} diff=${value.diff} />${value.cut && html`<p class="soft">…</p>`}` : html`<${Empty} title=${value.none} />`)}
    </div></section>`;
}

function Content({ name, point, path, news }) {
  const [whole, setWhole] = useState(false);
  const { value, trouble } = useAnswer(`/api/teams/${encodeURIComponent(name)}/files?point=${point}&path=${encodeURIComponent(path)}`, news);
  if (trouble) return html`<p class="trouble pad">${trouble.message}</p>`;
  if (!value) return html`<p class="soft pad">…</p>`;
  const shows = whole || !value.diff;
  return html`<div class="file-content"><div class="tools"><b class="path">${path}</b><span class="push"></span>
    ${value.diff && value.text !== null && html`<span class="switch" role="group" aria-label=${t("Show")}><button aria-pressed=${!shows} onClick=${() => setWhole(false)}>${t("Changes")}</button><button aria-pressed=${shows} onClick=${() => setWhole(true)}>${t("Whole file")}</button></span>`}</div>
    <div class="scroll pad" tabindex="0" role="region" aria-label=${path}>
    ${shows ? (value.text === null ? html`<${Empty} title=${t("This file has no text.")} />` : html`<pre class="plain code">${value.text}</pre>`) : html`<${Diff} diff=${value.diff} />`}
    ${value.cut && html`<p class="soft">…</p>`}</div></div>`;
}

// The files as they are now, or at the last checkpoint before the time of the slider.
export function Files({ name, at, store }) {
  const [path, setPath] = useState(null);
  const [words, setWords] = useState("");
  const news = useNews(store), place = `/api/teams/${encodeURIComponent(name)}/files`;
  const { value, trouble } = useAnswer(place, news);
  const past = (value ? value.points : []).filter((one) => at === null || one.at <= at), point = past.at(-1);
  const shown = point && (at === null ? "now" : point.number);
  const { value: listed } = useAnswer(shown ? `${place}?point=${shown}` : null, at === null ? news : 0);
  const files = (listed ? listed.files : []).filter((one) => one.path.toLowerCase().includes(words.toLowerCase()));
  if (saved) return html`<section aria-label=${t("Files")}><${Empty} title=${t("Files are not in a saved page.")} /></section>`;
  if (trouble) return html`<section aria-label=${t("Files")}><${Empty} title=${trouble.message}>${trouble.hint}<//></section>`;
  if (!value) return html`<section aria-label=${t("Files")}><p class="soft pad">…</p></section>`;
  if (!point) return html`<section aria-label=${t("Files")}><${Empty} title=${t("There is no checkpoint yet at this time.")}>${t("Deskmate saves the files before each message of yours, each task and each merge.")}<//></section>`;
  return html`<section class="files-view" aria-label=${t("Files")}>
    <p class="tools soft"><span>${at === null ? t("Files as they are now") : html`${t("Files as they were")} ${day(point.at)} ${clock(point.at)}${point.words ? ` · ${t("before")} “${point.words.slice(0, 80)}”` : ""}`}</span></p>
    <div class="files-split"><div class="file-list"><input type="search" value=${words} placeholder=${t("Filter files")} aria-label=${t("Filter files")} onInput=${(event) => setWords(event.target.value)} />
      <ul class="scroll" tabindex="0" aria-label=${t("Files")}>${files.map((one) => html`<li key=${one.path}><button aria-current=${one.path === path ? "true" : undefined} onClick=${() => setPath(one.path)}>
        <span class="file-mark ${one.change}" title=${one.change ? t(one.change) : ""}>${MARKS[one.change] || ""}</span><span class="path">${one.path}</span></button></li>`)}
        ${listed && !files.length && html`<li class="soft">${t("No files.")}</li>`}${listed && listed.cut && html`<li class="soft">…</li>`}</ul></div>
      ${path === null ? html`<${Empty} title=${t("Choose a file.")}>${t("Marked files differ from the first checkpoint of this team.")}<//>` : html`<${Content} key=${`${shown}/${path}`} name=${name} point=${shown} path=${path} news=${at === null ? news : 0} />`}
    </div></section>`;
}
