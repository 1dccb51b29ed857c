// Composes every sentence of the page, from steps and spans. Names of FTLs, victim policies and maps come from their
// registries.

const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
const range = (page, count) => (count === 1 ? `page ${page}` : `pages ${page} to ${page + count - 1}`);

const LETTER = { data: "D", log: "L", sequential: "S", isolation: "I", map: "M", free: "F", bad: "X" };
const USE = {
  data: "data block", log: "log block", sequential: "sequential log block", isolation: "isolation block",
  map: "block of map pages", free: "erased block", bad: "bad block",
};
const VICTIM_REASON = {
  yield: "the policy's choice would free nothing, so the block with the fewest valid pages is taken",
  map_full: "space for map pages is short, so the block with the fewest valid pages is taken",
  failed: "a program failed",
};
const RETIRED = {
  full: "is full, and its logical block is written again",
  completed: "has every page in its place",
  evicted: "is given up because all log blocks are in use",
  oldest: "is the oldest of the full random log and is reclaimed",
  broken: "ends here because the new page does not continue it",
  restarted: "is replaced because a first page starts a new sequence",
  merged: "is merged along with its logical block",
  drained: "has no valid page left",
};

/** Reasons for which a block leaves the log of an FTL to make room. */
const MAKES_ROOM = ["full", "evicted", "oldest", "drained"];

/** Title of a registered entry (FTL, victim policy or map): its help up to a colon, else its name. */
function memberTitle(kind, name) {
  const [title, ...rest] = (scene.members[kind][name] ?? "").split(": ");
  return rest.length ? title : name.replaceAll("_", " ");
}

/** Help of a registered entry (FTL, victim policy or map) as part of a sentence. */
function memberHelp(kind, name) {
  const help = (scene.members[kind][name] ?? name).replace(/\.$/, "");
  return help[0].toLowerCase() + help.slice(1);
}

/** Heading of a lane: FTL, victim policy and map of its drive. */
function ftlName(lane) {
  if (lane.isLog) return memberTitle("ftl", lane.scheme);
  const map = lane.hasMap ? `, map: ${memberTitle("map", lane.recording.drive.ftl.page.map.name)}` : "";
  return `Page mapping, ${memberTitle("victim", lane.scheme)}${map}`;
}

/** Name of a flash block, which tells its role. */
function blockName(lane, state, number) {
  const { use, owner } = state.blocks[number];
  if (!lane.isLog) return use === "map" ? `M${number}` : `B${number}`;
  if (use !== "data") return `${LETTER[use]}${number}`;
  if (owner === null) return "new";
  // During a merge both the old and the new data block exist.
  return dataBlock(state, owner) === number ? `D${owner}` : `D${owner}′`;
}

/** The data block of a logical block, the older of two; -1 if none. */
function dataBlock(state, lbn) {
  let oldest = -1;
  state.blocks.forEach(({ use, owner, since }, number) => {
    if (use === "data" && owner === lbn && (oldest < 0 || since < state.blocks[oldest].since)) oldest = number;
  });
  return oldest;
}

/** Description of a block next to its name. */
function blockText(lane, { use, owner, frontier }) {
  if (!lane.isLog) {
    if (use !== "data") return use;
    return lane.recording.drive.ftl.page.survivors === "own" ? ["host", "GC"][frontier] ?? `stream ${frontier}` : "data";
  }
  if (use === "sequential") return owner === null ? "sequential" : `sequential of ${owner}`;
  if (use === "log") return lane.scheme === "bast" && owner !== null ? `log of ${owner}` : "log";
  return use;
}

function placeName(lane, state, ppn) {
  return `${blockName(lane, state, Math.floor(ppn / lane.pagesPerBlock))}·${ppn % lane.pagesPerBlock}`;
}

function pageName(lane, lpn) {
  return lpn < lane.logicalPages || lane.isLog ? `page ${lpn}` : `map page ${lpn - lane.logicalPages}`;
}

/** Causes of GC operations. */
const COLLECTING = ["gc", "map_gc", "map_update"];

/** Sentence that summarises a span of steps; `before` is the state at the first step of the span. */
function spanSentence(lane, span, before) {
  const costOf = ({ copies, erases }) => `${plural(copies, "read")}, ${plural(copies, "program")}, ${plural(erases, "erase")}`;
  const inside = lane.steps.slice(span.from, span.to + 1);
  const copies = inside.filter((step) => step.step === "copy").length;
  const erases = inside.filter((step) => step.step === "erase").length;
  switch (span.span) {
    case "merge": {
      const from = span.sources.map(({ block }) => blockName(lane, before, block));
      const host = span.host ? ", including the host's page" : "";
      const pages = from.length ? `newest pages from ${from.join(", ")}` : "nothing to copy";
      if (span.kind === "switch") {
        return `Switch merge of block ${span.lbn}: the log block becomes the data block; ${costOf(span)}.`;
      }
      if (span.kind === "partial") {
        return `Partial merge of block ${span.lbn}: the log block is completed and becomes the data block; ${pages}${host}; ${costOf(span)}.`;
      }
      return `Full merge of block ${span.lbn}: ${pages}${host}; ${costOf(span)}.`;
    }
    case "reclaim": {
      const name = blockName(lane, before, span.block);
      const merged = lane.spans.filter(({ span: kind, from, to }) => kind === "merge" && span.from <= from && to <= span.to).length;
      const merges = merged ? `${plural(merged, "logical block")} merged` : "no logical block merged";
      return `Reclaiming ${name}, the oldest block of the full log: ${merges}; ${costOf({ copies, erases })}.`;
    }
    case "collection": {
      const why = span.reason === "policy" ? memberHelp("victim", lane.scheme) : VICTIM_REASON[span.reason];
      // Host requests come in between the steps of background GC.
      const own = inside.filter((step) => COLLECTING.includes(step.cause));
      const done = (kind) => own.filter((step) => step.step === kind || step.step === "copy").length;
      const cost = `${plural(done("read"), "read")}, ${plural(done("program"), "program")}, ${plural(erases, "erase")}`;
      return `Collection of ${blockName(lane, before, span.block)} (${why}): ${plural(span.valid, "valid page")}; ${cost}.`;
    }
    case "miss": {
      const there = lane.ramAt(span.from + 1);
      const gone = lane.ramAt(span.from).filter((old) => !there.some((entry) => entry.first === old.first));
      const left = gone.length ? ` ${entryName(gone[0])} is evicted${gone[0].dirty ? " and its dirty map page is written back" : ", clean"}.` : "";
      const read = inside.some((step) => step.step === "read" && step.cause === "map_load");
      return `Miss: the entry of page ${span.lpn} is not in RAM.${left} ${read ? `The map page of page ${span.lpn} is read.` : "No map page holds it yet."}`;
    }
    default: return "";
  }
}

function entryName({ first, count }) {
  return count === 1 ? `The entry of page ${first}` : `The segment of pages ${first} to ${first + count - 1}`;
}

const WHY_READ = {
  host: "for the host", rmw: "to complete a page", map_load: "to load its entries into RAM",
  map_write_back: "before it is written back", map_update: "before it is rewritten", map_gc: "to be collected",
};
const WHY_COPY = {
  gc: "it is valid, and its block is about to be erased", switch_merge: "for the switch merge",
  partial_merge: "it completes the log block", full_merge: "it is the newest copy",
  second_chance: "still valid: it gets a second chance", isolation: "still valid and cold: it goes to the isolation area",
  map_gc: "it is valid, and its block is about to be erased",
};
const WHY_MAP = { map_write_back: "with its dirty entries", map_update: "because GC moved pages whose entries are not in RAM" };

/** Sentence that describes a step; `before` and `after` are the states around the step. */
function stepSentence(lane, step, before, after) {
  const at = (ppn, state = after) => placeName(lane, state, ppn);
  const block = (number, state = before) => blockName(lane, state, number);
  switch (step.step) {
    case "request": return `The host ${{ write: "writes", read: "reads", trim: "trims" }[step.op]} ${range(step.page, step.count)}.`;
    case "blank": return `Page ${step.lpn} was never written: it reads as zeros, without a flash operation.`;
    case "read": {
      const { lpn } = before.pages[step.ppn];
      const name = pageName(lane, lpn);
      return `${name[0].toUpperCase()}${name.slice(1)} is read from ${at(step.ppn)} ${WHY_READ[step.cause] ?? ""}.`;
    }
    case "program": return programSentence(lane, step, before, at);
    case "copy": {
      const name = pageName(lane, step.lpn);
      const why = step.newest ? copyReason(step) : "an older copy; the newest stays in another log block";
      return `Copies ${name} from ${at(step.from, before)} to ${at(step.to)}: ${why}.`;
    }
    case "erase": return lane.isLog ? `Erases ${block(step.block)}; PBN ${step.block} is free.` : `Erases ${block(step.block)}.`;
    case "trim": {
      // A recording has a separate trim step for each page.
      const what = before.map[step.lpn] === null ? "nothing was there" : "the copy counts as outdated";
      return `The host forgets page ${step.lpn}: ${what}.`;
    }
    case "captured": return `Captured: page ${step.lpn} lies in a sequential log block.`;
    case "merged": return `Block ${step.lbn} is merged: ${plural(step.copies, "copy", "copies")}, ${plural(step.erases, "data block")} erased${step.data === null ? "" : `; PBN ${step.data} is ${block(step.data, after)} now`}.`;
    case "reclaimed": return `The page waited ${awaited(lane, step)}: ${plural(step.associated, "logical block")} merged, ${plural(step.copies, "copy", "copies")}, ${plural(step.erases, "erase")}.`;
    case "looked_up": return `Looks up page ${step.lpn} in the map: ${step.hit ? "its entry is in RAM, a hit" : "its entry is not in RAM, a miss"}.`;
    case "victim": return `Free pages are short: ${block(step.block)} is the victim, with ${plural(step.valid, "valid page")}.`;
    case "opened": return `Opens ${lane.isLog ? `PBN ${step.block}` : `B${step.block}`} as ${article(openedUse(lane, step))}.`;
    case "bad": return `Block ${step.block} has failed and is retired.`;
    case "retired": {
      const utilised = `${step.written} of its ${lane.pagesPerBlock} pages programmed`;
      return `${block(step.block)} ${RETIRED[step.reason]} (${utilised}).`;
    }
    case "rotated": return `Every page of ${block(step.block)} is valid: all get their second chance in place, without a copy.`;
    case "drained": return `The isolation area is full: page ${step.lpn} is the oldest valid one there, and its block is merged.`;
    default: return "";
  }
}

const article = (noun) => `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;

function openedUse(lane, { role, frontier }) {
  if (lane.isLog || role !== "data") return USE[role];
  const own = lane.recording.drive.ftl.page.survivors === "own";
  return own ? ["block for host pages", "block for GC copies"][frontier] ?? `block of stream ${frontier}` : "block to write";
}

/** Reason why the page of a reclaim waited: a block that left the log before the page was written. */
function awaited(lane, reclaimed) {
  let at = lane.steps.indexOf(reclaimed);
  for (let written = 0; written < 2; at--) {
    const { step, cause, reason } = lane.steps[at];
    if (step === "drained" || (step === "retired" && MAKES_ROOM.includes(reason))) return "for room in the log";
    if (step === "request") break;
    if (step === "program" && cause === "host") written += 1;
  }
  return "for the merge of a sequential log block";
}

function copyReason(step) {
  if (step.role === "sequential") return "its place in the sequential log block of its logical block is free";
  return WHY_COPY[step.cause] ?? step.cause;
}

function programSentence(lane, step, before, at) {
  const old = before.map[step.lpn];
  const outdated = old === null ? "" : ` The copy at ${placeName(lane, before, old)} is outdated.`;
  if (step.role === "map") {
    return `Map page ${step.lpn - lane.logicalPages} is written to ${at(step.ppn)}, ${WHY_MAP[step.cause] ?? ""}.${outdated}`;
  }
  if (!lane.isLog) return `Page ${step.lpn} is appended at ${at(step.ppn)}.${outdated}`;
  if (step.role === "log") return `${whyToLog(lane, step.lpn, before)}: it goes to the log, at ${at(step.ppn)}.${outdated}`;
  if (step.role === "sequential") return `Page ${step.lpn} goes to the sequential log, in its place at ${at(step.ppn)}.${outdated}`;
  return old === null
    ? `The place of page ${step.lpn} is erased: it is written there, at ${at(step.ppn)}.`
    : `Page ${step.lpn} of the host is written during the merge, at ${at(step.ppn)}.${outdated}`;
}

/** Reason why a page is not written in place; the FTL decides before it makes room in the log. */
function whyToLog(lane, lpn, before) {
  const first = dataBlock(before, Math.floor(lpn / lane.pagesPerBlock)) * lane.pagesPerBlock;
  const place = first + (lpn % lane.pagesPerBlock);
  if (first >= 0 && before.pages[place].lpn !== null) return `The place of page ${lpn} is taken`;
  if (before.map[lpn] !== null) return `Page ${lpn} has a copy in the log`;
  const behind = before.pages.slice(place + 1, first + lane.pagesPerBlock);
  if (first >= 0 && lane.recording.drive.ascending && behind.some((page) => page.lpn !== null)) {
    return `The place of page ${lpn} is erased, but later pages are programmed, and the chip requires ascending order`;
  }
  return `The place of page ${lpn} was taken until the log had room`;
}
