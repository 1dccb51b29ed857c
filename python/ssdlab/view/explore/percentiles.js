// Draws percentile lines for the requests that ended in a selected time range.

/** Returns the range of the intervals that overlap a time range. */
function reached(edges, [begin, end]) {
  const inside = edges.slice(1).flatMap((edge, at) => edges[at] < end && edge > begin ? [at] : []);
  return inside.length ? { from: inside[0], to: inside.at(-1) + 1 } : { from: 0, to: 0 };
}

/** Returns the percentile line of a time range, as `by_percentile` in `latency.py` does, and its number of requests. */
function ofStretch({ edges, first, longest, bucket, requests }, stretch) {
  const { from, to } = reached(edges, stretch);
  const counts = longest.map(() => 0);
  for (let at = first[from]; at < first[to]; at++) counts[bucket[at]] += requests[at];
  const total = counts.reduce((sum, count) => sum + count, 0);
  const used = counts.flatMap((count, at) => count ? [at] : []);
  let faster = 0;
  const x = used.map((at) => {
    const slower = (total - faster) / total;
    faster += counts[at];
    return -Math.log10(slower);
  });
  const y = used.map((at) => longest[at] || null);
  return total ? { x: [...x, -Math.log10(0.5 / total)], y: [...y, y.at(-1)], total } : { x: [], y: [], total };
}

const followers = (chart) => chart.panels.flatMap(({ marks }) => marks).filter(({ intervals }) => intervals);

/** Sets the lines for a time range, or for the whole run if it is null. Returns a description of their requests. */
function follow(chart, stretch) {
  const marks = followers(chart);
  const told = marks.map((mark) => {
    mark.whole ??= { x: mark.x, y: mark.y };
    const { x, y, total } = stretch ? ofStretch(mark.intervals, stretch) : mark.whole;
    Object.assign(mark, { x, y });
    return mark.dash === "solid" ? [`${plain(total ?? 0)} ${mark.name}s`] : [];
  });
  if (!stretch) return "";
  const { edges, unit } = marks[0].intervals, { from, to } = reached(edges, stretch);
  return `Requests that ended from ${number(edges[from])} to ${number(edges[to])} ${unit}: ${told.flat().join(", ")}`;
}
