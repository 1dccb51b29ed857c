// Names blocks and pages in the picture, as the simulator does in its sentences.

const LETTER = { data: "D", log: "L", sequential: "S", isolation: "I", map: "M", free: "F", bad: "X" };

/** Returns the name of a flash block, which shows the block's role. */
function blockName(lane, state, number) {
  const { use, owner } = state.blocks[number];
  if (!lane.isLog) return use === "map" ? `M${number}` : `B${number}`;
  if (use !== "data") return `${LETTER[use]}${number}`;
  if (owner === null) return "new";
  // During a merge both the old and the new data block exist.
  return dataBlock(state, owner) === number ? `D${owner}` : `D${owner}′`;
}

/** Returns the data block of a logical block: the older one if there are two, -1 if there is none. */
function dataBlock(state, lbn) {
  let oldest = -1;
  state.blocks.forEach(({ use, owner, since }, number) => {
    if (use === "data" && owner === lbn && (oldest < 0 || since < state.blocks[oldest].since)) oldest = number;
  });
  return oldest;
}

/** Returns the description of a block, which is shown next to its name. */
function blockText(lane, { use, owner, frontier }) {
  if (!lane.isLog) {
    if (use === "slc") return "SLC";
    if (use !== "data") return use;
    return lane.recording.drive.ftl.page.survivors === "own" ? ["host", "GC"][frontier] ?? `stream ${frontier}` : "data";
  }
  if (use === "sequential") return owner === null ? "sequential" : `sequential of ${owner}`;
  if (use === "log") return lane.recording.drive.ftl.log.scheme.name === "bast" && owner !== null ? `log of ${owner}` : "log";
  return use;
}

function placeName(lane, state, ppn) {
  return `${blockName(lane, state, Math.floor(ppn / lane.pagesPerBlock))}·${ppn % lane.pagesPerBlock}`;
}
