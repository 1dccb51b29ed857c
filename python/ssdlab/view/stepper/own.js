// Simulates the reader's own requests in the page, with WebAssembly.

/** Returns the simulator; null if the page was built without it. */
async function simulator() {
  const packed = document.getElementById("wasm").textContent.trim();
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const plain = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  const module = await WebAssembly.compile(await plain.arrayBuffer());
  return (question) => {
    // Each question gets a fresh WebAssembly instance, so that no state is left.
    const { memory, room, answer, place } = new WebAssembly.Instance(module, {}).exports;
    const asked = new TextEncoder().encode(JSON.stringify(question));
    const at = room(asked.length);
    new Uint8Array(memory.buffer, at, asked.length).set(asked);
    const length = answer();
    return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, place(), length)));
  };
}

/** Returns the reader's requests in the syntax of the simulator. */
function written(requests) {
  return requests.map(({ op, page, count }) => {
    const letter = op === "write" ? "" : op[0];
    return `${letter}${page}${count === 1 ? "" : `-${page + count - 1}`}`;
  }).join(" ");
}

async function own(player, scene) {
  const note = document.getElementById("own-note");
  let [simulate, why] = [null, "ssdlab was built without the WebAssembly simulator"];
  try {
    simulate = await simulator();
  } catch (error) {
    why = `its simulator does not start (${error.message})`;
  }
  if (simulate === null) {
    note.textContent = `This page only plays a recording: ${why}.`;
    return null;
  }
  const form = document.getElementById("own-form");
  form.hidden = false;
  note.textContent = "This page runs the simulator: change the requests, or click a page of the flash to write it.";
  const text = document.getElementById("own-text");
  const fault = document.getElementById("own-fault");
  /** Replaces the text of the input so that undo works. */
  const type = (requests) => {
    if (text.value === requests) return;
    const focused = document.activeElement;
    text.focus({ preventScroll: true });
    text.select();
    if (!document.execCommand("insertText", false, requests)) text.value = requests;
    text.blur();
    focused.focus({ preventScroll: true });
  };
  // After a run the player is at the start, but a click adds a request after the last request.
  let fresh = false;
  player.onMove = () => { fresh = false; };
  const given = () => player.requests.map(({ op, page, count }) => ({ op, page, count }));
  text.value = written(given());
  const run = (requests, shown) => {
    const recordings = scene.lanes.map(({ recording, before }) => {
      const answered = simulate({ drive: recording.drive, before, requests });
      if (answered.error) throw new Error(answered.error);
      return answered;
    });
    player.load(recordings, shown);
    type(requests);
  };
  const attempt = (what) => {
    try {
      fault.textContent = "";
      what();
    } catch (error) {
      fault.textContent = error.message;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => { run(text.value, null); fresh = true; });
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  document.getElementById("own-reset").addEventListener("click", () => {
    attempt(() => { player.load(scene.lanes); type(written(given())); });
  });
  player.onPage = (page) => attempt(() => {
    const op = document.getElementById("own-op").value;
    const requests = fresh ? given() : given().slice(0, player.requestAt(player.tick) + 1);
    run(written([...requests, { op, page, count: 1 }]), requests.length);
  });
  return simulate;
}

const scene = JSON.parse(document.getElementById("scene").textContent);
const player = new Player(scene);
const ready = own(player, scene);
