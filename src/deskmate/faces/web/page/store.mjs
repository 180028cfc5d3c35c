// What the page knows of a team. Each value is a signal, so only what changed is drawn again.

import { batch, computed, signal } from "@preact/signals";

// A page that is open for days keeps the newest of what only grows.
const LETTERS_KEPT = 500, ITEMS_KEPT = 1000;

// Values by key, in the order in which they came. `keys` changes if there are others, `version` with every change.
export class Table {
  constructor(kept = Infinity) {
    this.keys = signal([]);
    this.version = signal(0);
    this.kept = kept;
    this.rows = new Map();
  }

  // The signal of a value. It stays the same as long as there is such a key.
  row(key) { return this.rows.get(key); }

  // All values, now.
  values() {
    this.version.value;
    return [...this.rows.values()].map((row) => row.peek());
  }

  // Put values, or take them out with null. Return how many of the oldest were dropped.
  put(changes) {
    const found = Object.entries(changes || {});
    if (!found.length) return 0;
    let moved = false;
    for (const [key, value] of found) {
      const row = this.rows.get(key);
      if (value === null) moved = this.rows.delete(key) || moved;
      else if (row) row.value = value;
      else { this.rows.set(key, signal(value)); moved = true; }
    }
    const dropped = Math.max(0, this.rows.size - this.kept);
    if (dropped) for (const key of [...this.rows.keys()].slice(0, dropped)) this.rows.delete(key);
    this.tell(moved);
    return dropped;
  }

  // Put values before all others.
  putFirst(changes) {
    const later = [...this.rows].filter(([key]) => !(key in changes));
    this.rows = new Map([...Object.entries(changes).map(([key, value]) => [key, signal(value)]), ...later]);
    this.tell(true);
  }

  // Take out all values but those with these keys.
  keep(wanted) {
    const gone = [...this.rows.keys()].filter((key) => !(key in wanted));
    for (const key of gone) this.rows.delete(key);
    if (gone.length) this.tell(true);
  }

  tell(moved) {
    if (moved) this.keys.value = [...this.rows.keys()];
    this.version.value += 1;
  }
}

export class TeamStore {
  constructor() {
    this.team = signal(null);
    this.members = new Table();
    this.tasks = new Table();
    this.letters = new Table(LETTERS_KEPT);
    this.questions = new Table();
    this.items = new Table(ITEMS_KEPT);
    // Who is here, and who has left. Most changes of members change neither.
    this.presence = computed(() => JSON.stringify([...this.members.keys.value].map((name) => [name, this.members.row(name)?.value.here])));
    // How many tasks each member has completed.
    this.done = computed(() => {
      const done = new Map();
      for (const task of this.tasks.values()) if (task.state === "done") done.set(task.owner, (done.get(task.owner) || 0) + 1);
      return done;
    });
    // How many items of the transcript are earlier than those that the page has.
    this.before = signal(0);
  }

  // Values with the same key replace earlier ones, and null means gone. So telling twice changes nothing. The first
  // change of a connection is whole: what is not in it is gone, but for mail and transcripts, which only grow.
  apply(change) {
    batch(() => {
      if (change.team) this.team.value = { ...this.team.peek(), ...change.team[""] };
      for (const part of ["members", "tasks", "letters", "questions"]) {
        if (change.whole && part !== "letters") this[part].keep(change[part] || {});
        this[part].put(change[part]);
      }
      if (change.transcript) {
        const items = Object.fromEntries(change.transcript.items.map((item) => [item.key, item]));
        this.before.value += (change.transcript.before || 0) + this.items.put(items);
      }
    });
  }

  // Show the transcript of another member.
  clearItems() {
    batch(() => { this.items.keep({}); this.items.kept = ITEMS_KEPT; this.before.value = 0; });
  }

  // Put earlier items of the transcript before those that the page has. They stay until another one is shown.
  addEarlier({ items, before }) {
    batch(() => {
      this.items.kept += items.length;
      this.items.putFirst(Object.fromEntries(items.map((item) => [item.key, item])));
      this.before.value = before;
    });
  }
}
