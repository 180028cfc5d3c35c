// The past of a team: its steps, and its state at any time.

import { batch, signal } from "@preact/signals";
import { ask, saved } from "deskmate/connection";
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
