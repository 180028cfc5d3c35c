// The dependency graph of a board: where each task is drawn, what depends on it, and the critical path.

// A task is drawn one layer to the right of the last task that it waits for, near the row of the tasks before it.
export function layout(tasks) {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const layers = new Map();
  const layerOf = (id, above) => {
    if (layers.has(id)) return layers.get(id);
    if (above.has(id)) return 0;
    above.add(id);
    const before = byId.get(id).blockedBy.filter((one) => byId.has(one));
    const layer = before.length ? 1 + Math.max(...before.map((one) => layerOf(one, above))) : 0;
    layers.set(id, layer);
    return layer;
  };
  const columns = [];
  for (const task of tasks) {
    const layer = layerOf(task.id, new Set());
    (columns[layer] = columns[layer] || []).push(task);
  }
  const places = new Map();
  let rows = 1;
  columns.forEach((column, layer) => {
    const wish = (task) => {
      const before = task.blockedBy.map((id) => places.get(id)).filter(Boolean);
      return before.length ? before.reduce((sum, place) => sum + place.row, 0) / before.length : -1;
    };
    // First those that follow something, at its row or the next free one. Then the others in the gaps.
    const taken = new Set();
    const ordered = column.map((task) => [wish(task), task]).sort((a, b) => a[0] - b[0] || a[1].id - b[1].id);
    for (const [row, task] of [...ordered.filter(([row]) => row >= 0), ...ordered.filter(([row]) => row < 0)]) {
      let free = Math.max(0, Math.round(row));
      while (taken.has(free)) free += 1;
      taken.add(free);
      places.set(task.id, { layer, row: free });
      rows = Math.max(rows, free + 1);
    }
  });
  return { places, layers: Math.max(1, columns.length), rows };
}

// The tasks on all ways to a task and from it.
export function related(tasks, id) {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const after = new Map();
  for (const task of tasks) for (const one of task.blockedBy) after.set(one, [...(after.get(one) || []), task.id]);
  const found = new Set([id]);
  const walk = (one, next) => { for (const other of next(one)) if (!found.has(other)) { found.add(other); walk(other, next); } };
  walk(id, (one) => byId.get(one)?.blockedBy || []);
  walk(id, (one) => after.get(one) || []);
  return found;
}

// How long the owner of a task has had it, or had it.
export function secondsOf(task, now) {
  return task.began ? Math.max(0, (task.ended || now) - task.began) : 0;
}

function longestChain(tasks, weigh) {
  const best = new Map();
  const chain = (id) => {
    if (best.has(id)) return best.get(id);
    best.set(id, { ids: [id], weight: weigh(tasks.get(id)) });
    let longest = { ids: [], weight: 0 };
    for (const one of tasks.get(id).blockedBy) {
      if (!tasks.has(one)) continue;
      const found = chain(one);
      if (found.weight > longest.weight) longest = found;
    }
    best.set(id, { ids: [...longest.ids, id], weight: longest.weight + weigh(tasks.get(id)) });
    return best.get(id);
  };
  return [...tasks.keys()].map(chain).reduce((a, b) => (b.weight > a.weight ? b : a), { ids: [], weight: 0 });
}

// The critical path. While tasks are open, the longest chain of them: the team needs at least that many tasks one after
// the other. Of a finished board, the chain that took longest, and its seconds.
export function criticalPath(tasks) {
  const known = tasks.filter((task) => task.state !== "dropped"), open = known.filter((task) => task.column !== "done");
  const byId = (some) => new Map(some.map((task) => [task.id, task]));
  if (open.length) return { ids: longestChain(byId(open), () => 1).ids, seconds: null };
  const { ids, weight } = longestChain(byId(known), (task) => secondsOf(task, task.began));
  return { ids, seconds: weight };
}
