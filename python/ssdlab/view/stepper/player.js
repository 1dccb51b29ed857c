// Moves through the steps with one clock for all lanes, which start each request together.

const SPEEDS = [0.5, 1, 2, 4, 8, 16]; // Speeds of playing, in steps per second.
const JUMPS = { merge: ["merge"], collection: ["collection", "reclaim"], miss: ["miss"] };

class Player {
  constructor(scene) {
    this.scene = scene;
    this.tick = 0;
    this.timer = null;
    this.bind();
    this.load(scene.lanes);
  }

  /** Shows recordings from their start, or from request `request`. */
  load(lanes, request = null) {
    this.pause();
    this.lanes = lanes.map(({ recording }) => new Lane(recording));
    this.requests = this.lanes[0].requests.map(({ from }) => this.lanes[0].steps[from]);
    this.starts = [0];
    this.requests.forEach((_, number) => {
      const longest = Math.max(...this.lanes.map((lane) => lane.requests[number].to - lane.requests[number].from + 1));
      this.starts.push(this.starts[number] + longest);
    });
    this.last = this.starts.at(-1);
    this.marks = Object.fromEntries(Object.entries(JUMPS).map(([name, kinds]) => [name, this.marksOf(kinds)]));
    const home = document.getElementById("lanes");
    home.className = this.lanes.length > 1 ? "two" : "one";
    const sections = this.lanes.map(() => element("section", { class: "lane" }));
    home.replaceChildren(...sections);
    this.drawings = this.lanes.map((lane, at) => new Drawing(lane, sections[at], (lpn) => this.onPage?.(lpn)));
    this.list();
    document.getElementById("position").max = this.last;
    this.go(request === null ? 0 : this.starts[request] + 1);
  }

  /** Returns the ticks at which spans of the given kinds begin, in any lane. */
  marksOf(kinds) {
    const ticks = new Set();
    for (const lane of this.lanes) {
      for (const span of lane.spans.filter(({ span }) => kinds.includes(span))) {
        const number = lane.requests.findLastIndex((request) => request.from <= span.from);
        ticks.add(this.starts[number] + span.from - lane.requests[number].from + 1);
      }
    }
    return [...ticks].sort((a, b) => a - b);
  }

  /** Returns the number of the current request at a tick; -1 before the first request. */
  requestAt(tick) {
    return tick === 0 ? -1 : this.starts.findLastIndex((start) => start < tick);
  }

  /** Returns the number of steps of a lane at a tick. A lane that finishes a request earlier waits for the others. */
  stepsAt(lane, tick) {
    if (tick === 0) return 0;
    const number = this.requestAt(tick);
    const { from, to } = lane.requests[number];
    return from + Math.min(tick - this.starts[number], to - from + 1);
  }

  go(tick) {
    this.onMove?.();
    this.tick = Math.max(0, Math.min(tick, this.last));
    this.drawings.forEach((drawing, place) => drawing.draw(this.stepsAt(this.lanes[place], this.tick)));
    const slider = document.getElementById("position");
    slider.value = this.tick;
    slider.setAttribute("aria-valuetext", `step ${this.tick} of ${this.last}`);
    document.getElementById("where").textContent = `${this.tick} / ${this.last}`;
    const current = this.requestAt(this.tick);
    const home = document.getElementById("requests");
    [...home.children].forEach((item, number) => {
      const button = item.firstElementChild;
      if (number === current) {
        button.setAttribute("aria-current", "step");
        reveal(home, item);
      } else {
        button.removeAttribute("aria-current");
      }
    });
    for (const name of Object.keys(JUMPS)) this.button(name).disabled = !this.marks[name].some((mark) => mark > this.tick);
    this.button("back").disabled = this.button("first").disabled = this.tick === 0;
    this.button("step").disabled = this.button("end").disabled = this.tick === this.last;
  }

  jump(name) {
    this.pause();
    const next = this.marks[name].find((mark) => mark > this.tick);
    if (next !== undefined) this.go(next);
  }

  play() {
    if (this.tick === this.last) this.go(0);
    const beat = () => {
      this.go(this.tick + 1);
      if (this.tick === this.last) this.pause();
      else this.timer = setTimeout(beat, 1000 / SPEEDS[document.getElementById("speed").value]);
    };
    this.quiet(true);
    this.button("play").textContent = "Pause";
    beat();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.quiet(false);
    this.button("play").textContent = "Play";
  }

  /** Mutes announcements of screen readers while playing. */
  quiet(playing) {
    for (const { said } of this.drawings ?? []) said.setAttribute("aria-live", playing ? "off" : "polite");
  }

  toggle() {
    if (this.timer === null) this.play();
    else this.pause();
  }

  button(name) {
    return document.getElementById(name);
  }

  bind() {
    const moves = {
      first: () => this.go(0), back: () => this.go(this.tick - 1), step: () => this.go(this.tick + 1),
      end: () => this.go(this.last), merge: () => this.jump("merge"), collection: () => this.jump("collection"),
      miss: () => this.jump("miss"),
    };
    const paused = (move) => () => { this.pause(); move(); };
    for (const [name, move] of Object.entries(moves)) this.button(name).addEventListener("click", paused(move));
    this.button("play").addEventListener("click", () => this.toggle());
    this.button("position").addEventListener("input", ({ target }) => { this.pause(); this.go(Number(target.value)); });
    const speed = document.getElementById("speed");
    const tell = () => speed.setAttribute("aria-valuetext", `${SPEEDS[speed.value]} steps a second`);
    speed.addEventListener("input", tell);
    tell();
    const keys = { ArrowRight: "step", ArrowLeft: "back", Home: "first", End: "end", m: "merge", c: "collection", x: "miss" };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
      if (event.key === " " && !event.target.closest("button, summary")) this.toggle();
      else if (keys[event.key]) paused(moves[keys[event.key]])();
      else return;
      event.preventDefault();
    });
  }

  list() {
    const items = this.requests.map(({ op, page, count }, number) => {
      const pages = count === 1 ? `${page}` : `${page}–${page + count - 1}`;
      const button = element("button", { type: "button", class: op }, `${op} ${pages}`);
      button.addEventListener("click", () => { this.pause(); this.go(this.starts[number] + 1); });
      return element("li", {}, button);
    });
    document.getElementById("requests").replaceChildren(...items);
  }
}
