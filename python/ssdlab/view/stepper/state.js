// State of a drive after each step of its recording.

const KEYFRAME = 64; // Number of steps between two stored states.

/** A drive with the recording of its steps; `at(k)` is the state after `k` steps. */
class Lane {
  constructor(recording) {
    const spans = recording.spans.map((span, at) => ({ ...span, summary: recording.summaries[at] }));
    Object.assign(this, { recording, steps: recording.steps, spans });
    this.pagesPerBlock = recording.drive.pages_per_block;
    this.logicalPages = recording.drive.logical_pages;
    this.isLog = "log" in recording.drive.ftl;
    this.hasMap = !this.isLog && recording.drive.ftl.page.map.name !== "ram";
    this.requests = this.spans.filter((span) => span.span === "request");
    this.counts = countersOf(recording);
    this.state = copyOf(recording.start);
    this.state.blocks.forEach((block, number, all) => { block.since = number - all.length; });
    this.keyframes = [copyOf(this.state)];
    this.k = 0;
  }

  /** Returns the state after `k` steps, computed from the nearest stored state before it. */
  at(k) {
    const nearest = Math.min(Math.floor(k / KEYFRAME), this.keyframes.length - 1);
    if (k < this.k || nearest * KEYFRAME > this.k) {
      this.state = copyOf(this.keyframes[nearest]);
      this.k = nearest * KEYFRAME;
    }
    while (this.k < k) {
      apply(this.state, this.steps[this.k], this.pagesPerBlock, this.k);
      this.k += 1;
      if (this.k % KEYFRAME === 0 && this.k / KEYFRAME === this.keyframes.length) {
        this.keyframes.push(copyOf(this.state));
      }
    }
    return this.state;
  }

  /** Returns the map entries in RAM after `k` steps. */
  ramAt(k) {
    const { ram } = this.recording;
    return (ram.findLast(({ step }, at) => at === 0 || step < k) ?? { entries: [] }).entries;
  }

  /** Returns the spans except requests that contain step `k`, longer spans first. */
  around(k) {
    return this.spans.filter((span) => span.from <= k && k <= span.to && span.span !== "request");
  }
}

function copyOf(state) {
  return {
    pages: state.pages.map((page) => ({ ...page })),
    blocks: state.blocks.map((block) => ({ ...block })),
    map: [...state.map],
  };
}

function isValid(state, ppn) {
  const { lpn } = state.pages[ppn];
  return lpn !== null && state.map[lpn] === ppn;
}

/** Applies step `number` to `state`, like `State::apply` of the crate `ssdlab-explain`. */
function apply(state, step, pagesPerBlock, number) {
  const block = (ppn) => state.blocks[Math.floor(ppn / pagesPerBlock)];
  const pagesOf = (which) => state.pages.slice(which * pagesPerBlock, (which + 1) * pagesPerBlock);
  const put = (ppn, lpn, second, newest) => {
    const home = block(ppn);
    const owner = Math.floor(lpn / pagesPerBlock);
    if (pagesOf(Math.floor(ppn / pagesPerBlock)).every((page) => page.lpn === null)) home.owner = owner;
    else if (home.owner !== owner) home.owner = null;
    state.pages[ppn] = { lpn, second };
    if (newest) state.map[lpn] = ppn;
  };
  switch (step.step) {
    case "program": put(step.ppn, step.lpn, false, true); break;
    case "copy": put(step.to, step.lpn, step.cause === "second_chance", step.newest); break;
    case "erase": {
      const first = step.block * pagesPerBlock;
      for (let ppn = first; ppn < first + pagesPerBlock; ppn++) state.pages[ppn] = { lpn: null, second: false };
      const { erases } = state.blocks[step.block];
      state.blocks[step.block] = { use: "free", owner: null, frontier: 0, erases: erases + 1, since: number };
      break;
    }
    case "trim": state.map.fill(null, step.lpn, step.lpn + step.count); break;
    case "opened":
      Object.assign(state.blocks[step.block], { use: step.role, frontier: step.frontier, since: number });
      break;
    case "merged": if (step.data !== null) state.blocks[step.data].use = "data"; break;
    case "bad": state.blocks[step.block].use = "bad"; break;
    case "rotated": {
      for (const page of pagesOf(step.block)) page.second = true;
      state.blocks[step.block].since = number;
      break;
    }
  }
}

const COUNTERS = ["host", "reads", "programs", "erases", "switch", "partial", "full", "collections", "hits", "misses", "captured"];

/** Returns the counters of the drive after each step, and the sum of the operations' times in ns. */
function countersOf({ steps, ended_ns }) {
  const so_far = Object.fromEntries([...COUNTERS, "ns"].map((name) => [name, new Float64Array(steps.length + 1)]));
  steps.forEach((step, at) => {
    for (const name of Object.keys(so_far)) so_far[name][at + 1] = so_far[name][at];
    const add = (name, by = 1) => { so_far[name][at + 1] += by; };
    so_far.ns[at + 1] = ended_ns[at];
    switch (step.step) {
      case "read": add("reads"); break;
      case "program": add("programs"); if (step.cause === "host") add("host"); break;
      case "copy": add("reads"); add("programs"); break;
      case "erase": add("erases"); break;
      case "merged": add(step.kind); break;
      case "victim": add("collections"); break;
      case "looked_up": add(step.hit ? "hits" : "misses"); break;
      case "captured": add("captured"); break;
    }
  });
  return so_far;
}
