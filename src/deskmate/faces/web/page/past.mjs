// The past of a team: its steps, its state at any time, and what a member had said by then.

import { batch, signal } from "@preact/signals";
import { ask, saved } from "deskmate/connection";
import { scaleOf } from "deskmate/scale";
import { TeamStore } from "deskmate/store";

export class History {
  constructor(name) {
    this.name = name;
    this.id = "";
    this.steps = saved ? saved.steps : [];
    this.version = signal(0);
    this.isLoaded = signal(Boolean(saved));
    this.isAsking = false;
  }

  get begin() { return this.steps.length ? this.steps[0].at : 0; }

  get end() { return this.steps.length ? this.steps[this.steps.length - 1].at : 1; }

  // The line of time of the team, up to now or the last step.
  scale(end = this.end) {
    const key = `${this.version.value} ${end}`;
    if (this.scaled?.key !== key) this.scaled = { key, scale: scaleOf(this.steps.map((step) => step.at), this.begin, end) };
    return this.scaled.scale;
  }

  // Read the steps that are new.
  async refresh() {
    if (saved || this.isAsking) return;
    this.isAsking = true;
    try {
      const path = `/api/teams/${encodeURIComponent(this.name)}/history?after=${this.steps.length}&history=${this.id}`;
      const found = await ask(path);
      // Also the first answer of a server that was started again begins with the first step.
      this.steps = [...this.steps.slice(0, found.after), ...found.steps];
      this.id = found.history;
      batch(() => { this.isLoaded.value = true; if (found.steps.length) this.version.value += 1; });
    } finally { this.isAsking = false; }
  }
}

// The state of a team at a time. Moving forward applies only the steps between.
export class PastStore extends TeamStore {
  constructor(history) {
    super();
    this.letters.kept = Infinity;
    this.history = history;
    this.next = 0;
    this.at = -Infinity;
  }

  seek(at) {
    batch(() => {
      if (at < this.at) {
        for (const part of ["members", "tasks", "letters"]) this[part].keep({});
        this.team.value = null;
        this.next = 0;
      }
      this.at = at;
      const together = { members: {}, tasks: {}, letters: {} };
      for (; this.next < this.history.steps.length && this.history.steps[this.next].at <= at; this.next += 1) {
        const step = this.history.steps[this.next];
        for (const part of Object.keys(together)) Object.assign(together[part], step[part]);
        if (step.team) together.team = { "": { ...(together.team || {})[""], ...step.team[""] } };
      }
      this.apply(together);
    });
  }
}

// A call that was not over yet has no result.
function asItWas(item, at) {
  return item.changed <= at ? item : { ...item, state: "running", failure: "", diff: "", body: "" };
}

// The transcript of a member at any time. The server tells the part around a time. A saved page has all of it.
export class PastWords {
  constructor(team, member) {
    this.path = `/api/teams/${encodeURIComponent(team)}/transcript?member=${encodeURIComponent(member)}`;
    this.items = saved ? saved.transcripts[member] || [] : [];
    this.version = signal(saved ? 1 : 0);
    this.from = this.until = saved ? null : -Infinity;
    this.isAsking = false;
  }

  has(at) { return (this.from === null || at >= this.from) && (this.until === null || at <= this.until); }

  // Load the part around a time, unless it is there. `wanted` is the latest time, which may have moved meanwhile.
  async load(wanted) {
    this.wanted = wanted;
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      while (!this.has(this.wanted)) {
        const asked = Date.now() / 1000;
        const found = await ask(`${this.path}&at=${this.wanted.toFixed(6)}`);
        this.items = found.items;
        this.from = found.from;
        // What is written later is not in it.
        this.until = found.until ?? Math.max(asked, this.wanted);
        this.version.value += 1;
      }
    } finally { this.isAsking = false; }
  }

  at(at) { return this.items.filter((item) => item.since <= at).map((item) => asItWas(item, at)); }
}
