//! A drive that loses power repeatedly, and a host that checks the contents of every page after each power loss.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{Ftl, FtlChoice, Shape, WriteContext};
use ssdlab_nand::{Cause, Found, Scan, Trimmed};

use super::flash::{Flash, Last};
use super::request::Request;

/// A drive and its power losses.
#[derive(Clone, Debug)]
pub struct World {
    /// FTL of the drive.
    pub ftl: FtlChoice,
    /// Geometry of the drive, as the FTL sees it.
    pub shape: Shape,
    /// Seed of the FTL, and of the contents of half-programmed pages.
    pub seed: u64,
    /// Number of operations before each power loss, and the state of the interrupted operation. After the last item,
    /// power stays on.
    pub cuts: Vec<(u64, Last)>,
    /// Failures of programs and erases; None for flash that never fails.
    pub faults: Option<Faults>,
}

/// Failure rate of the flash, and number of blocks that replace failed blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Average number of page programs and erases per failure.
    pub one_in: u64,
    /// Spare blocks per plane that the FTL reserves for failures.
    pub kept: u32,
    /// Number of additional blocks per plane, besides `kept`; the FTL neither needs nor reserves them.
    pub spare: u32,
}

/// View of the flash during recovery. The function `page` reads a page; it may contain a planted bug.
struct Eyes<'a> {
    flash: &'a Flash,
    page: fn(&Flash, Ppn) -> Found,
}

impl Scan for Eyes<'_> {
    fn page(&self, ppn: Ppn) -> Found {
        (self.page)(self.flash, ppn)
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.flash.is_bad(block)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.flash.erases(block)
    }
}

/// A planted bug in the handling of multi-page program units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// No bug.
    None,
    /// A flush does not pad incomplete program units.
    FlushWithoutPadding,
    /// A block is erased while copies or newer versions of its pages are only in volatile memory.
    EraseBeforeProgram,
    /// Pages in volatile memory are read from the cells instead.
    ReadFromCells,
}

/// View of the flash during recovery: functions that read the flash, and a possible bug in the handling of program
/// units. All values except [`Look::RIGHT`] contain a planted bug.
#[derive(Clone, Copy)]
pub struct Look {
    /// Returns the contents of a page as recovery sees them.
    pub page: fn(&Flash, Ppn) -> Found,
    /// Returns the recorded trims as recovery sees them.
    pub trims: fn(&[Trimmed]) -> Vec<Trimmed>,
    /// Planted bug in the handling of program units, if any.
    pub mistake: Mistake,
}

impl Look {
    /// The view without a planted bug.
    pub const RIGHT: Self =
        Self { page: |flash, ppn| Scan::page(flash, ppn), trims: <[Trimmed]>::to_vec, mistake: Mistake::None };
}

/// Counts of events in a run that broke no rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Happened {
    /// Number of operations until the drive first wears out or the run ends, counted from the last power-up.
    pub operations: u64,
    /// Number of power losses during recovery.
    pub lost_in_recovery: u32,
    /// Number of operations performed during recovery.
    pub recovering: u64,
    /// Number of failed operations.
    pub failures: u64,
    /// True if the drive was worn out at the end.
    pub worn_out: bool,
}

impl World {
    /// Returns this drive with flash that may fail, and with the additional blocks that `faults` specifies.
    pub fn with_faults(self, faults: Faults) -> Self {
        let blocks = self.shape.blocks + self.shape.planes * (faults.kept + faults.spare);
        Self { shape: Shape { blocks, ..self.shape }, faults: Some(faults), ..self }
    }

    /// Serves the requests through all power losses; returns counts of the events.
    ///
    /// # Errors
    /// Fails if a page is lost, a NAND rule is broken, or the FTL cannot be built or recovered.
    pub fn live(&self, requests: &[Request], look: Look) -> Result<Happened, String> {
        let mut host = Host::new(self, look);
        let mut requests = requests.iter().copied();
        loop {
            let end = self.ftl.build(self.shape, self.seed, Life { host: &mut host, requests: &mut requests })??;
            host.happened.failures = host.flash.failures;
            if end {
                return Ok(host.happened);
            }
        }
    }
}

/// State of the host and the flash, which survives power losses.
struct Host {
    shape: Shape,
    flash: Flash,
    look: Look,
    faults: Option<Faults>,
    cuts: Vec<(u64, Last)>,
    /// For each logical page, the contents (as stamps) that it may have after a power loss, newest last.
    pages: Vec<Vec<Option<u64>>>,
    /// Request that a power loss or the wear-out of the drive interrupted. For a write, also the stamps that its pages
    /// contain if it was executed.
    lost: Option<(Request, Vec<u64>)>,
    stamps: u64,
    fresh: bool,
    happened: Happened,
}

impl Host {
    fn new(world: &World, look: Look) -> Self {
        let mut cuts = world.cuts.clone();
        cuts.reverse();
        let mut flash = Flash::new(world.shape, world.seed, world.faults.map_or(0, |faults| faults.one_in));
        let (operations, last) = cuts.pop().unwrap_or((u64::MAX, Last::Undone));
        flash.power_up(operations, last);
        flash.forgets_memory = look.mistake == Mistake::ReadFromCells;
        Self {
            shape: world.shape,
            flash,
            look,
            faults: world.faults,
            cuts,
            pages: vec![vec![None]; world.shape.logical_pages as usize],
            lost: None,
            stamps: 0,
            fresh: true,
            happened: Happened::default(),
        }
    }

    /// Compares every logical page with its allowed contents. Then makes the actual contents the only allowed contents.
    fn compare<F: Ftl>(&mut self, ftl: &F) -> Result<(), String> {
        self.pages = self.found(ftl)?.into_iter().map(|found| vec![found]).collect();
        self.lost = None;
        Ok(())
    }

    /// After a flush, allows only the newest contents of every page.
    fn settle(&mut self) {
        self.pages.iter_mut().for_each(|stamps| drop(stamps.drain(..stamps.len() - 1)));
    }

    /// Returns the contents of every logical page, or an error if a page has contents that are not allowed.
    fn found<F: Ftl>(&self, ftl: &F) -> Result<Vec<Option<u64>>, String> {
        let mut pages = Vec::new();
        for lpn in 0..self.shape.logical_pages {
            let found = match ftl.lookup(Lpn(lpn)) {
                None => None,
                Some(ppn) => match self.flash.content(ppn) {
                    Some((held, stamp)) if held.0 == lpn => Some(stamp),
                    other => return Err(format!("page {lpn} is mapped to {ppn}, which holds {other:?}")),
                },
            };
            let old = &self.pages[lpn as usize];
            let new = match &self.lost {
                Some((Request::Write(first, count), stamps)) if (*first..first + count).contains(&lpn) => {
                    Some(Some(stamps[(lpn - first) as usize]))
                }
                Some((Request::Trim(first, count), _)) if (*first..first + count).contains(&lpn) => Some(None),
                _ => None,
            };
            if !old.contains(&found) && Some(found) != new {
                return Err(format!("reading page {lpn} returns {found:?} instead of {old:?} or {new:?}"));
            }
            pages.push(found);
        }
        Ok(pages)
    }

    /// Records the number of operations since power-up, unless a number is already recorded. Tests take this number
    /// from a run without power losses, and then repeat the run with a power loss at each operation.
    fn count_operations(&mut self) {
        if self.happened.operations == 0 {
            self.happened.operations = u64::MAX - self.flash.left;
        }
    }

    fn rules(&self, when: &str) -> Result<(), String> {
        match &self.flash.violation {
            Some(violation) => Err(format!("{when}: {violation}")),
            None => Ok(()),
        }
    }

    /// Checks the recovered FTL, unless power failed again during recovery.
    fn recover<F: Ftl>(&mut self, ftl: &mut F) -> Result<(), String> {
        let (operations, last) = self.cuts.pop().unwrap_or((u64::MAX, Last::Undone));
        self.flash.power_up(operations, last);
        let scanned = self.flash.clone();
        let eyes = Eyes { flash: &scanned, page: self.look.page };
        ftl.recover(&eyes, &(self.look.trims)(&scanned.trims), &mut self.flash)?;
        self.happened.recovering = self.flash.recovering;
        self.rules("recovery")?;
        if self.flash.is_off() {
            self.happened.lost_in_recovery += 1;
            return Ok(());
        }
        self.compare(ftl).map_err(|error| format!("after recovery: {error}"))?;
        ftl.check().map_err(|error| format!("after recovery: {error}"))?;
        if ftl.is_worn_out() && self.faults.is_none() {
            return Err("the drive is worn out although no operation failed".into());
        }
        let mut counts = (0..).map(BlockId).zip(ftl.erase_counts());
        let is_wrong = |block, counted| counted != self.flash.erases(block) && !self.flash.is_bad(block);
        let wrong = counts.find(|&(block, &counted)| is_wrong(block, counted));
        wrong.map_or(Ok(()), |(block, _)| Err(format!("the FTL has a wrong erase count for block {block}")))
    }
}

/// Operation of a drive from power-on to the next power loss. The result is true if all requests were served or the
/// drive was already worn out after recovery, and false if the power failed or the drive wore out during a request.
struct Life<'a, R> {
    host: &'a mut Host,
    requests: &'a mut R,
}

impl<R: Iterator<Item = Request>> Visitor for Life<'_, R> {
    type Output = Result<bool, String>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Self::Output {
        let Self { host, requests } = self;
        if host.look.mistake != Mistake::EraseBeforeProgram {
            ftl.complete_units_before_erases();
        }
        if let Some(Faults { kept, .. }) = host.faults {
            ftl.keep_for_failures(kept)?;
        }
        if !std::mem::take(&mut host.fresh) {
            host.recover(&mut ftl)?;
            if host.flash.is_off() {
                return Ok(false);
            }
        }
        while !ftl.is_worn_out()
            && let Some(request) = requests.next()
        {
            let mut stamps = Vec::new();
            match request {
                Request::Write(first, count) => {
                    stamps = (host.stamps..host.stamps + u64::from(count)).collect();
                    host.stamps += u64::from(count);
                    host.flash.payload = (first, stamps.clone());
                    ftl.write(Lpn(first), count, WriteContext::default(), &mut host.flash);
                }
                Request::Read(first, count) => {
                    ftl.read(Lpn(first), count, Cause::Host, &mut host.flash);
                }
                Request::Trim(first, count) => ftl.trim(Lpn(first), count, &mut host.flash),
                Request::Collect(plane, pages) => {
                    ftl.background(plane, 3, pages, &mut host.flash);
                }
                Request::Flush if host.look.mistake == Mistake::FlushWithoutPadding => {}
                Request::Flush => ftl.complete_units(false, &mut host.flash),
            }
            host.rules(&format!("{request:?}"))?;
            if host.flash.is_off() {
                host.lost = Some((request, stamps));
                return Ok(false);
            }
            if ftl.is_worn_out() {
                // The request was not acknowledged. Recovery may discard pages of the request, even readable ones, when
                // it discards the target block of a merge. After recovery the drive may be worn out or work again.
                host.lost = Some((request, stamps));
                host.happened.worn_out = true;
                host.count_operations();
                ftl.check().map_err(|error| format!("drive worn out after {request:?}: {error}"))?;
                host.found(&ftl).map_err(|error| format!("drive worn out after {request:?}: {error}"))?;
                return Ok(false);
            }
            match request {
                Request::Write(first, count) => {
                    for (page, stamp) in (first..first + count).zip(stamps) {
                        host.pages[page as usize].push(Some(stamp));
                    }
                    if host.shape.program_unit == 1 {
                        host.settle();
                    }
                }
                // A trim is durable immediately.
                Request::Trim(first, count) => host.pages[first as usize..(first + count) as usize].fill(vec![None]),
                Request::Read(..) | Request::Collect(..) => {}
                Request::Flush => host.settle(),
            }
            ftl.check().map_err(|error| format!("after {request:?}: {error}"))?;
        }
        ftl.read(Lpn(0), host.shape.logical_pages, Cause::Host, &mut host.flash);
        host.rules("the last read")?;
        if host.flash.is_off() {
            return Ok(false);
        }
        host.settle();
        host.compare(&ftl)?;
        host.count_operations();
        Ok(true)
    }
}
