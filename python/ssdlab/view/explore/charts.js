// Draws the charts of a page with the library ECharts, which the page contains in compressed form.
const FINE = 2;

const drawn = [];

class Drawn {
  /** Selected range of simulated time; null for the whole run. */
  static stretch = null;
  /** Names of series that the reader hid in a legend. */
  static hidden = new Set();

  constructor(element, chart) {
    [this.element, this.chart] = [element, chart];
    this.reading = document.createElement("output");
    this.size();
    this.plot = echarts.init(element, null, { renderer: "svg" });
    this.draw();
    this.plot.on("datazoom", () => this.tellOthers());
    this.plot.on("legendselectchanged", ({ name, selected }) => this.showEverywhere(name, selected[name]));
    this.plot.getZr().on("dblclick", () => this.showAll());
    this.plot.getZr().on("mousemove", ({ offsetX, offsetY }) => this.readHeat(offsetX, offsetY));
  }

  /** Sets the height of the figure, which depends on its width. */
  size() {
    const { element: { clientWidth: width, style }, chart } = this, narrow = Math.min(1, width / (WIDTH_INCHES * INCH));
    this.height = Math.max(chart.height * INCH * Math.max(narrow, 0.8), 150) + beyondLegend(chart, width);
    style.height = `${this.height}px`;
  }

  draw() {
    const drawing = option(this.chart, this.height, this.element.clientWidth);
    const kept = this.isOverTime ? [Drawn.stretch] : this.parts();
    drawing.legend.selected = Object.fromEntries([...Drawn.hidden].map((name) => [name, false]));
    this.plot.setOption(drawing, { notMerge: true });
    const cursor = { type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true };
    this.plot.dispatchAction(cursor);
    kept.forEach((range, at) => range && this.zoom(range, at));
  }

  get isOverTime() { return this.chart.panels[0].x.over_time; }

  /** Visible range of a horizontal axis of the chart. */
  range(at = 0) {
    const { startValue, endValue } = this.plot.getOption().dataZoom[at];
    return [startValue, endValue];
  }

  /** Visible ranges of all horizontal axes; null for an axis that is shown completely. Empty before the first drawing. */
  parts() {
    const zooms = this.plot.getOption()?.dataZoom ?? [];
    return zooms.map(({ start, end }, at) => start > 0 || end < 100 ? this.range(at) : null);
  }

  zoom([startValue, endValue], dataZoomIndex = 0) {
    const now = this.range(dataZoomIndex);
    if (now[0] === startValue && now[1] === endValue) return;
    this.plot.dispatchAction({ type: "dataZoom", dataZoomIndex, startValue, endValue });
  }

  showAll() {
    this.plot.getOption().dataZoom.forEach((_, dataZoomIndex) =>
      this.plot.dispatchAction({ type: "dataZoom", dataZoomIndex, start: 0, end: 100 }));
  }

  /** Applies the selected time range to all charts. */
  tellOthers() {
    if (!this.isOverTime || Drawn.telling) return;
    Drawn.telling = true;
    const { low, high } = this.chart.panels[0].x, [begin, end] = this.range();
    Drawn.stretch = begin <= low && end >= high ? null : [begin, end];
    for (const other of drawn) {
      if (other !== this && other.isOverTime) other.zoom([begin, end]);
      if (followers(other.chart).length) other.follow();
    }
    Drawn.telling = false;
  }

  /** Redraws percentile lines for the selected time range. */
  follow() {
    this.reading.textContent = follow(this.chart, Drawn.stretch);
    this.draw();
  }

  get names() { return new Set(this.chart.panels.flatMap(({ marks }) => marks.map(({ name }) => name))); }

  /** Shows or hides the series with the given name in all charts. */
  showEverywhere(name, isShown) {
    if (isShown) Drawn.hidden.delete(name);
    else Drawn.hidden.add(name);
    const type = isShown ? "legendSelect" : "legendUnSelect";
    for (const other of drawn) if (other !== this && other.names.has(name)) other.plot.dispatchAction({ type, name });
  }

  /** Shows the heat-map cell under the pointer, and its value. */
  readHeat(x, y) {
    const panel = this.chart.panels.findIndex((_, at) => this.plot.containPixel({ gridIndex: at }, [x, y]));
    const mark = this.chart.panels[panel]?.marks.find(({ kind }) => kind === "Heat");
    if (!mark) return;
    const [time, height] = this.plot.convertFromPixel({ gridIndex: panel }, [x, y]);
    const row = Math.round(height), cell = mark.edges.findIndex((edge) => edge > time) - 1;
    const value = mark.values[row]?.[cell];
    if (value !== undefined) {
      this.reading.textContent = `${mark.names[row]}, from ${number(mark.edges[cell])}: ${number(value)} ${mark.unit}`;
    }
  }

  /** True if the vertical axis of the chart can be logarithmic. */
  get canBeLogarithmic() {
    const [panel] = this.chart.panels;
    return this.chart.panels.length === 1 && !panel.y.ticks.length && panel.marks.every(({ kind, stacked }) =>
      !stacked && kind !== "Columns");
  }

  switchLogarithmic() {
    const { y } = this.chart.panels[0];
    y.log = !y.log;
    this.draw();
  }
}

function save(name, url) {
  const link = Object.assign(document.createElement("a"), { download: name, href: url });
  link.click();
}

/** Returns the figure as PNG at twice the resolution, on the background of the page. */
async function picture({ plot }) {
  const image = Object.assign(new Image(), { src: plot.getDataURL({ type: "svg" }) });
  await image.decode();
  const [width, height] = [plot.getWidth() * FINE, plot.getHeight() * FINE];
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  context.fillStyle = variable(PAGE);
  context.fillRect(0, 0, width, height);
  context.drawImage(image, 0, 0, width, height);
  return canvas.toDataURL("image/png");
}

function tools(one, number) {
  const row = document.createElement("div");
  row.className = "tools";
  row.append(one.reading);
  const add = (text, act) => button(row, text, act);
  add("Show all", () => one.showAll());
  if (one.canBeLogarithmic) add("Logarithmic", () => one.switchLogarithmic());
  add("Save CSV", () => save(`figure-${number}.csv`, URL.createObjectURL(new Blob([csv(one.chart)], { type: "text/csv" }))));
  add("Save PNG", async () => save(`figure-${number}.png`, await picture(one)));
  add("Save SVG", () => save(`figure-${number}.svg`, one.plot.getDataURL({ type: "svg" })));
  one.element.after(row);
  if (barsOf(one.chart).length) {
    one.requests = new Requests(one);
    row.after(one.requests.element);
  }
}

async function load() {
  const packed = document.getElementById("library").textContent.trim();
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
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
  const again = () => drawn.filter(({ element }) => element.clientWidth).forEach((one) => { one.size(); one.plot.resize(); one.draw(); });
  addEventListener("resize", again);
  addEventListener("beforeprint", again);
  // Charts that were folded during a resize have the old width.
  const unfolded = () => { if (drawn.some(({ element, plot }) => element.clientWidth && element.clientWidth !== plot.getWidth())) again(); };
  document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", unfolded));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
