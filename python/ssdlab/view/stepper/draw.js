// Draws blocks, map, RAM and counters of one lane of the stepper page.

const GROUPS = [
  ["data", "Data blocks"], ["sequential", "Sequential log"], ["log", "Log"], ["isolation", "Isolation area"],
  ["map", "Map pages"], ["free", "Erased"], ["bad", "Bad"],
];

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Draws a lane into `home`; calls `choose` with the logical page of a clicked cell. */
class Drawing {
  constructor(lane, home, choose) {
    this.lane = lane;
    this.said = element("div", { class: "said", "aria-live": "polite" });
    this.flash = element("div", { class: "flash", tabindex: "0", role: "region", "aria-label": `Flash of ${lane.recording.title}` });
    this.arrows = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.arrows.setAttribute("class", "arrows");
    this.arrows.setAttribute("aria-hidden", "true");
    this.groups = lane.isLog
      ? Object.fromEntries(GROUPS.map(([use, title]) => [use, this.group(title)]))
      : { all: this.group("Blocks") };
    this.flash.append(this.arrows);
    this.blocks = lane.recording.start.blocks.map((_, number) => this.block(number));
    this.flash.addEventListener("click", ({ target }) => {
      if (target.dataset.lpn !== undefined && target.dataset.lpn !== "") choose(Number(target.dataset.lpn));
    });
    this.counters = element("table", { class: "counters" });
    this.map = element("div", { class: "map", tabindex: "0", role: "region", "aria-label": `Map of ${lane.recording.title}` });
    this.ram = element("ol", { class: "ram" });
    const side = element("div", { class: "side" },
      element("section", {}, element("h3", {}, "Counted so far"), this.counters),
      element("section", {}, element("h3", {}, lane.isLog ? "Map: data blocks, and pages in the log" : "Map: location of each page"), this.map));
    if (lane.hasMap) {
      const isOrdered = lane.recording.drive.ftl.page.map.name === "dftl";
      side.append(element("section", {}, element("h3", {}, isOrdered ? "In RAM, next to be evicted first" : "In RAM"), this.ram));
    }
    home.replaceChildren(element("h2", {}, lane.recording.title), this.said, element("div", { class: "picture" }, this.flash, side));
    this.rows = this.mapRows();
    window.addEventListener("resize", () => this.draw(this.k ?? 0));
  }

  group(title) {
    const blocks = element("div", { class: "blocks" });
    this.flash.append(element("div", { class: "group" }, element("h3", {}, title), blocks));
    return blocks;
  }

  block(number) {
    const cells = Array.from({ length: this.lane.pagesPerBlock }, () => element("span", { class: "cell" }));
    const columns = Math.ceil(cells.length / 16);
    const grid = element("div", { class: "cells", style: `--rows:${Math.ceil(cells.length / columns)}` }, ...cells);
    const name = element("b");
    const [text, place] = [element("small"), element("small", { class: "place" })];
    const home = element("div", { class: "block", role: "img" }, element("div", { class: "head" }, name, text, place), grid);
    return { home, cells, name, text, place };
  }

  /** Draws the state after `k` steps and the effect of the last step. */
  draw(k) {
    this.k = k;
    const { lane } = this;
    const step = k > 0 ? lane.steps[k - 1] : null;
    const state = lane.at(k);
    this.say(k);
    this.drawBlocks(state, step);
    this.drawArrows(k);
    this.drawMap(state, step, k);
    this.drawCounters(k);
    if (lane.hasMap) this.drawRam(k);
  }

  say(k) {
    const { recording } = this.lane;
    const lines = this.lane.around(k - 1).map(({ span, summary }) => element("p", { class: `span ${span}` }, summary));
    lines.push(element("p", { class: "now" }, k === 0 ? "Before the first request." : recording.sentences[k - 1]));
    this.said.replaceChildren(...lines);
  }

  drawBlocks(state, step) {
    const { lane } = this;
    const touched = touchedBy(step);
    const erased = step?.step === "erase" ? step.block : -1;
    const sorted = Object.fromEntries(Object.keys(this.groups).map((use) => [use, []]));
    state.blocks.forEach((block, number) => {
      const { home, cells, name, text, place } = this.blocks[number];
      const label = blockName(lane, state, number);
      const what = blockText(lane, block);
      setText(name, label);
      setText(text, what);
      setText(place, lane.isLog ? `PBN ${number}` : `${block.erases} ${block.erases === 1 ? "erase" : "erases"}`);
      const stream = lane.isLog ? 0 : block.frontier;
      home.className = `block use-${block.use} stream-${stream}${number === erased ? " erased" : ""}`;
      // In SLC mode, a word line holds one page.
      const inUse = block.use === "slc" ? cells.length / lane.recording.drive.word_line : cells.length;
      cells.forEach((cell, offset) => { cell.hidden = offset >= inUse; });
      const parts = cells.slice(0, inUse).map((cell, offset) => this.drawCell(cell, state, number * lane.pagesPerBlock + offset, touched));
      home.setAttribute("aria-label", `${label}, ${what}, block ${number}: ${parts.join(", ")}`);
      sorted[lane.isLog ? block.use : "all"].push(number);
    });
    for (const [use, numbers] of Object.entries(sorted)) {
      const key = use === "data" ? "owner" : "since";
      if (lane.isLog) numbers.sort((a, b) => (state.blocks[a][key] ?? Infinity) - (state.blocks[b][key] ?? Infinity) || a - b);
      const wanted = numbers.map((number) => this.blocks[number].home);
      const home = this.groups[use];
      if (wanted.length !== home.children.length || wanted.some((block, place) => home.children[place] !== block)) {
        home.replaceChildren(...wanted);
      }
      home.parentElement.hidden = wanted.length === 0;
    }
  }

  drawCell(cell, state, ppn, touched) {
    const { lpn, second } = state.pages[ppn];
    const valid = isValid(state, ppn);
    const kind = lpn === null ? "free" : valid ? "valid" : "old";
    const shown = lpn === null ? "" : this.lane.isLog || lpn < this.lane.logicalPages ? `${lpn}` : `m${lpn - this.lane.logicalPages}`;
    setText(cell, shown);
    cell.className = `cell ${kind}${second && valid ? " second" : ""}${touched[ppn] ? ` ${touched[ppn]}` : ""}`;
    cell.dataset.lpn = lpn !== null && lpn < this.lane.logicalPages ? lpn : "";
    if (lpn === null) return "erased";
    return `${shown} ${valid ? "valid" : "outdated"}${second && valid ? " on its second chance" : ""}`;
  }

  drawArrows(k) {
    const step = k > 0 ? this.lane.steps[k - 1] : null;
    const inner = this.lane.around(k - 1).at(-1);
    const copies = this.lane.steps.slice(inner ? inner.from : k - 1, k).filter(({ step: kind }) => kind === "copy");
    const box = this.flash.getBoundingClientRect();
    const middle = (ppn) => {
      const { home, cells } = this.blocks[Math.floor(ppn / this.lane.pagesPerBlock)];
      if (!home.isConnected) return null;
      const { left, top, width, height } = cells[ppn % this.lane.pagesPerBlock].getBoundingClientRect();
      return { x: left + width / 2 - box.left + this.flash.scrollLeft, y: top + height / 2 - box.top + this.flash.scrollTop };
    };
    this.arrows.setAttribute("width", this.flash.scrollWidth);
    this.arrows.setAttribute("height", this.flash.scrollHeight);
    const drawn = copies.flatMap((copy) => {
      const [from, to] = [middle(copy.from), middle(copy.to)];
      return from && to ? [arrow(from, to, copy === step)] : [];
    });
    this.arrows.replaceChildren(...drawn);
  }

  /** Creates the rows of the map: a line for each logical block, or a cell for each page. */
  mapRows() {
    const { lane } = this;
    const blocks = Math.ceil(lane.logicalPages / lane.pagesPerBlock);
    const count = lane.isLog ? blocks : lane.recording.start.map.length;
    const rows = Array.from({ length: count }, () => element("div", { class: lane.isLog ? "row" : "entry" }));
    this.map.classList.toggle("entries", !lane.isLog);
    this.map.replaceChildren(...rows);
    return rows;
  }

  drawMap(state, step, k) {
    const { lane } = this;
    const changed = step && "lpn" in step && ["program", "copy", "trim"].includes(step.step) ? step.lpn : null;
    const inRam = new Map(lane.hasMap ? lane.ramAt(k).flatMap((entry) =>
      Array.from({ length: entry.count }, (_, page) => [entry.first + page, entry])) : []);
    this.rows.forEach((row, number) => {
      const mine = changed !== null && (lane.isLog ? Math.floor(changed / lane.pagesPerBlock) : changed) === number;
      row.classList.toggle("changed", mine);
      if (lane.isLog) setText(row, this.mapLine(state, number));
      else this.drawEntry(row, state, number, inRam.get(number));
      if (mine) reveal(this.map, row);
    });
  }

  mapLine(state, lbn) {
    const { lane } = this;
    const data = dataBlock(state, lbn);
    const pages = Array.from({ length: lane.pagesPerBlock }, (_, offset) => lbn * lane.pagesPerBlock + offset);
    const elsewhere = pages.filter((lpn) => {
      const ppn = state.map[lpn];
      return ppn !== null && ppn !== undefined && Math.floor(ppn / lane.pagesPerBlock) !== data;
    });
    const logged = elsewhere.map((lpn) => `${lpn}→${placeName(lane, state, state.map[lpn])}`).join(" ");
    return `LBN ${lbn} → ${data < 0 ? "no data block" : `PBN ${data}`}${logged ? `; ${logged}` : ""}`;
  }

  drawEntry(row, state, lpn, entry) {
    const { lane } = this;
    const ppn = state.map[lpn];
    const name = lpn < lane.logicalPages ? `${lpn}` : `m${lpn - lane.logicalPages}`;
    const mark = !lane.hasMap || lpn >= lane.logicalPages ? "" : entry ? (entry.dirty ? " ●*" : " ●") : " ○";
    setText(row, `${name}→${ppn === null ? "–" : placeName(lane, state, ppn)}${mark}`);
    row.classList.toggle("cached", entry !== undefined);
  }

  drawRam(k) {
    const entries = this.lane.ramAt(k);
    const before = k > 0 ? this.lane.ramAt(k - 1) : entries;
    const items = entries.map((entry) => {
      const pages = entry.count === 1 ? `${entry.first}` : `${entry.first}–${entry.first + entry.count - 1}`;
      const marks = `${entry.dirty ? " changed" : ""}${entry.protected ? " protected" : ""}`;
      const fresh = !before.some((old) => old.first === entry.first);
      return element("li", { class: fresh ? "fresh" : "" }, `${pages}${marks}`);
    });
    this.ram.replaceChildren(...(items.length ? items : [element("li", {}, "nothing")]));
  }

  drawCounters(k) {
    const { lane } = this;
    const { counts } = lane;
    const from = lane.requests.findLast((span) => span.from < k)?.from ?? 0;
    const line = (title, value) => element("tr", {}, element("th", { scope: "row" }, title),
      element("td", {}, value(from, k)), element("td", {}, value(0, k)));
    const count = (name) => (start, end) => `${counts[name][end] - counts[name][start]}`;
    const lines = [
      line("host pages written", count("host")), line("flash reads", count("reads")),
      line("flash programs", count("programs")), line("erases", count("erases")),
    ];
    if (lane.isLog) {
      for (const kind of ["switch", "partial", "full"]) lines.push(line(`${kind} merges`, count(kind)));
      if (counts.captured.at(-1) > 0) lines.push(line("pages captured", count("captured")));
    } else {
      lines.push(line("collections", count("collections")));
    }
    if (lane.hasMap) lines.push(line("map hits", count("hits")), line("map misses", count("misses")));
    lines.push(line("write amplification", (start, end) => {
      const host = counts.host[end] - counts.host[start];
      return host ? ((counts.programs[end] - counts.programs[start]) / host).toFixed(2) : "–";
    }));
    lines.push(line("time", (start, end) => `${((counts.ns[end] - counts.ns[start]) / 1e6).toFixed(2)} ms`));
    const head = element("tr", {}, element("td"), element("th", { scope: "col" }, "request"), element("th", { scope: "col" }, "so far"));
    this.counters.replaceChildren(element("thead", {}, head), element("tbody", {}, ...lines));
  }
}

/** Returns the marks of the pages that a step touches. */
function touchedBy(step) {
  switch (step?.step) {
    case "read": return { [step.ppn]: "reading" };
    case "program": return { [step.ppn]: "writing" };
    case "copy": return { [step.from]: "reading", [step.to]: "writing" };
    default: return {};
  }
}

function arrow(from, to, now) {
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const bend = Math.min(40, length / 5);
  const [cx, cy] = [(from.x + to.x) / 2 + (dy / length) * bend, (from.y + to.y) / 2 - (dx / length) * bend];
  const angle = Math.atan2(to.y - cy, to.x - cx);
  const tip = (turn) => `${to.x - 7 * Math.cos(angle + turn)} ${to.y - 7 * Math.sin(angle + turn)}`;
  path.setAttribute("d", `M${from.x} ${from.y} Q${cx} ${cy} ${to.x} ${to.y} M${tip(0.5)} L${to.x} ${to.y} L${tip(-0.5)}`);
  path.setAttribute("class", now ? "now" : "earlier");
  return path;
}

function setText(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

/** Scrolls a box into view inside `home`, not the page. */
function reveal(home, row) {
  const [frame, box] = [home.getBoundingClientRect(), row.getBoundingClientRect()];
  if (box.top < frame.top) home.scrollTop -= frame.top - box.top;
  else if (box.bottom > frame.bottom) home.scrollTop += box.bottom - frame.bottom;
  if (box.left < frame.left) home.scrollLeft -= frame.left - box.left;
  else if (box.right > frame.right) home.scrollLeft += box.right - frame.right;
}
