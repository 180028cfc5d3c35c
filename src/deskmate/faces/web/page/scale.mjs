// A line of time without long pauses. A pause in which nothing was recorded takes only the room of its mark.

// A gap is a pause if it is longer than this, and than this part of the time in which something happened.
const LEAST_SECONDS = 60, PORTION = 0.25;
// How much of the whole line the mark of a pause takes, and all marks together at most.
const MARK = 0.025, MARKS = 0.25;

// The pauses between times in order.
function pausesOf(times) {
  const gaps = times.slice(1).map((end, index) => ({ start: times[index], end }));
  const busy = gaps.reduce((sum, gap) => sum + Math.min(gap.end - gap.start, LEAST_SECONDS), 0);
  const most = Math.max(LEAST_SECONDS, PORTION * busy);
  return gaps.filter((gap) => gap.end - gap.start > most);
}

// `place` says where a time is on the line, from 0 to 1, and `at` which time is at a place.
export function scaleOf(times, begin, end) {
  const last = Math.max(end, begin + 1);
  const pauses = pausesOf([begin, ...times.filter((one) => one > begin && one < last), last]);
  const active = last - begin - pauses.reduce((sum, one) => sum + one.end - one.start, 0);
  const mark = pauses.length ? (active || 1) * Math.min(MARK, MARKS / pauses.length) : 0;
  // Parts of the line, each as long as its time or as a mark.
  const parts = [];
  let shown = 0, from = begin;
  const add = (start, stop, long) => { if (stop > start) { parts.push({ start, stop, shown, long }); shown += long; } };
  for (const pause of pauses) {
    add(from, pause.start, pause.start - from);
    add(pause.start, pause.end, mark);
    from = pause.end;
  }
  add(from, last, last - from);
  const whole = shown;
  const place = (at) => {
    if (at <= begin) return 0;
    const part = parts.find((one) => at <= one.stop);
    return part ? (part.shown + ((at - part.start) / (part.stop - part.start)) * part.long) / whole : 1;
  };
  const at = (share) => {
    const wanted = share * whole;
    const part = parts.find((one) => wanted <= one.shown + one.long) || parts.at(-1);
    return Math.min(part.stop, part.start + ((wanted - part.shown) / part.long) * (part.stop - part.start));
  };
  return { begin, end: last, active, pauses, place, at };
}
