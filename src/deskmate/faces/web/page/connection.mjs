// The connection to the server: the token, requests, and the stream of events.

const KEY = "deskmate-token";

// A page that was saved as a file has everything in it, and no server.
const kept = document.getElementById("saved");
export const saved = kept ? JSON.parse(kept.textContent) : null;

// The link has the token after #, which no server and no log ever sees. It is kept for this address only.
export function takeLink() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (parts.get("token")) {
    localStorage.setItem(KEY, parts.get("token"));
    parts.delete("token");
    history.replaceState(null, "", location.pathname + (parts.size ? `#${parts}` : ""));
  }
  return Boolean(localStorage.getItem(KEY));
}

function headers(more = {}) {
  return { Authorization: `Bearer ${localStorage.getItem(KEY)}`, ...more };
}

export class Refusal extends Error {
  constructor(status, body) {
    super(body.error || `The server answered ${status}.`);
    this.status = status;
    this.hint = body.hint || "";
  }
}

// What happened, then how to fix it on a line of its own, as every command prints it.
export function errorText({ error, message, hint }) {
  return [error || message, hint].filter(Boolean).join("\n");
}

async function checked(answer) {
  if (answer.ok) return answer;
  let body = {};
  try { body = await answer.json(); } catch { /* The status says enough. */ }
  throw new Refusal(answer.status, body);
}

export async function ask(path) {
  return (await checked(await fetch(path, { headers: headers() }))).json();
}

// A file of the server, to keep.
export async function download(path, name) {
  const blob = await (await checked(await fetch(path, { headers: headers() }))).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function send(team, kind, body) {
  return sendTo(`/api/teams/${encodeURIComponent(team)}/${kind}`, body);
}

export async function sendTo(path, body) {
  const options = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
  return (await checked(await fetch(path, options))).json();
}

// Follow a team until `stop` is called. `told` gets each change, `linked` whether there is a connection.
// A connection that is lost is opened again, and continues after the last entry that was told.
export function follow(team, member, { told, linked, refused }) {
  if (saved) {
    told({ ...saved.state, whole: true, transcript: { items: saved.transcripts[member] || [] } });
    linked(true);
    return () => {};
  }
  const control = new AbortController();
  let last = "0";
  (async () => {
    let pause = 250;
    while (!control.signal.aborted) {
      try {
        const path = `/api/teams/${encodeURIComponent(team)}/events?member=${encodeURIComponent(member)}`;
        const answer = await checked(await fetch(path, { headers: headers({ "Last-Event-ID": last }), signal: control.signal }));
        linked(true);
        pause = 250;
        for await (const event of events(answer.body)) {
          if (event.id) last = event.id;
          if (event.kind === "changes") told(JSON.parse(event.data));
          if (event.kind === "trouble") refused(JSON.parse(event.data));
        }
      } catch (error) {
        if (control.signal.aborted) return;
        if (error instanceof Refusal && error.status < 500) { refused({ error: error.message, hint: error.hint }); return; }
      }
      linked(false);
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, 5000);
    }
  })();
  return () => control.abort();
}

// Server-sent events from the bytes of an answer.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = { kind: "", id: "", data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        if (line.startsWith("event: ")) event.kind = line.slice(7);
        else if (line.startsWith("id: ")) event.id = line.slice(4);
        else if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      rest = rest.slice(end + 2);
      yield event;
    }
  }
}
