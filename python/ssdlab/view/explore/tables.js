// Exports a chart as tables, one per mark, with units in the headings.
const UNITS = {
  "duration": "ns", "size": "bytes", "decimal size": "bytes", "bandwidth": "bytes/s", "percent": "1 is 100 %",
};

const headed = (of, otherwise) => {
  if (of.percentiles) return "percentile (%)";
  const title = of.title || otherwise, unit = UNITS[of.form];
  return unit ? `${title} (${unit})` : title;
};

// Converts a position on the axis to a percentile; the share beyond it has five digits.
const percentile = (at) => Number((100 - Number((100 * 10 ** -at).toPrecision(5))).toPrecision(12));

const arePlaces = ({ ticks }) => ticks.length > 0 && ticks.every(([value], at) => value === at);

/** Returns headings and values of the table columns of a mark. */
function columns(panel, mark) {
  const up = mark.right ? panel.right : panel.y;
  const x = headed(panel.x, panel.title || "x"), y = headed(up, panel.title || "y");
  const across = (values) =>
    panel.x.percentiles ? values.map(percentile) : arePlaces(panel.x) ? values.map((at) => nameOf(panel.x, at)) : values;
  const named = (rows) => [panel.y.title || "row", rows.map((row) => nameOf(panel.y, row))];
  const between = ({ edges }) => [[`${x}, from`, edges.slice(0, -1)], [`${x}, to`, edges.slice(1)]];
  switch (mark.kind) {
    case "Line": return [[x, across(mark.x)], [y, mark.y]];
    case "Points": return [[x, across(mark.x)], [y, mark.y], ...mark.notes.length ? [["note", mark.notes]] : []];
    case "Band": return [[x, across(mark.x)], [`${y}, low`, mark.low], [`${y}, high`, mark.high]];
    case "Whiskers": {
      const of = mark.along ? x : y;
      return [mark.along ? named(mark.at) : [x, across(mark.at)], [`${of}, low`, mark.low], [`${of}, high`, mark.high]];
    }
    case "Area": case "Columns": return [...between(mark), [y, mark.heights]];
    case "Level": return [[mark.upright ? x : y, [mark.height]]];
    case "Bars": return [named(mark.rows), [x, mark.lengths]];
    case "Share": return [named(mark.lengths.map((_, row) => row)), [x, mark.lengths]];
    case "Heat": return [...between(mark), ...mark.names.map((name, row) => [`${name} (${mark.unit})`, mark.values[row]])];
    case "Cells": return [named(mark.texts.map((_, row) => row)),
      ...mark.texts[0].map((_, column) => [nameOf(panel.x, column), mark.texts.map((texts) => texts[column])])];
    case "Spans": return [named(mark.rows), [`${x}, begin`, mark.begin], [`${x}, end`, mark.end],
      ["cause", mark.causes], ["request", mark.requests?.map((one) => one || "") ?? []], [`${x}, ready`, mark.ready ?? []]];
  }
}

const quoted = (cell) => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** Returns all tables of a chart as CSV, separated by blank lines. */
function csv(chart) {
  const written = (panel, mark) => {
    const table = columns(panel, mark);
    const lines = table[0][1].map((_, at) => ["", ...table.map(([, values]) => values[at] ?? "")]);
    const headings = [fullName(chart, mark) || panel.title, ...table.map(([heading]) => heading)];
    return [headings, ...lines].map((row) => row.map(quoted).join(",")).join("\n");
  };
  return chart.panels.flatMap((panel) => panel.marks.map((mark) => written(panel, mark))).join("\n\n");
}
