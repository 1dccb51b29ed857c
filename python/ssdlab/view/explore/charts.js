// Draws the charts of a page with ECharts, which the page carries packed. What a chart is, `chart.py` says.
"use strict";

const INK = "--ink", GRID = "--grid", PAGE = "--page";
const INCH = 96, WIDTH_INCHES = 7.6;
const LEGEND = 30, TITLE = 22, BELOW = 42, ASIDE = 64;

const drawn = [];

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Numbers as `text.py` writes them.
const digits = (value) => value >= 99.95 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 9.995 ? 1 : 2);
const number = (value) => String(Number(value.toPrecision(4)));
const scaled = (value, units) => {
  const [unit, scale] = units.find(([, scale]) => value >= scale * 0.9995) ?? ["", 1];
  return scale === 1 ? `${Math.round(value).toLocaleString("en")}${unit}` : `${digits(value / scale)}${unit}`;
};
const FORMS = {
  "number": number,
  "count": (value) => Math.round(value).toLocaleString("en"),
  "short count": (value) => scaled(value, [[" G", 1e9], [" M", 1e6], [" k", 1e3]]),
  "duration": (value) => scaled(value, [[" s", 1e9], [" ms", 1e6], [" µs", 1e3], [" ns", 1]]),
};
const onAxis = (of) => (value) => of.form === "duration" ? FORMS.duration(value).replace(/\.0+ /, " ") : FORMS[of.form](value);

const isRound = (value) => value !== null && value % 10 === 0;
const isBackwards = (of) => of.low !== null && of.high !== null && of.low > of.high;

function axis(of, grid, side, end) {
  const low = of.log && of.low <= 0 ? null : of.low;
  const [min, max] = isBackwards(of) ? [of.high, of.low] : [low, of.high];
  const isRows = isBackwards(of), across = side === "bottom";
  const values = of.ticks.map(([value]) => value);
  const name = (value) => of.ticks.reduce((best, tick) =>
    Math.abs(tick[0] - value) < Math.abs(best[0] - value) ? tick : best)[1];
  return {
    type: of.log ? "log" : "value", gridIndex: grid, position: side, inverse: isRows,
    min: min ?? (across ? "dataMin" : undefined), max: max ?? (across ? "dataMax" : undefined),
    minInterval: of.whole ? 1 : 0,
    name: end ? of.title : "", nameLocation: "middle", nameGap: across ? 28 : 50,
    nameTextStyle: { color: variable(INK) },
    axisLine: { show: across, onZero: false, lineStyle: { color: variable(INK) } },
    axisTick: { show: across, customValues: values.length ? values : undefined },
    axisLabel: {
      show: end, color: variable(INK), hideOverlap: true, formatter: values.length ? name : onAxis(of),
      customValues: values.length ? values : undefined, lineHeight: 14,
      // An end of data is no round number.
      showMinLabel: values.length > 0 || isRound(min), showMaxLabel: values.length > 0 || isRound(max),
    },
    splitLine: { show: !isRows && side !== "right", lineStyle: { color: variable(GRID) } },
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

// Cells are painted, as there are tens of thousands of them.
const painted = (mark, color) => (params, api) => {
  const { x, y, width, height } = params.coordSys, fine = 2;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, width * fine), Math.max(1, height * fine)];
  const context = canvas.getContext("2d");
  context.fillStyle = color;
  mark.percent.forEach((cells, row) => {
    const top = Math.round((api.coord([0, row - 0.5])[1] - y) * fine);
    const bottom = Math.round((api.coord([0, row + 0.5])[1] - y) * fine);
    cells.forEach((percent, cell) => {
      const left = Math.round((api.coord([mark.edges[cell], 0])[0] - x) * fine);
      const right = Math.round((api.coord([mark.edges[cell + 1], 0])[0] - x) * fine);
      if (right < 0 || left > canvas.width) return;
      context.globalAlpha = percent / 100;
      context.fillRect(left, top, right - left, bottom - top);
    });
  });
  return { type: "image", silent: true, style: { image: canvas, x, y, width, height } };
};

const points = (x, y) => x.map((value, at) => [value, y[at]]);

// Shares of a row begin where those before them end.
function shares(panel, mark) {
  const before = panel.marks.slice(0, panel.marks.indexOf(mark)).filter(({ kind }) => kind === "Share");
  return mark.lengths.map((length, row) => [before.reduce((sum, one) => sum + one.lengths[row], 0), length]);
}

function series(panel, mark, at, right) {
  const color = variable(mark.colour);
  const common = { name: mark.name, color, xAxisIndex: at, yAxisIndex: mark.right ? right : at, animation: false };
  const line = { ...common, type: "line", symbol: "none", emphasis: { disabled: true } };
  const custom = { ...common, type: "custom", clip: true, encode: { x: -1, y: -1 } };
  switch (mark.kind) {
    case "Line": {
      const isAlone = mark.y.filter((value) => value !== null).length === 1;
      return { ...line, data: points(mark.x, mark.y), symbol: isAlone ? "circle" : "none", step: mark.step ? "end" : false,
        lineStyle: { width: mark.width, opacity: mark.opacity, type: mark.dashed ? "dashed" : "solid" } };
    }
    case "Area":
      return { ...line, data: points(mark.edges, [...mark.heights, mark.heights.at(-1)]), step: "end", z: 1,
        lineStyle: { width: mark.outlined ? 1.2 : 0 }, areaStyle: { opacity: mark.opacity, origin: "start" } };
    case "Level":
      return { ...line, data: [[panel.x.low, mark.height], [panel.x.high, mark.height]],
        lineStyle: { width: 1.2, type: mark.dashed ? "dashed" : "solid" } };
    case "Columns": {
      const inset = (at) => 0.05 * (mark.edges[at + 1] - mark.edges[at]);
      return { ...custom, data: mark.heights.map((height, at) => [mark.edges[at], mark.edges[at + 1], height]),
        encode: { x: [0, 1], y: 2 }, renderItem: rectangle(color, (at) =>
          [mark.edges[at] + inset(at), 0, mark.edges[at + 1] - inset(at), mark.heights[at]]) };
    }
    case "Share": {
      const parts = shares(panel, mark);
      return { ...custom, data: parts, renderItem: rectangle(color, (row) =>
        [parts[row][0], row - 0.3, parts[row][0] + parts[row][1], row + 0.3]) };
    }
    case "Spans":
      return { ...custom, data: mark.begin.map((begin, at) => [begin, mark.end[at], mark.rows[at]]),
        renderItem: hatched(mark, rectangle(color, (at) =>
          [mark.begin[at], mark.rows[at] - mark.heights[at] / 2, mark.end[at], mark.rows[at] + mark.heights[at] / 2])) };
    case "Heat":
      return { ...custom, data: [[0]], clip: false, renderItem: painted(mark, color) };
  }
}

const hatched = (mark, render) => (params, api) => {
  const item = render(params, api);
  if (item && mark.hatched) {
    item.style.decal = { symbol: "rect", color: variable(INK), dashArrayX: [1, 0], dashArrayY: [1, 4], rotation: -Math.PI / 4 };
  }
  return item;
};

const escaped = (text) => text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`);

function tip(chart, marks) {
  const values = (panel, mark, at, value) => {
    const y = FORMS[(mark.right ? panel.right : panel.y).form], x = FORMS[panel.x.form];
    switch (mark.kind) {
      case "Columns": return `${x(Math.ceil(value[0]))}${value[1] - value[0] > 1 ? ` – ${x(Math.floor(value[1]))}` : ""}: ${y(value[2])}`;
      case "Share": return `${panel.y.ticks[at][1].replace("\n", ", ")}, ${mark.name}: ${number(value[1])} %`;
      case "Spans": return `${panel.y.ticks[value[2]][1]}, ${mark.name}${mark.hatched ? `, ${chart.hatching}` : ""}: ` +
        `${number(value[0])} – ${number(value[1])}`;
      default: return `${mark.name}${mark.name && ": "}${y(value[1])}`;
    }
  };
  return (found) => {
    const all = (Array.isArray(found) ? found : [found]).filter(({ value }) => value && value[1] !== null && value[1] !== undefined);
    const lines = all.map(({ seriesIndex, dataIndex, value }) =>
      escaped(values(marks[seriesIndex].panel, marks[seriesIndex].mark, dataIndex, value)));
    if (!Array.isArray(found) || !all.length) return lines.join("<br>");
    const { panel } = marks[all[0].seriesIndex];
    const name = panel.x.ticks.length ? "" : `${escaped(panel.x.title)}: ${FORMS[panel.x.form](found[0].axisValue)}`;
    return [name, ...lines].filter(Boolean).join("<br>");
  };
}

function option(chart, height) {
  const { panels } = chart, ink = variable(INK);
  const marks = panels.flatMap((panel, at) => panel.marks.map((mark) => ({ panel, mark, at })));
  const names = [...new Set(marks.map(({ mark }) => mark.name).filter(Boolean))];
  const above = names.length ? LEGEND : 8;
  const room = height - above - BELOW - panels.reduce((sum, { title, note }) => sum + (title || note ? TITLE : 0), 0);
  const whole = panels.reduce((sum, panel) => sum + panel.height, 0) ;
  let top = above;
  const grids = panels.map((panel, at) => {
    top += panel.title || panel.note ? TITLE : at ? 10 : 0;
    const grid = { top, height: (room - 10 * at) * panel.height / whole, left: leftOf(panel), right: panel.right ? ASIDE : 16 };
    top += grid.height;
    return grid;
  });
  const right = panels.length;
  const tracks = marks.some(({ mark }) => ["Line", "Area"].includes(mark.kind));
  return {
    animation: false, textStyle: { color: ink, fontFamily: "inherit" }, grid: grids,
    title: panels.map((panel, at) => ({
      text: panel.title || panel.note, top: grids[at].top - TITLE, left: grids[at].left - 4,
      textStyle: { color: ink, fontSize: 12, fontWeight: "normal" },
    })),
    legend: { show: names.length > 0, data: names.map((name) => entry(name, marks)), top: 0, type: "scroll", textStyle: { color: ink } },
    xAxis: panels.map((panel, at) => axis(panel.x, at, "bottom", at === panels.length - 1)),
    yAxis: [
      ...panels.map((panel, at) => axis(panel.y, at, "left", true)),
      ...panels.flatMap((panel, at) => panel.right ? [axis(panel.right, at, "right", true)] : []),
    ],
    series: marks.map(({ panel, mark, at }, index) => ({
      ...series(panel, mark, at, right),
      markLine: index === marks.findIndex((one) => one.at === at) && panel.dividers.length ? {
        silent: true, symbol: "none", label: { show: false }, lineStyle: { color: variable(GRID), type: "solid" },
        data: panel.dividers.map((yAxis) => ({ yAxis })),
      } : undefined,
    })),
    tooltip: {
      trigger: tracks ? "axis" : "item", confine: true, transitionDuration: 0, formatter: tip(chart, marks),
      backgroundColor: variable(PAGE), borderColor: variable(GRID), textStyle: { color: ink, fontSize: 12 },
      axisPointer: { label: { show: false }, lineStyle: { color: variable(GRID) } },
    },
    dataZoom: [{
      type: "inside", xAxisIndex: panels.map((_, at) => at), filterMode: "none",
      zoomOnMouseWheel: "ctrl", moveOnMouseMove: "shift", moveOnMouseWheel: false, preventDefaultMouseMove: false,
    }],
    // Only its tool to select a range is used, which a drag over the chart begins.
    toolbox: { top: -100, feature: { dataZoom: { yAxisIndex: "none", filterMode: "none" } } },
  };
}

// Lines are told by their dashes as well.
const entry = (name, marks) =>
  marks.some(({ mark }) => mark.name === name && ["Line", "Level"].includes(mark.kind)) ? { name } : { name, icon: "roundRect" };

const leftOf = (panel) => panel.y.ticks.length
  ? 14 + 7 * Math.max(...panel.y.ticks.flatMap(([, name]) => name.split("\n").map((line) => line.length)))
  : ASIDE;

class Drawn {
  constructor(element, chart) {
    [this.element, this.chart] = [element, chart];
    const narrow = Math.min(1, element.clientWidth / (WIDTH_INCHES * INCH));
    this.reading = document.createElement("output");
    this.height = Math.max(chart.height * INCH * Math.max(narrow, 0.8), 150);
    element.style.height = `${this.height}px`;
    this.plot = echarts.init(element, null, { renderer: "svg" });
    this.draw();
    this.plot.on("datazoom", () => this.tellOthers());
    this.plot.getZr().on("dblclick", () => this.showAll());
    this.plot.getZr().on("mousemove", ({ offsetX, offsetY }) => this.readHeat(offsetX, offsetY));
  }

  draw() {
    this.plot.setOption(option(this.chart, this.height), { notMerge: true });
    const cursor = { type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true };
    this.plot.dispatchAction(cursor);
  }

  get isOverTime() { return this.chart.panels[0].x.over_time; }

  /** Begin and end of what is shown of the axis across. */
  range() {
    const { startValue, endValue } = this.plot.getOption().dataZoom[0];
    return [startValue, endValue];
  }

  zoom([startValue, endValue]) {
    const now = this.range();
    if (now[0] === startValue && now[1] === endValue) return;
    this.plot.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue, endValue });
  }

  showAll() { this.plot.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start: 0, end: 100 }); }

  /** A stretch of time that is chosen in one chart is chosen in all. */
  tellOthers() {
    if (!this.isOverTime || Drawn.telling) return;
    Drawn.telling = true;
    for (const other of drawn) if (other !== this && other.isOverTime) other.zoom(this.range());
    Drawn.telling = false;
  }

  /** Says which cell of a heat map is under the pointer, and how strong it is. */
  readHeat(x, y) {
    const panel = this.chart.panels.findIndex((_, at) => this.plot.containPixel({ gridIndex: at }, [x, y]));
    const mark = this.chart.panels[panel]?.marks.find(({ kind }) => kind === "Heat");
    if (!mark) return;
    const [time, height] = this.plot.convertFromPixel({ gridIndex: panel }, [x, y]);
    const row = Math.round(height), cell = mark.edges.findIndex((edge) => edge > time) - 1;
    const percent = mark.percent[row]?.[cell];
    if (percent !== undefined) {
      this.reading.textContent = `${mark.row} ${row}, from ${number(mark.edges[cell])}: ${number(percent)} %`;
    }
  }

  get canBeLogarithmic() {
    return this.chart.panels.length === 1 && !this.chart.panels[0].y.ticks.length && this.chart.panels[0].x.form !== "count";
  }

  switchLogarithmic() {
    const { y } = this.chart.panels[0];
    y.log = !y.log;
    this.draw();
  }

  csv() {
    const rows = [];
    for (const { marks } of this.chart.panels) {
      for (const mark of marks) {
        const columns = Object.entries(mark).filter(([, value]) => Array.isArray(value));
        const longest = Math.max(...columns.map(([, column]) => column.length));
        rows.push([mark.name || mark.row || "", ...columns.map(([name]) => name)]);
        for (let at = 0; at < longest; at++) rows.push(["", ...columns.map(([, column]) => [column[at] ?? ""].flat().join(" "))]);
      }
    }
    return rows.map((row) => row.map((cell) => /[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell).join(",")).join("\n");
  }
}

function save(name, url) {
  const link = Object.assign(document.createElement("a"), { download: name, href: url });
  link.click();
}

function tools(one, number) {
  const row = document.createElement("div");
  row.className = "tools";
  row.append(one.reading);
  const add = (text, act) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    button.addEventListener("click", act);
    row.append(button);
  };
  add("Show all", () => one.showAll());
  if (one.canBeLogarithmic) add("Logarithmic", () => one.switchLogarithmic());
  add("Save CSV", () => save(`figure-${number}.csv`, URL.createObjectURL(new Blob([one.csv()], { type: "text/csv" }))));
  add("Save SVG", () => save(`figure-${number}.svg`, one.plot.getDataURL({ type: "svg" })));
  one.element.after(row);
}

async function load() {
  const packed = document.getElementById("library").textContent.trim();
  const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
}

const ready = (async () => {
  await load();
  const charts = JSON.parse(document.getElementById("charts").textContent);
  for (const element of document.querySelectorAll(".chart")) {
    const one = new Drawn(element, charts[Number(element.dataset.chart)]);
    drawn.push(one);
    tools(one, drawn.length);
  }
  const again = () => drawn.forEach((one) => { one.plot.resize(); one.draw(); });
  addEventListener("resize", again);
  addEventListener("beforeprint", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
