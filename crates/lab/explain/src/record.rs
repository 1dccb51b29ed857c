//! Runs an FTL on a small drive and records its steps.

use serde::Serialize;
use ssdlab_core::Lpn;
use ssdlab_ftl::{BoxedFtl, CachedEntries, Ftl, Shape, WriteContext};
use ssdlab_nand::backend::{Flash, SerialFlash};
use ssdlab_nand::{Cause, FlashOp, Geometry};

use crate::span::{Span, spans};
use crate::{Drive, Op, Request, State, Step, sentence};

/// Maximum number of flash pages of a drive that can be shown as a picture.
pub const MOST_PAGES: u64 = 4096;

/// Maximum number of steps in a recording.
pub const MOST_STEPS: usize = 20_000;

/// Map entries that are cached in RAM after a given step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ram {
    /// Number of the first step after which the cache holds exactly these entries. They stay until the next `Ram`.
    pub step: usize,
    /// Cached entries, in the order of [`Ftl::cached_entries`].
    pub entries: Vec<Entry>,
}

/// A range of map entries cached in RAM; the serializable form of [`CachedEntries`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Entry {
    /// First logical page of the entries.
    pub first: u32,
    /// Number of logical pages.
    pub count: u32,
    /// True if the entries are newer than their copy in flash.
    pub dirty: bool,
    /// True if the entries were used again after loading, so that the cache keeps them longer.
    pub protected: bool,
}

/// State of the FTL after the recording, to compare with the state rebuilt from the recorded steps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct End {
    /// Flash page of each logical page, from the FTL's map.
    pub map: Vec<Option<u32>>,
    /// Number of erases of each block, including erases before the recording.
    pub erases: Vec<u32>,
}

/// Recording of all steps of a drive from a start state.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Recording {
    /// Description of the recorded drive.
    pub drive: Drive,
    /// State of the drive before the first step.
    pub start: State,
    /// All steps of the recording, in order.
    pub steps: Vec<Step>,
    /// End time of each step in nanoseconds. Flash operations run one after the other; other steps take no time.
    pub ended_ns: Vec<u64>,
    /// Title of the FTL, including its policies.
    pub title: String,
    /// Sentence that describes each step.
    pub sentences: Vec<String>,
    /// Spans: groups of related steps.
    pub spans: Vec<Span>,
    /// For each span, a sentence that sums it up; empty if the span is a host request.
    pub summaries: Vec<String>,
    /// Map entries cached in RAM: at the start, and after each change.
    pub ram: Vec<Ram>,
    /// Final state of the FTL.
    pub end: End,
}

/// Records how a drive serves `requests`, after the drive was filled and served the requests in `before`.
///
/// # Errors
/// Fails if the drive is too large to draw, if a request exceeds the drive, or if there are too many steps.
pub fn record(drive: &Drive, before: &[Request], requests: &[Request]) -> Result<Recording, String> {
    let shape = drive.shape();
    let Shape { blocks, pages_per_block, .. } = shape;
    let pages = u64::from(blocks) * u64::from(pages_per_block);
    if pages > MOST_PAGES {
        return Err(format!(
            "{blocks} blocks of {pages_per_block} pages are {pages} pages, but at most {MOST_PAGES} can be drawn; \
             lower device.capacity, or use fewer requests of the trace"
        ));
    }
    for (list, name) in [(before, "before"), (requests, "requests")] {
        for (number, Request { page, count, .. }) in (1..).zip(list) {
            if *count == 0 || page.checked_add(*count).is_none_or(|end| end > drive.logical_pages) {
                let pages = if *count == 1 { format!("page {page}") } else { format!("{count} pages from {page}") };
                return Err(format!(
                    "{name}: request {number} ({pages}) is invalid; use pages 0 to {}, or raise device.capacity",
                    drive.logical_pages - 1
                ));
            }
        }
    }
    let choice = drive.choice()?;
    let mapped = shape.logical_pages.next_multiple_of(pages_per_block);
    let mapped = mapped.max(shape.logical_pages + choice.map_pages(shape.logical_pages, shape.page_bytes));
    let state = State::new(&shape, mapped);
    let mut geometry = Geometry::single_plane(shape.page_bytes, pages_per_block, blocks);
    geometry.order = shape.order;
    geometry.units.word_line = shape.program_unit;
    let flash = SerialFlash::new(&drive.times.timing()?, &geometry);
    let ftl = BoxedFtl(choice.build_dyn(shape, drive.seed)?);
    let mut recorder = Recorder { ftl, state, flash, steps: Vec::new(), ended_ns: Vec::new(), ram: Vec::new() };
    let mut fill = (0..drive.filled).map(|page| Request { op: Op::Write, page, count: 1 });
    fill.try_for_each(|request| recorder.serve_unseen(request))?;
    let mut preloaded = Vec::new();
    recorder.ftl.preload(&mut preloaded);
    recorder.take(preloaded);
    before.iter().try_for_each(|&request| recorder.serve_unseen(request))?;
    recorder.forget();
    recorder.flash.reset_clock();
    recorder.ram = vec![Ram { step: 0, entries: recorder.entries() }];
    let start = recorder.state.clone();
    requests.iter().try_for_each(|&request| recorder.serve(request))?;
    let Recorder { ftl, steps, ended_ns, ram, .. } = recorder;
    let end = End {
        map: (0..drive.logical_pages).map(|lpn| ftl.lookup(Lpn(lpn)).map(|ppn| ppn.0)).collect(),
        erases: erases(&ftl),
    };
    let spans = spans(&start, &steps);
    let title = sentence::title(&choice);
    let (sentences, summaries) = sentence::sentences(drive, &choice, &start, &steps, &spans, &ram);
    Ok(Recording { drive: drive.clone(), start, steps, ended_ns, title, sentences, spans, summaries, ram, end })
}

/// Returns the number of erases of each block, including erases in SLC mode.
fn erases(ftl: &BoxedFtl) -> Vec<u32> {
    let mut erases = ftl.erase_counts().to_vec();
    if let Some(slc) = ftl.slc_counts() {
        erases.iter_mut().zip(&slc.erases).for_each(|(native, slc)| *native += slc);
    }
    erases
}

struct Recorder {
    ftl: BoxedFtl,
    state: State,
    /// Flash model that runs operations one by one and measures their durations, as in a simulation.
    flash: SerialFlash,
    steps: Vec<Step>,
    ended_ns: Vec<u64>,
    ram: Vec<Ram>,
}

impl Recorder {
    /// Serves a request page by page, so that the cached map entries can be recorded after each page.
    fn serve(&mut self, request: Request) -> Result<(), String> {
        let Request { op, page, count } = request;
        self.push(Step::Request { op, page, count });
        for lpn in page..page + count {
            let (from, cached) = (self.steps.len(), self.ram.last().map_or(Vec::new(), |ram| ram.entries.clone()));
            let mut emitted = Vec::new();
            let blank = match op {
                Op::Write => {
                    self.ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut emitted);
                    0
                }
                Op::Read => self.ftl.read(Lpn(lpn), 1, Cause::Host, &mut emitted),
                Op::Trim => {
                    self.ftl.trim(Lpn(lpn), 1, &mut emitted);
                    // To survive power loss, the FTL first writes a record of the trim. The page stays mapped until its
                    // map entry is looked up. The recording shows the look-up first.
                    emitted.sort_by_key(|operation| matches!(operation, FlashOp::Trimmed(..)));
                    0
                }
            };
            self.take(emitted);
            if blank > 0 {
                self.push(Step::Blank { lpn });
            }
            self.note_ram(from, &cached);
            if self.steps.len() > MOST_STEPS {
                return Err(format!("the requests take more than {MOST_STEPS} steps; use fewer requests"));
            }
        }
        Ok(())
    }

    /// Serves a request before the recording, without recording its steps.
    fn serve_unseen(&mut self, request: Request) -> Result<(), String> {
        self.forget();
        self.serve(request)
    }

    fn forget(&mut self) {
        self.steps.clear();
        self.ended_ns.clear();
    }

    fn push(&mut self, step: Step) {
        self.steps.push(step);
        self.ended_ns.push(self.flash.now_ns());
    }

    fn take(&mut self, emitted: Vec<FlashOp>) {
        for operation in emitted {
            operation.emit(&mut self.flash);
            let newest = |from, oob: ssdlab_nand::SpareArea| self.state.map[oob.lpn.index()] == Some(from);
            if let Some(step) = Step::of(operation, newest) {
                self.state.apply(&step);
                self.push(step);
            }
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let entry =
            |CachedEntries { first, count, dirty, protected }| Entry { first: first.0, count, dirty, protected };
        self.ftl.cached_entries().into_iter().map(entry).collect()
    }

    /// Records how an access changed the cached map entries. The steps of the access start at index `from`; `before`
    /// contains the entries cached before the access. New entries are recorded with the look-up step, dirty marks with
    /// the last step.
    fn note_ram(&mut self, from: usize, before: &[Entry]) {
        let now = self.entries();
        let Some(look_up) = self.steps[from..].iter().position(|step| matches!(step, Step::LookedUp { .. })) else {
            return;
        };
        let was_dirty = |entry: &Entry| before.iter().any(|old| old.first == entry.first && old.dirty);
        let looked_up = now.iter().map(|entry| Entry { dirty: was_dirty(entry), ..*entry }).collect();
        for (step, entries) in [(from + look_up, looked_up), (self.steps.len() - 1, now)] {
            if self.ram.last().is_none_or(|ram| ram.entries != entries) {
                self.ram.push(Ram { step, entries });
            }
        }
    }
}
