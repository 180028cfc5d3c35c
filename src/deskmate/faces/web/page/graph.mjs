// The dependency graph of a board: where each task is drawn, and the critical path.

// A task is drawn one layer to the right of the last task that it waits for.
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
  const rows = new Map();
  const places = new Map();
  for (const task of tasks) {
    const layer = layerOf(task.id, new Set());
    const row = rows.get(layer) || 0;
    rows.set(layer, row + 1);
    places.set(task.id, { layer, row });
  }
  return { places, layers: Math.max(0, ...rows.keys()) + 1, rows: Math.max(1, ...rows.values()) };
}

// The longest chain of tasks that are not done: the team needs at least that many tasks one after the other.
export function criticalPath(tasks) {
  const open = new Map(tasks.filter((task) => task.column !== "done").map((task) => [task.id, task]));
  const best = new Map();
  const chain = (id) => {
    if (best.has(id)) return best.get(id);
    best.set(id, [id]);
    let longest = [];
    for (const one of open.get(id).blockedBy) {
      if (!open.has(one)) continue;
      const found = chain(one);
      if (found.length > longest.length) longest = found;
    }
    best.set(id, [...longest, id]);
    return best.get(id);
  };
  return [...open.keys()].map(chain).reduce((a, b) => (b.length > a.length ? b : a), []);
}
