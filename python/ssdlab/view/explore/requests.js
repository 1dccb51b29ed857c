// Shows the operations of a request that the reader picks in a Gantt chart, and what each operation waited for.
const SLOWEST = 8;
const HEADERS = ["operation", "lane", "start", "duration", "waited", "waited for"];

function button(row, textContent, act) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent });
  made.addEventListener("click", act);
  row.append(made);
  return made;
}

const barsOf = (chart) => chart.panels.flatMap(({ marks }) => marks.filter(({ requests }) => requests).flatMap((mark) =>
  mark.begin.map((begin, at) => ({
    begin, end: mark.end[at], ready: mark.ready[at], row: mark.rows[at], request: mark.requests[at],
    what: `${mark.name}, ${mark.causes[at]}`,
  }))));

class Requests {
  constructor(one) {
    this.one = one;
    this.element = Object.assign(document.createElement("div"), { className: "requests" });
    this.told = document.createElement("div");
    this.told.setAttribute("aria-live", "polite");
    this.picks = Object.assign(document.createElement("div"), { className: "tools" });
    this.element.append(this.picks, this.told);
    one.plot.on("click", ({ seriesIndex, dataIndex }) => {
      const mark = one.chart.panels.flatMap(({ marks }) => marks)[seriesIndex];
      if (mark?.requests?.[dataIndex]) this.pick(mark.requests[dataIndex]);
    });
    this.read();
    if (location.protocol === "http:" && one.chart.following) this.offerMore();
  }

  /** Lists the slowest requests in the chart. */
  read() {
    this.bars = barsOf(this.one.chart);
    const ends = new Map();
    for (const { request, begin, end } of this.bars.filter(({ request }) => request)) {
      const [first, last] = ends.get(request) ?? [begin, end];
      ends.set(request, [Math.min(first, begin), Math.max(last, end)]);
    }
    const slowest = [...ends].map(([request, [first, last]]) => [request, last - first])
      .sort(([one, took], [other, its]) => its - took || one - other).slice(0, SLOWEST);
    this.picks.replaceChildren(Object.assign(document.createElement("output"), {
      textContent: "Slowest requests in this chart, from first to last operation; or click a bar:" }));
    this.buttons = slowest.map(([request, took]) => {
      const act = () => this.pick(this.one.chart.chosen === request ? null : request);
      return [request, button(this.picks, `${plain(request)}: ${number(took)}`, act)];
    });
    this.pick(null);
  }

  /** Adds buttons for further operations, which `ssdlab view --serve` supplies. */
  offerMore() {
    const row = Object.assign(document.createElement("div"), { className: "tools" });
    const step = (name) => button(row, name, () => this.show(this.next[name]));
    const steps = [step("Earlier operations"), step("Later operations")];
    this.offer = (earlier, later) => {
      this.next = { "Earlier operations": earlier, "Later operations": later };
      steps.forEach((one) => { one.disabled = this.next[one.textContent] === null; });
    };
    this.offer(null, this.one.chart.following);
    this.element.prepend(row);
  }

  async show(first) {
    const silence = () => new Response("ssdlab view --serve is not running", { status: 503 });
    const answer = await fetch(`operations?first=${first}`).catch(silence);
    if (!answer.ok) {
      this.told.textContent = `These operations cannot be shown: ${await answer.text()}`;
      return;
    }
    const { charts: [chart], earlier, later } = await answer.json();
    // The newly loaded operations have another time range.
    this.one.showAll();
    this.one.chart = chart;
    this.read();
    this.offer(earlier, later);
  }

  /** Highlights the operations of a request; null clears the highlight. */
  pick(request) {
    this.one.chart.chosen = request;
    for (const [its, press] of this.buttons) press.setAttribute("aria-pressed", String(its === request));
    this.one.draw();
    this.told.replaceChildren(...request === null ? [] : [this.table(request)]);
  }

  /** Returns the operations that a bar waited for. Outside `complete`, the chart may lack some of these operations. */
  reasons(bar) {
    const [since, until] = this.one.chart.complete;
    const waits = bar.begin > bar.ready;
    const isFirst = !this.bars.some(({ row, begin }) => row === bar.row && begin >= since && begin <= bar.ready);
    const isAfter = (this.next?.["Earlier operations"] ?? null) !== null;
    const hidden = [
      ...waits && isFirst && isAfter ? ["perhaps earlier operations"] : [],
      ...waits && bar.begin > until ? ["perhaps later operations"] : [],
    ];
    const keptBusy = this.bars.filter(({ row, request, begin, end }) =>
      row === bar.row && request !== bar.request && end > bar.ready && begin < bar.begin);
    const named = keptBusy.map(({ request, what }) => request ? `request ${plain(request)} (${what})` : what);
    return [...hidden, ...named].join("; ") || "–";
  }

  /** Returns the table rows of the operations of a request. */
  rows(request) {
    const [panel] = this.one.chart.panels;
    return this.bars.filter((bar) => bar.request === request).sort((one, other) => one.begin - other.begin).map((bar) => [
      bar.what, panel.y.ticks[bar.row][1], number(bar.begin), number(bar.end - bar.begin),
      number(bar.begin - bar.ready), this.reasons(bar),
    ]);
  }

  table(request) {
    const scroll = Object.assign(document.createElement("div"), { className: "scroll", tabIndex: 0 });
    const table = document.createElement("table");
    table.createCaption().textContent = `Request ${plain(request)}, ${this.one.chart.panels[0].x.title}`;
    const head = table.createTHead().insertRow();
    for (const name of HEADERS) head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: name }));
    const body = table.createTBody();
    for (const row of this.rows(request)) {
      const line = body.insertRow();
      for (const text of row) line.insertCell().textContent = text;
    }
    scroll.append(table);
    return scroll;
  }
}

// Returns a line through the operations of the picked request.
function linked(chart) {
  if (!chart.chosen) return [];
  const bars = barsOf(chart).filter(({ request }) => request === chart.chosen).sort((one, other) => one.begin - other.begin);
  return [{
    type: "line", silent: true, animation: false, symbol: "none", z: 5, tooltip: { show: false },
    data: bars.flatMap(({ row, begin, end }) => [[begin, row], [end, row]]), lineStyle: { width: 1, color: variable(INK) },
  }];
}
