// Converts charts (`chart.py`) to options of ECharts.
"use strict";

const INK = "--ink", GRID = "--grid", PAGE = "--page";
const INCH = 96, WIDTH_INCHES = 7.6;
const LEGEND = 30, TITLE = 22, BELOW = 42, LABELS = 28, ASIDE = 64, BESIDE = 18;
// Maximum widths of names in pixels, along an axis and in a legend.
const NAME_ACROSS = 100, NAME_IN_LEGEND = 260, SIGN = 42;
const NAMES_APART = 8, LEAST_NAME = 60;
const STRONGEST = 0.55, NARROWEST_LETTER = 6.5, FONT_SIZE = 12, LINE = 14;
// Maximum number of rows of a legend without paging.
const MOST_ROWS = 8;

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// A canvas inherits no font, and quotes would end an attribute of an SVG.
const font = () => getComputedStyle(document.body).fontFamily.replaceAll('"', "");
const pencil = document.createElement("canvas").getContext("2d");
const widest = (texts) => {
  pencil.font = `${FONT_SIZE}px ${font()}`;
  return Math.max(0, ...texts.map((text) => pencil.measureText(text).width));
};
const colourOf = (mark) => mark.colour.startsWith("--") ? variable(mark.colour) : mark.colour;

// Formats numbers like `text.py`.
const rounded = { maximumFractionDigits: 0, roundingMode: "halfEven" };
const whole = new Intl.NumberFormat("en", rounded), ungrouped = new Intl.NumberFormat("en", { ...rounded, useGrouping: false });
const plain = (value) => whole.format(value);
const digits = (value) => value >= 99.95 ? plain(value) : value.toFixed(value >= 9.995 ? 1 : 2);
const number = (value) => String(Number(value.toPrecision(4)));
const significant = (value) => value > 0 && value < 0.995 ? value.toPrecision(3) : digits(value);
const small = (value) => value > 0 && value < 0.995 ? significant(value) : ungrouped.format(value);
const scaled = (value, units) => {
  const [unit, scale] = units.find(([, scale]) => value >= scale * 0.9995) ?? units.find(([, scale]) => scale === 1) ?? ["", 1];
  return scale === 1 ? `${small(value)}${unit}` : `${digits(value / scale)}${unit}`;
};
const steps = (units, step) => units.map((unit, at) => [` ${unit}`, step ** at]).reverse();
const BYTES = steps(["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024), DECIMAL = steps(["B", "kB", "MB", "GB", "TB", "PB"], 1000);
const duration = (value) =>
  value >= 7200e9 * 0.9995 ? `${digits(value / 3600e9)} h`
    : value >= 120e9 * 0.9995 ? `${digits(value / 60e9)} min`
    : scaled(value, [[" s", 1e9], [" ms", 1e6], [" µs", 1e3], [" ns", 1]]);
const FORMS = {
  "number": number,
  "count": plain,
  "short count": (value) => value > 0.995 && value < 999.5 && !Number.isInteger(value)
    ? digits(value) : scaled(value, [[" G", 1e9], [" M", 1e6], [" k", 1e3]]),
  "duration": duration,
  "size": (value) => scaled(value, BYTES),
  "decimal size": (value) => scaled(value, DECIMAL),
  "bandwidth": (value) => `${scaled(value, DECIMAL)}/s`,
  "ratio": (value) => value.toFixed(3),
  "percent": (value) => `${(100 * value).toFixed(2)} %`,
  "significant": significant,
};
const written = (form) => (value) => value < 0 ? `-${FORMS[form](-value)}` : FORMS[form](value);
// Formats numbers without trailing zeros of a fraction.
const onAxis = (of) => (value) => written(of.form)(value).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");

const baseOf = (of) => of.form === "size" ? 2 : 10;
const isRound = (value, of) => value !== null &&
  (of.log ? Number.isInteger(Math.log(value) / Math.log(baseOf(of))) : value % 10 === 0);
// Ticks of a logarithmic axis of sizes; by default ECharts uses powers of a thousand.
const POWERS_OF_FOUR = Array.from({ length: 30 }, (_, at) => 4 ** at);
const isBackwards = (of) => of.low !== null && of.high !== null && of.low > of.high;

// Shortens each line of a long name in the middle; tooltips show the whole name.
const shortened = (name, longest) => name.split("\n").map((line) => {
  const letters = [...line];
  let [text, kept] = [line, letters.length];
  while (kept > 2 && widest([text]) > longest) {
    kept--;
    text = [...letters.slice(0, Math.ceil(kept / 2)), "…", ...letters.slice(letters.length - Math.floor(kept / 2))].join("");
  }
  return text;
}).join("\n");

// Breaks a title that is too long for its axis near its middle.
const inLines = (title, longest) => {
  if (widest([title]) <= longest) return title;
  const blanks = [...title.matchAll(/ /g)].map(({ index }) => index);
  const at = blanks.sort((a, b) => Math.abs(a - title.length / 2) - Math.abs(b - title.length / 2))[0];
  return shortened(at === undefined ? title : `${title.slice(0, at)}\n${title.slice(at + 1)}`, longest);
};
const moreLines = (title, longest) => LINE * (inLines(title, longest).split("\n").length - 1);

// Width of the labels of a vertical axis. The widest label may lie inside the range: 100 µs between 5 µs and 20 ms.
const labelsOf = (of, marks) => {
  const values = marks.flatMap((mark) => [mark.y, mark.heights, mark.low, mark.high].flatMap((numbers) => numbers ?? []))
    .concat([of.low, of.high]).filter((value) => Number.isFinite(value) && !(of.log && value <= 0));
  if (!values.length) return 0;
  const [low, high] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity]);
  const power = (value) => Math.log(value) / Math.log(baseOf(of)), first = Math.floor(power(low));
  const labelled = of.log
    ? Array.from({ length: Math.ceil(power(high)) - first + 1 }, (_, at) => baseOf(of) ** (first + at))
    : [0, 1, 2, 3, 4, 5].map((fifth) => Number((low + (high - low) * fifth / 5).toPrecision(2)));
  return widest(labelled.map(onAxis(of)));
};
// ECharts puts labels 8 pixels from an axis and keeps titles 12 pixels from labels.
const gapOf = (of, marks) => Math.max(50, labelsOf(of, marks) + 20);

function axis(of, grid, side, end, { room, lines, longest, gap = 50 }) {
  const low = of.log && of.low <= 0 ? null : of.low;
  const [min, max] = isBackwards(of) ? [of.high, of.low] : [low, of.high];
  const isRows = isBackwards(of), across = side === "bottom";
  const values = of.ticks.length ? of.ticks.map(([value]) => value) : of.log && of.form === "size" ? POWERS_OF_FOUR : [];
  const name = (value) => of.ticks.reduce((best, tick) =>
    Math.abs(tick[0] - value) < Math.abs(best[0] - value) ? tick : best)[1];
  // ECharts drops overlapping names, so each name is cut before the next name if there is room.
  const apart = longest / of.ticks.length - NAMES_APART;
  const longestName = isRows ? room - 14 - (of.title ? BESIDE : 0) : apart < LEAST_NAME ? NAME_ACROSS : apart;
  return {
    type: of.log ? "log" : "value", logBase: baseOf(of), scale: true, gridIndex: grid, position: side, inverse: isRows,
    min: min ?? (across ? "dataMin" : undefined), max: max ?? (across ? "dataMax" : undefined),
    minInterval: of.whole ? 1 : 0,
    name: end ? inLines(of.title, longest) : "", nameLocation: "middle", nameGap: across ? 28 : gap,
    nameTextStyle: { color: variable(INK), lineHeight: LINE },
    axisLine: { show: across, onZero: false, lineStyle: { color: variable(INK) } },
    axisTick: { show: across, customValues: values.length ? values : undefined },
    axisLabel: {
      show: end, color: variable(INK), hideOverlap: true,
      formatter: of.ticks.length ? (value) => shortened(name(value), longestName) : onAxis(of),
      customValues: values.length ? values : undefined, lineHeight: 14,
      // The margin is wider than a blank, to separate names that contain blanks, such as 50 %.
      textMargin: [0, 4],
      // The ends of the data range get no label unless they are round numbers.
      showMinLabel: values.length > 0 || isRound(min, of), showMaxLabel: values.length > 0 || isRound(max, of),
    },
    splitLine: { show: lines ?? (!isRows && side !== "right"), lineStyle: { color: variable(GRID) } },
  };
}

const rectangle = (color, place) => (params, api) => {
  const [x, y, toX, toY] = place(params.dataIndex);
  const [left, top] = api.coord([x, y]), [right, bottom] = api.coord([toX, toY]);
  const shape = echarts.graphic.clipRectByRect(
    { x: Math.min(left, right), y: Math.min(top, bottom), width: Math.max(Math.abs(right - left), 0.5),
      height: Math.abs(bottom - top) },
    params.coordSys);
  return shape && { type: "rect", shape, style: { fill: color } };
};

// Paints the cells of a heat map on a canvas, because there are tens of thousands of them.
const painted = (mark, color) => (params, api) => {
  const { x, y, width, height } = params.coordSys, fine = 2;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, width * fine), Math.max(1, height * fine)];
  const context = canvas.getContext("2d");
  context.fillStyle = color;
  const strength = (value) => mark.log ? Math.log1p(value) / Math.log1p(mark.most) : value / mark.most;
  mark.values.forEach((cells, row) => {
    const top = Math.round((api.coord([0, row - 0.5])[1] - y) * fine);
    const bottom = Math.round((api.coord([0, row + 0.5])[1] - y) * fine);
    cells.forEach((value, cell) => {
      const left = Math.round((api.coord([mark.edges[cell], 0])[0] - x) * fine);
      const right = Math.round((api.coord([mark.edges[cell + 1], 0])[0] - x) * fine);
      if (right < 0 || left > canvas.width) return;
      context.globalAlpha = strength(value);
      context.fillRect(left, Math.min(top, bottom), right - left, Math.abs(bottom - top));
    });
  });
  return { type: "image", silent: true, style: { image: canvas, x, y, width, height } };
};

const points = (x, y) => x.map((value, at) => [value, y[at]]);

// Returns begin and length of each share of a part in its row.
function shares(panel, mark) {
  const before = panel.marks.slice(0, panel.marks.indexOf(mark)).filter(({ kind }) => kind === "Share");
  return mark.lengths.map((length, row) => [before.reduce((sum, { lengths }) => sum + lengths[row], 0), length]);
}

// Returns bottom and top of an area. On a logarithmic axis, zero is drawn at the bottom.
function heights(panel, mark) {
  const before = mark.stacked ? panel.marks.slice(0, panel.marks.indexOf(mark)).filter(({ stacked }) => stacked) : [];
  const least = panel.y.log ? panel.y.low ?? lowest(panel) : -Infinity;
  return mark.heights.map((height, at) => {
    const below = before.reduce((sum, { heights }) => sum + heights[at], 0);
    return [below, height === null ? null : Math.max(below + height, least)];
  });
}

const lowest = (panel) => Math.min(...panel.marks.flatMap((mark) => mark.heights ?? mark.y ?? [])
  .filter((value) => value !== null && value > 0));

const polygon = (corners, style) => (params, api) => params.dataIndex > 0 ? undefined : {
  type: "polygon", silent: true, style, shape: { points: corners.map((corner) => api.coord(corner)) },
};

const stroke = (color, ends) => (params, api) => {
  const [from, to] = ends(params.dataIndex).map((end) => api.coord(end));
  const across = Math.abs(to[0] - from[0]) > Math.abs(to[1] - from[1]) ? [0, 3] : [3, 0];
  const line = ([x1, y1], [x2, y2]) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 1 } });
  const cap = ([x, y]) => line([x - across[0], y - across[1]], [x + across[0], y + across[1]]);
  return { type: "group", children: [line(from, to), cap(from), cap(to)] };
};

// Draws a cell of a table; text that is too wide is shown only in the tooltip.
const cell = (mark, row, column, ink) => (params, api) => {
  const strength = mark.strengths[row][column], text = mark.texts[row][column];
  const [left, top] = api.coord([column - 0.5, row - 0.5]), [right, bottom] = api.coord([column + 0.5, row + 0.5]);
  const [x, y] = [Math.min(left, right), Math.min(top, bottom)], [width, height] = [Math.abs(right - left), Math.abs(bottom - top)];
  const fill = colourOf({ colour: strength < 0 ? mark.below : mark.colour });
  const label = { type: "text", silent: true, style:
    { text, x: x + width / 2, y: y + height / 2, align: "center", verticalAlign: "middle", fill: ink, fontSize: 11 } };
  const back = { type: "rect", shape: { x, y, width, height }, style: { fill, opacity: STRONGEST * Math.abs(strength ?? 0) } };
  return { type: "group", children: text.length * NARROWEST_LETTER < width ? [back, label] : [back] };
};

function series(panel, mark, at, right, chosen) {
  const color = colourOf(mark);
  const common = { name: mark.name, color, xAxisIndex: at, yAxisIndex: mark.right ? right : at, animation: false };
  const line = { ...common, type: "line", symbol: "none", emphasis: { disabled: true } };
  const custom = { ...common, type: "custom", clip: true, encode: { x: -1, y: -1 } };
  switch (mark.kind) {
    case "Line": {
      const isAlone = mark.y.filter((value) => value !== null).length === 1;
      return { ...line, data: points(mark.x, mark.y), symbol: isAlone || mark.dots ? "circle" : "none", symbolSize: 4.5,
        step: mark.step ? "end" : false, itemStyle: { color },
        lineStyle: { width: mark.width, opacity: mark.opacity, type: mark.dash } };
    }
    case "Points":
      return { ...common, type: "scatter", data: points(mark.x, mark.y), symbolSize: 1.6 * mark.size };
    case "Band":
      return { ...custom, data: mark.x.map((x, at) => [x, mark.low[at], mark.high[at]]), encode: { x: 0, y: [1, 2] },
        tooltip: { show: false }, renderItem: polygon(
          [...points(mark.x, mark.low), ...points(mark.x, mark.high).reverse()], { fill: color, opacity: 0.2 }) };
    case "Whiskers": {
      const place = (at, value) => mark.along ? [value, mark.at[at]] : [mark.at[at], value];
      return { ...custom, data: mark.at.map((where, at) => [where, mark.low[at], mark.high[at]]),
        encode: mark.along ? { x: [1, 2], y: -1 } : { x: 0, y: [1, 2] },
        renderItem: stroke(color, (at) => [place(at, mark.low[at]), place(at, mark.high[at])]) };
    }
    case "Area": {
      const ends = heights(panel, mark), tops = ends.map(([, top]) => top), below = ends.map(([foot]) => foot);
      const stairs = (of) => mark.edges.flatMap((edge, at) =>
        [...at ? [[edge, of[at - 1]]] : [], ...at < of.length ? [[edge, of[at]]] : []]);
      const drawn = { ...line, data: points(mark.edges, [...tops, tops.at(-1)]), step: "end", z: 1,
        lineStyle: { width: mark.outlined ? 1.2 : 0 } };
      return mark.stacked ? { ...custom, z: 1, data: mark.heights.map((height, at) => [mark.edges[at], tops[at], height]),
        encode: { x: 0, y: 1 }, renderItem: polygon([...stairs(tops), ...stairs(below).reverse()], { fill: color, opacity: mark.opacity }) }
        : { ...drawn, areaStyle: { opacity: mark.opacity, origin: "start" } };
    }
    case "Level": {
      const ends = [[panel.x.low ?? 0, mark.height], [panel.x.high ?? 0, mark.height]];
      return { ...line, data: mark.upright ? [] : ends, lineStyle: { width: 1.2, type: mark.dash },
        markLine: mark.upright ? {
          silent: true, symbol: "none", label: { show: false }, data: [{ xAxis: mark.height }],
          lineStyle: { color, width: 1.2, type: mark.dash },
        } : undefined };
    }
    case "Columns": {
      const inset = (at) => 0.05 * (mark.edges[at + 1] - mark.edges[at]);
      return { ...custom, data: mark.heights.map((height, at) => [mark.edges[at], mark.edges[at + 1], height]),
        encode: { x: [0, 1], y: 2 }, renderItem: rectangle(color, (at) =>
          [mark.edges[at] + inset(at), 0, mark.edges[at + 1] - inset(at), mark.heights[at]]) };
    }
    case "Bars":
      return { ...custom, data: mark.lengths.map((length, at) => [length, mark.rows[at]]), encode: { x: 0, y: -1 },
        renderItem: rectangle(color, (at) =>
          [0, mark.rows[at] - mark.thickness / 2, mark.lengths[at], mark.rows[at] + mark.thickness / 2]) };
    case "Share": {
      const parts = shares(panel, mark);
      return { ...custom, data: parts, renderItem: rectangle(color, (row) =>
        [parts[row][0], row - 0.3, parts[row][0] + parts[row][1], row + 0.3]) };
    }
    case "Spans":
      return { ...custom, data: mark.begin.map((begin, at) => [begin, mark.end[at], mark.rows[at]]),
        renderItem: told(mark, chosen, rectangle(color, (at) =>
          [mark.begin[at], mark.rows[at] - mark.heights[at] / 2, mark.end[at], mark.rows[at] + mark.heights[at] / 2])) };
    case "Heat":
      return { ...custom, data: [[0]], clip: false, renderItem: painted(mark, color) };
    case "Cells": {
      const cells = mark.texts.flatMap((texts, row) => texts.map((text, column) => [column, row, text]));
      return { ...custom, data: cells, renderItem: (params, api) =>
        cell(mark, cells[params.dataIndex][1], cells[params.dataIndex][0], variable(INK))(params, api) };
    }
  }
}

// Draws bars with hatching and outlines; bars of requests other than the chosen request are pale.
const told = (mark, chosen, render) => (params, api) => {
  const item = render(params, api);
  if (item && mark.hatched) {
    item.style.decal = { symbol: "rect", color: variable(INK), dashArrayX: [1, 0], dashArrayY: [1, 4], rotation: -Math.PI / 4 };
  }
  if (item) Object.assign(item.style, { stroke: variable(PAGE), lineWidth: item.shape.width > 3 ? 0.6 : 0 });
  if (item && chosen && mark.requests[params.dataIndex] !== chosen) item.style.opacity = 0.2;
  return item;
};

const escaped = (text) => text.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`);

// Returns the name of a row, or of a position along an axis.
const nameOf = (axis, at) => (axis.ticks[Math.round(at)]?.[1] ?? "").replace("\n", ", ");

// Returns the name of a mark, with the meaning of its hatching and dashes.
const fullName = (chart, { name, hatched, dash }) =>
  [name, hatched && chart.hatching, dash === "dashed" && chart.dashes].filter(Boolean).join(", ");

function tip(chart, marks) {
  const inRow = (panel, at, name) => [nameOf(panel.y, at), name].filter((one, at, all) => one && all.indexOf(one) === at).join(", ");
  const values = (panel, mark, at, value) => {
    const y = written((mark.right ? panel.right : panel.y).form), x = written(panel.x.form);
    const [name, ranged] = mark.along ? [inRow(panel, value[0], mark.name), x] : [mark.name, y];
    switch (mark.kind) {
      case "Columns": return `${x(Math.ceil(value[0]))}${value[1] - value[0] > 1 ? ` – ${x(Math.floor(value[1]))}` : ""}: ${y(value[2])}`;
      case "Bars": return `${inRow(panel, value[1], mark.name)}: ${x(value[0])}`;
      case "Whiskers": return `${name}${name && ", "}range: ${ranged(value[1])} – ${ranged(value[2])}`;
      case "Points": return `${mark.name}${mark.name && ": "}${panel.x.ticks.length ? "" : `${x(value[0])}, `}${y(value[1])}${mark.notes.length ? `, ${mark.notes[at]}` : ""}`;
      case "Cells": return `${nameOf(panel.y, value[1])}, ${nameOf(panel.x, value[0])}: ${value[2]}`;
      case "Share": return `${nameOf(panel.y, at)}, ${mark.name}: ${number(value[1])} %`;
      case "Spans": return `${nameOf(panel.y, value[2])}, ${fullName(chart, mark)}: ` +
        `${number(value[0])} – ${number(value[1])}` + (mark.requests?.[at] ? `, request ${plain(mark.requests[at])}` : "") +
        (mark.causes.length ? `, ${mark.causes[at]}` : "");
      case "Area": return `${mark.name}${mark.name && ": "}${y(mark.heights[Math.min(at, mark.heights.length - 1)])}`;
      default: return `${fullName(chart, mark)}${mark.name && ": "}${y(value[1])}`;
    }
  };
  return (under) => {
    const all = (Array.isArray(under) ? under : [under]).filter(({ seriesIndex, value }) =>
      value && marks[seriesIndex] && value[1] !== null && value[1] !== undefined && marks[seriesIndex].mark.kind !== "Band");
    const lines = all.map(({ seriesIndex, dataIndex, value }) =>
      escaped(values(marks[seriesIndex].panel, marks[seriesIndex].mark, dataIndex, value)));
    if (!Array.isArray(under) || !all.length) return lines.join("<br>");
    const { panel } = marks[all[0].seriesIndex];
    const { ticks } = panel.x, named = ticks.find(([value]) => value === under[0].axisValue)?.[1] ?? "";
    const name = ticks.length ? escaped(named) : `${escaped(panel.x.title)}: ${written(panel.x.form)(under[0].axisValue)}`;
    return [name, ...lines].filter(Boolean).join("<br>");
  };
}

const namesOf = ({ panels }) => [...new Set(panels.flatMap(({ marks }) => marks.map(({ name }) => name)).filter(Boolean))];

const inLegend = (name, width) => shortened(name, Math.min(NAME_IN_LEGEND, width - 2 * SIGN));

// Returns the number of rows of a chart's legend.
const legendRows = (chart, width) => {
  let [rows, x] = [1, 0];
  for (const name of namesOf(chart)) {
    const wide = SIGN + widest([inLegend(name, width)]);
    [rows, x] = x > 0 && x + wide > width ? [rows + 1, wide] : [rows, x + wide];
  }
  return rows;
};

// Returns the height of a chart's legend beyond its first row.
const beyondLegend = (chart, width) => {
  const rows = legendRows(chart, width);
  return rows > MOST_ROWS ? 0 : (rows - 1) * (LEGEND - 6);
};

function option(chart, height, width) {
  const { panels } = chart, ink = variable(INK);
  const marks = panels.flatMap((panel, at) => panel.marks.map((mark) => ({ panel, mark, at })));
  const names = namesOf(chart);
  const above = (names.length ? LEGEND : 8) + beyondLegend(chart, width);
  const lefts = panels.map((panel) => leftOf(panel, width));
  // A horizontal axis that panels share is below the last panel.
  const between = (panel) => chart.shared ? 10 : panel.x.title ? BELOW : LABELS;
  const feet = panels.slice(0, -1).reduce((sum, panel) => sum + between(panel), 0) + (chart.shared ? BELOW : between(panels.at(-1)) + 4);
  const acrossOf = (at) => width - (chart.shared ? Math.max(...lefts) : lefts[at]);
  const more = (panel, at) => moreLines(panel.x.title, acrossOf(at));
  const room = height - above - feet - panels.reduce((sum, panel, at) => sum + more(panel, at), 0) - panels.reduce((sum, { title, note }) => sum + (title || note ? TITLE : 0), 0);
  const whole = panels.reduce((sum, panel) => sum + panel.height, 0);
  // Aligned panels need explicit room for half of the last name along the axis.
  const isAligned = chart.shared && panels.length > 1;
  const last = isAligned ? panels.at(-1).x.ticks.flatMap(([, name]) => name.split("\n")) : [];
  const aside = Math.max(16, widest(last) / 2);
  let top = above;
  const grids = panels.map((panel, at) => {
    top += (panel.title || panel.note ? TITLE : 0) + (at ? between(panels[at - 1]) + more(panels[at - 1], at - 1) : 0);
    const tall = room * panel.height / whole;
    const left = (chart.shared ? Math.max(...lefts) : lefts[at]) + moreLines(panel.y.title, tall);
    const grid = { top, height: tall, left, right: panel.right ? ASIDE : aside,
      outerBoundsMode: isAligned ? "none" : "auto" };
    top += grid.height;
    return grid;
  });
  const right = panels.length;
  const tracks = marks.some(({ mark }) => mark.kind === "Line" || (mark.kind === "Area" && !mark.stacked));
  return {
    animation: false, textStyle: { color: ink, fontFamily: font(), fontSize: FONT_SIZE }, grid: grids,
    title: panels.map((panel, at) => ({
      text: panel.title || panel.note, top: grids[at].top - TITLE, left: grids[at].left - 4,
      textStyle: { color: ink, fontSize: FONT_SIZE, fontWeight: "normal" },
    })),
    legend: { show: names.length > 0, data: names.map((name) => entry(name, marks)), top: 0, type: legendRows(chart, width) > MOST_ROWS ? "scroll" : "plain", textStyle: { color: ink },
      formatter: (name) => inLegend(name, width),
      tooltip: { show: true, formatter: ({ name }) => inLegend(name, width) === name ? "" : escaped(name) } },
    xAxis: panels.map((panel, at) => axis(panel.x, at, "bottom", !chart.shared || at === panels.length - 1,
      { lines: panel.marks.some(({ kind }) => kind === "Cells") ? false : undefined, longest: width - grids[at].left })),
    yAxis: [
      ...panels.map((panel, at) => axis(panel.y, at, "left", true,
        { room: grids[at].left, longest: grids[at].height, gap: gapOf(panel.y, panel.marks.filter(({ right }) => !right)) })),
      ...panels.flatMap((panel, at) => panel.right ? [axis(panel.right, at, "right", true, { longest: grids[at].height })] : []),
    ],
    series: marks.map(({ panel, mark, at }, index) => ({
      ...series(panel, mark, at, right, chart.chosen),
      ...(index === marks.findIndex((one) => one.at === at) && panel.dividers.length ? { markLine: {
        silent: true, symbol: "none", label: { show: false }, lineStyle: { color: variable(GRID), type: "solid" },
        data: panel.dividers.map((yAxis) => ({ yAxis })),
      } } : {}),
    })).concat(linked(chart)),
    tooltip: {
      trigger: tracks ? "axis" : "item", confine: true, transitionDuration: 0, formatter: tip(chart, marks),
      backgroundColor: variable(PAGE), borderColor: variable(GRID), textStyle: { color: ink, fontSize: FONT_SIZE },
      extraCssText: `max-width: ${width}px; box-sizing: border-box; white-space: normal; overflow-wrap: anywhere`,
      axisPointer: { label: { show: false }, lineStyle: { color: variable(GRID) } },
    },
    dataZoom: (chart.shared ? [panels.map((_, at) => at)] : panels.map((_, at) => [at])).map((xAxisIndex) => ({
      type: "inside", xAxisIndex, filterMode: "none",
      zoomOnMouseWheel: "ctrl", moveOnMouseMove: "shift", moveOnMouseWheel: false, preventDefaultMouseMove: false,
    })),
    // The toolbox is invisible; it is needed only for its tool that selects a range by dragging.
    toolbox: { top: -100, feature: { dataZoom: { yAxisIndex: "none", filterMode: "none" } } },
  };
}

// The legend shows lines with their dashes.
const entry = (name, marks) =>
  marks.some(({ mark }) => mark.name === name && ["Line", "Level"].includes(mark.kind)) ? { name } : { name, icon: "roundRect" };

// Names beside rows take at most two fifths of the figure's width.
const leftOf = (panel, width) => {
  const lines = panel.y.ticks.flatMap(([, name]) => name.split("\n"));
  const title = panel.y.title && lines.length ? BESIDE : 0;
  if (lines.length) return Math.min(22 + title + widest(lines), 0.4 * width);
  return gapOf(panel.y, panel.marks.filter(({ right }) => !right)) + 14;
};
