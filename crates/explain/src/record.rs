//! Runs an FTL on a small drive and records what it does.

use serde::{Deserialize, Serialize};
use ssdlab_core::Lpn;
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{CachedEntries, Ftl, WriteContext};
use ssdlab_nand::backend::{Flash, OneByOne, SerialFlash};
use ssdlab_nand::{Cause, FlashOp, Geometry, Parallelism};

use crate::span::{Span, spans};
use crate::{Drive, State, Step};

/// Most steps of a recording.
pub const MOST_STEPS: usize = 20_000;

/// What the host asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Write pages.
    Write,
    /// Read pages.
    Read,
    /// Forget pages.
    Trim,
}

/// A request of the host, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What it asks for.
    pub op: Op,
    /// The first page.
    pub page: u32,
    /// Pages.
    pub count: u32,
}

/// What RAM holds of a map in flash, from a step on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ram {
    /// The step, itself included.
    pub step: usize,
    /// In the order of [`Ftl::cached_entries`].
    pub entries: Vec<Entry>,
}

/// [`CachedEntries`] as data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Entry {
    /// The first page.
    pub first: u32,
    /// Pages.
    pub count: u32,
    /// Changed since flash had them.
    pub dirty: bool,
    /// Kept longer.
    pub protected: bool,
}

/// What the FTL itself says in the end; what steps lead to must be the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct End {
    /// Where each logical page is.
    pub map: Vec<Option<u32>>,
    /// Erases of each block, before and during the recording.
    pub erases: Vec<u32>,
}

/// A drive, where it began, and everything that happened.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Recording {
    /// The drive.
    pub drive: Drive,
    /// The state before the first step.
    pub start: State,
    /// What happened.
    pub steps: Vec<Step>,
    /// When each step was over, in nanoseconds: flash operations take their time one after the other, all else none.
    pub ended_ns: Vec<u64>,
    /// Which steps belong together.
    pub spans: Vec<Span>,
    /// What RAM holds of the map, from its first change on; the first line is the start.
    pub ram: Vec<Ram>,
    /// What the FTL says in the end.
    pub end: End,
}

/// Records `requests` on the drive after it has been filled and has served those `before`.
///
/// # Errors
/// If the drive is too large to draw or no drive, a request leaves it, or there are too many steps.
pub fn record(drive: &Drive, before: &[Request], requests: &[Request]) -> Result<Recording, String> {
    let shape = drive.shape()?;
    for (list, name) in [(before, "before"), (requests, "requests")] {
        for (number, Request { page, count, .. }) in (1..).zip(list) {
            if *count == 0 || page.checked_add(*count).is_none_or(|end| end > drive.logical_pages) {
                let pages = if *count == 1 { format!("page {page}") } else { format!("{count} pages from {page}") };
                return Err(format!(
                    "{name}: number {number} is {pages}, but the drive has pages 0 to {}; \
                     request those, or raise device.capacity, or logical_pages of a scene",
                    drive.logical_pages - 1
                ));
            }
        }
    }
    let choice = drive.choice()?;
    let mapped = shape.logical_pages.next_multiple_of(shape.pages_per_block);
    let mapped = mapped.max(shape.logical_pages + choice.map_pages(shape.logical_pages, shape.page_bytes));
    let state = State::new(&shape, mapped);
    let geometry = Geometry {
        page_bytes: shape.page_bytes,
        pages_per_block: shape.pages_per_block,
        blocks: shape.blocks,
        order: shape.order,
        parallelism: Parallelism::SINGLE,
    };
    let flash = SerialFlash::new(&drive.times.timing()?, &geometry);
    let run = Run { drive, state, flash, before, requests };
    choice.build(shape, drive.seed, run)?
}

struct Run<'a> {
    drive: &'a Drive,
    state: State,
    flash: SerialFlash,
    before: &'a [Request],
    requests: &'a [Request],
}

impl Visitor for Run<'_> {
    type Output = Result<Recording, String>;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        self.with(ftl)
    }

    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        self.with(ftl)
    }

    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, _captures: bool) -> Self::Output {
        self.with(ftl)
    }
}

impl Run<'_> {
    fn with<F: Ftl>(self, ftl: F) -> Result<Recording, String> {
        let Self { state, flash, .. } = self;
        let mut recorder = Recorder { ftl, state, flash, steps: Vec::new(), ended_ns: Vec::new(), ram: Vec::new() };
        let mut fill = (0..self.drive.filled).map(|page| Request { op: Op::Write, page, count: 1 });
        fill.try_for_each(|request| recorder.serve_unseen(request))?;
        let mut preloaded = Vec::new();
        recorder.ftl.preload(&mut preloaded);
        recorder.take(preloaded);
        self.before.iter().try_for_each(|&request| recorder.serve_unseen(request))?;
        recorder.forget();
        recorder.flash.reset_clock();
        recorder.ram = vec![Ram { step: 0, entries: recorder.entries() }];
        let start = recorder.state.clone();
        self.requests.iter().try_for_each(|&request| recorder.serve(request))?;
        let Recorder { ftl, steps, ended_ns, ram, .. } = recorder;
        let end = End {
            map: (0..self.drive.logical_pages).map(|lpn| ftl.lookup(Lpn(lpn)).map(|ppn| ppn.0)).collect(),
            erases: ftl.erase_counts().to_vec(),
        };
        let spans = spans(&start, &steps);
        Ok(Recording { drive: self.drive.clone(), start, steps, ended_ns, spans, ram, end })
    }
}

struct Recorder<F> {
    ftl: F,
    state: State,
    /// Tells what operations take, as it does in a run.
    flash: SerialFlash,
    steps: Vec<Step>,
    ended_ns: Vec<u64>,
    ram: Vec<Ram>,
}

impl<F: Ftl> Recorder<F> {
    /// Serves a request page by page, as an FTL does: what RAM holds can be asked in between.
    fn serve(&mut self, request: Request) -> Result<(), String> {
        let Request { op, page, count } = request;
        self.push(Step::Request { op, page, count });
        for lpn in page..page + count {
            let (from, known) = (self.steps.len(), self.ram.last().map_or(Vec::new(), |ram| ram.entries.clone()));
            let mut emitted = Vec::new();
            let blank = match op {
                Op::Write => {
                    self.ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut emitted);
                    0
                }
                Op::Read => self.ftl.read(Lpn(lpn), 1, Cause::Host, &mut emitted),
                Op::Trim => {
                    self.ftl.trim(Lpn(lpn), 1, &mut emitted);
                    // Flash is told first, to survive a loss of power; the FTL holds the page until its map is looked
                    // up.
                    emitted.sort_by_key(|operation| matches!(operation, FlashOp::Trimmed(..)));
                    0
                }
            };
            self.take(emitted);
            if blank > 0 {
                self.push(Step::Blank { lpn });
            }
            self.note_ram(from, &known);
            if self.steps.len() > MOST_STEPS {
                return Err(format!(
                    "the requests take more than {MOST_STEPS} steps, too many to step through; give fewer, or a part of \
                     the trace"
                ));
            }
        }
        Ok(())
    }

    /// Serves a request that comes before the recording.
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
            let newest = |from, oob: ssdlab_nand::Oob| self.state.map[oob.lpn.index()] == Some(from);
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

    /// Notes what a page, of which the steps are those from `from` on, has changed in RAM: with its look-up which
    /// entries are there, with its last step which have changed.
    fn note_ram(&mut self, from: usize, known: &[Entry]) {
        let now = self.entries();
        let Some(place) = self.steps[from..].iter().position(|step| matches!(step, Step::LookedUp { .. })) else {
            return;
        };
        let was_dirty = |entry: &Entry| known.iter().any(|old| old.first == entry.first && old.dirty);
        let looked_up = now.iter().map(|entry| Entry { dirty: was_dirty(entry), ..*entry }).collect();
        for (step, entries) in [(from + place, looked_up), (self.steps.len() - 1, now)] {
            if self.ram.last().is_none_or(|ram| ram.entries != entries) {
                self.ram.push(Ram { step, entries });
            }
        }
    }
}
