//! Checks for FTLs and for components of page mapping, on small drives.

use std::cell::Cell;
use std::io::ErrorKind;

use ssdlab_core::{Archive, BlockId, Lpn, Ppn};
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{Ftl, FtlChoice, NO_RECOVERY, WriteContext};
use ssdlab_nand::{Cause, Counts, FlashOp, FlashSink, Note, Source, SpareArea};
use ssdlab_sim::Setup;
use ssdlab_sim::check::data_checker::DataChecker;

use crate::case::{Check, Checked, Verdict, check, check_explained, check_limits};
use crate::drive::{Drive, Part, worlds};
use crate::parameters::{Limit, limits};
use crate::power::{Last, Look, Request, World};

/// Maximum number of flash operations per request, far more than a request to a small drive needs.
const MOST_OPERATIONS: u32 = 10_000;

/// All checks of FTLs, with their names.
pub const CHECKS: &[Check<Part>] = drive_checks!([table]);

/// Runs `holds` on random drives and requests.
fn check_drives(
    part: Part,
    limit: Option<Limit>,
    name: &'static str,
    cases: u32,
    holds: impl Fn(&Setup, &[Request]) -> Result<(), String>,
) -> Checked {
    let worlds = worlds(part, limit, 100);
    check_explained(part.name(), name, cases, worlds, Drive::explained, |drive, requests| holds(&drive.setup, requests))
}

/// Checks that every read returns the data last written, every flash operation obeys the NAND rules, and no valid data
/// is erased.
pub fn reads_return_the_last_write(part: Part) -> Checked {
    reads_back(part, None, "reads_return_the_last_write", 150)
}

/// Repeats [`reads_return_the_last_write`] with each parameter at its smallest and at its largest value.
pub fn parameters_work_at_their_limits(part: Part) -> Checked {
    let name = "parameters_work_at_their_limits";
    check_limits(limits(part.parameters()), |limit| reads_back(part, Some(limit), name, 8))
}

fn reads_back(part: Part, limit: Option<Limit>, name: &'static str, cases: u32) -> Checked {
    check_drives(part, limit, name, cases, |setup, requests| {
        setup.ftl.build(setup.shape(), setup.seed, ReadBack { setup, requests })?
    })
}

/// Serves requests on flash that checks each operation.
struct ReadBack<'a> {
    setup: &'a Setup,
    requests: &'a [Request],
}

impl Visitor for ReadBack<'_> {
    type Output = Result<(), String>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Self::Output {
        let pages = self.setup.logical_pages;
        let mut sink = (DataChecker::new(self.setup), Budget::FULL);
        for request in self.requests.iter().chain(&[Request::Read(0, pages)]) {
            match *request {
                Request::Write(first, count) => sink.0.expect_write(Lpn(first), count),
                Request::Trim(first, count) => sink.0.expect_trim(Lpn(first), count),
                _ => {}
            }
            serve(&mut ftl, *request, &mut sink);
            if let Request::Read(first, count) = *request {
                sink.0.verify_read(&ftl, Lpn(first), count);
            }
            ftl.check()?;
            if let Some(violation) = sink.0.violation() {
                return Err(violation.to_owned());
            }
        }
        Ok(())
    }
}

/// Number of write streams that the host uses. The first page of a write determines its stream.
const STREAMS: u32 = 3;

/// Serves a request with a full budget; returns the number of pages read that had never been written.
fn serve<F: Ftl, S: FlashSink>(ftl: &mut F, request: Request, sink: &mut (S, Budget)) -> u32 {
    sink.1 = Budget::FULL;
    match request {
        Request::Write(first, count) => {
            let stream = (first % STREAMS) as u16;
            ftl.write(Lpn(first), count, WriteContext { stream, ..WriteContext::default() }, sink);
        }
        Request::Read(first, count) => return ftl.read(Lpn(first), count, Cause::Host, sink),
        Request::Trim(first, count) => ftl.trim(Lpn(first), count, sink),
        Request::Collect(plane, pages) => drop(ftl.background(plane, 3, pages, sink)),
        Request::Flush => ftl.complete_units(false, sink),
    }
    0
}

/// Limit on the flash operations of a request. Exceeding it causes a panic, because the FTL may be in an endless loop.
struct Budget(u32);

impl Budget {
    const FULL: Self = Self(MOST_OPERATIONS);

    fn count(&mut self) {
        self.0 = self.0.checked_sub(1).unwrap_or_else(|| {
            panic!(
                "one request needed over {MOST_OPERATIONS} flash operations; check that garbage collection frees pages"
            )
        });
    }
}

impl FlashSink for Budget {
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {
        self.count();
    }

    fn program(&mut self, _ppn: Ppn, _oob: SpareArea, _source: Source, _cause: Cause) {
        self.count();
    }

    fn erase(&mut self, _block: BlockId, _cause: Cause) {
        self.count();
    }
}

/// Checks that every program writes a host page or a copied page, and that each copied page was read. Checks that the
/// number of host reads equals the number of mapped pages read. Also compares the FTL's counts of erases, free blocks
/// and mapped pages with the flash operations.
pub fn counts_add_up(part: Part) -> Checked {
    check_drives(part, None, "counts_add_up", 100, |setup, requests| {
        setup.ftl.build(setup.shape(), setup.seed, Count { setup, requests })?
    })
}

/// Flash operation counts. Programs are grouped by data source here, and by cause in [`Counts`].
struct Tally {
    pages_per_block: u32,
    host: u64,
    copies: u64,
    /// Number of erases of each block.
    erases: Vec<u32>,
    /// Number of pages programmed in each block since its last erase.
    programmed: Vec<u32>,
    /// Number of victim blocks that page mapping has chosen.
    victims: u64,
}

impl FlashSink for Tally {
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    fn program(&mut self, ppn: Ppn, _oob: SpareArea, source: Source, _cause: Cause) {
        self.programmed[(ppn.0 / self.pages_per_block) as usize] += 1;
        match source {
            Source::Host(_) => self.host += 1,
            Source::Copy(_) => self.copies += 1,
            Source::Map | Source::Padding => {}
        }
    }

    fn erase(&mut self, block: BlockId, _cause: Cause) {
        self.erases[block.index()] += 1;
        self.programmed[block.index()] = 0;
    }

    fn note(&mut self, note: Note) {
        self.victims += u64::from(matches!(note, Note::Victim { .. }));
    }
}

struct Count<'a> {
    setup: &'a Setup,
    requests: &'a [Request],
}

impl Visitor for Count<'_> {
    type Output = Result<(), String>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Self::Output {
        let Self { setup, requests } = self;
        let blocks = setup.geometry.blocks as usize;
        let tally = Tally {
            pages_per_block: setup.geometry.pages_per_block,
            host: 0,
            copies: 0,
            erases: vec![0; blocks],
            programmed: vec![0; blocks],
            victims: 0,
        };
        let mut sink = ((Counts::default(), tally), Budget::FULL);
        let mut mapped = vec![false; setup.logical_pages as usize];
        let (mut written, mut read, mut unmapped) = (0, 0, 0);
        for &request in requests {
            let unmapped_now = serve(&mut ftl, request, &mut sink);
            let (counts, tally) = &sink.0;
            match request {
                Request::Write(first, count) => {
                    mapped[first as usize..][..count as usize].fill(true);
                    written += u64::from(count);
                }
                Request::Read(first, count) => {
                    let pages = &mapped[first as usize..][..count as usize];
                    let never = pages.iter().filter(|&&is_mapped| !is_mapped).count() as u64;
                    equal("number of never-written pages returned by the read", unmapped_now.into(), never)?;
                    read += u64::from(count);
                    unmapped += never;
                }
                Request::Trim(first, count) => mapped[first as usize..][..count as usize].fill(false),
                Request::Collect(..) | Request::Flush => {}
            }
            equal("programmed host pages", tally.host, written)?;
            equal("programs attributed to cause `host`", counts.programs[Cause::Host as usize], written)?;
            equal("reads attributed to cause `host`", counts.reads[Cause::Host as usize], read - unmapped)?;
            let copying = [Cause::Gc, Cause::MapGc, Cause::Fold].into_iter().chain(Cause::ALL[3..8].iter().copied());
            for cause in copying.clone() {
                let [programs, reads] = [&counts.programs, &counts.reads].map(|counts| counts[cause as usize]);
                equal(&format!("reads attributed to copies with cause `{}`", cause.name()), reads, programs)?;
            }
            let copies = copying.map(|cause| counts.programs[cause as usize]).sum();
            // Garbage collection either copies a map page or writes a new version of it.
            equal("programs of copies", tally.copies, copies)?;
            let found = (0..setup.logical_pages).filter(|&lpn| ftl.lookup(Lpn(lpn)).is_some()).count();
            equal("mapped pages", found as u64, mapped.iter().filter(|&&is_mapped| is_mapped).count() as u64)?;
            if !ftl.erase_counts().is_empty() && ftl.erase_counts() != tally.erases {
                return Err(format!(
                    "the FTL's erase counts per block are {:?} instead of {:?}",
                    ftl.erase_counts(),
                    tally.erases
                ));
            }
            // Each plane collects one victim block at a time and erases the block at the end.
            let collecting = tally.victims as i64 - counts.erased() as i64;
            if matches!(setup.ftl, FtlChoice::Page(..)) && !(0..=setup.geometry.areas().into()).contains(&collecting) {
                return Err(format!("the FTL chose {} victims, but erased {} blocks", tally.victims, counts.erased()));
            }
            let erased = tally.programmed.iter().filter(|&&pages| pages == 0).count() as u32;
            if ftl.free_blocks() > erased {
                return Err(format!(
                    "free_blocks() returns {}, but only {erased} blocks are erased",
                    ftl.free_blocks()
                ));
            }
        }
        Ok(())
    }
}

fn equal(what: &str, counted: u64, expected: u64) -> Result<(), String> {
    if counted == expected { Ok(()) } else { Err(format!("{what}: {counted} instead of {expected}")) }
}

/// Checks that two FTLs with identical options emit the same flash operations for the same requests.
pub fn equal_runs_are_equal(part: Part) -> Checked {
    check_drives(part, None, "equal_runs_are_equal", 50, |setup, requests| {
        let run = || setup.ftl.build(setup.shape(), setup.seed, Record { requests });
        compared(&run()?, &run()?, "the second run")
    })
}

/// Records the flash operations that requests cause.
struct Record<'a> {
    requests: &'a [Request],
}

impl Visitor for Record<'_> {
    type Output = Vec<FlashOp>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Self::Output {
        recorded(&mut ftl, self.requests)
    }
}

fn recorded<F: Ftl>(ftl: &mut F, requests: &[Request]) -> Vec<FlashOp> {
    let mut sink = (Vec::new(), Budget::FULL);
    for &request in requests {
        serve(ftl, request, &mut sink);
    }
    sink.0
}

/// Compares the flash operations of two runs; the error describes the first difference.
fn compared(expected: &[FlashOp], other: &[FlashOp], name: &str) -> Result<(), String> {
    if expected == other {
        return Ok(());
    }
    let at = expected.iter().zip(other).take_while(|(one, two)| one == two).count();
    let operation =
        |all: &[FlashOp]| all.get(at).map_or("no operation".to_owned(), |operation| format!("{operation:?}"));
    let (done, instead) = (operation(other), operation(expected));
    Err(format!("flash operation {} of {name} is {done} instead of {instead}", at + 1))
}

/// Checks that an FTL loaded from a saved state emits the same flash operations as the FTL that was saved.
pub fn a_loaded_state_continues(part: Part) -> Checked {
    let is_missing = Cell::new(false);
    let checked = check_drives(part, None, "a_loaded_state_continues", 50, |setup, requests| {
        let (before, after) = requests.split_at(requests.len() / 2);
        let build = |visitor| setup.ftl.build(setup.shape(), setup.seed, visitor);
        match build(SaveOrLoad { saved: None, before, after })? {
            Err(error) if error.kind() == ErrorKind::Unsupported => is_missing.set(true),
            Err(error) => return Err(format!("the state cannot be saved: {error}")),
            Ok((saved, continued)) => {
                let loaded = build(SaveOrLoad { saved: Some(&saved), before, after })?;
                let (again, others) = loaded.map_err(|error| format!("the state cannot be loaded: {error}"))?;
                if again != saved {
                    return Err("saving a loaded state does not reproduce the saved bytes".to_owned());
                }
                compared(&continued, &others, "the loaded FTL")?;
            }
        }
        Ok(())
    })?;
    Ok(if is_missing.get() { Verdict::Skipped("the FTL cannot save its state") } else { checked })
}

/// Runs an FTL and saves its state between the requests `before` and `after`. If `saved` is given, the FTL loads this
/// state instead of serving the requests `before`.
struct SaveOrLoad<'a> {
    saved: Option<&'a [u8]>,
    before: &'a [Request],
    after: &'a [Request],
}

impl Visitor for SaveOrLoad<'_> {
    type Output = std::io::Result<(Vec<u8>, Vec<FlashOp>)>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Self::Output {
        match self.saved {
            Some(mut bytes) => ftl.archive(&mut Archive::Load(&mut bytes))?,
            None => drop(recorded(&mut ftl, self.before)),
        }
        let mut bytes = Vec::new();
        ftl.archive(&mut Archive::Save(&mut bytes))?;
        Ok((bytes, recorded(&mut ftl, self.after)))
    }
}

/// Checks that an FTL recovers every acknowledged page after a power loss at any flash operation, including a second
/// power loss during recovery.
pub fn power_may_fail_at_any_operation(part: Part) -> Checked {
    let is_missing = Cell::new(false);
    let (name, worlds) = ("power_may_fail_at_any_operation", worlds(part, None, 12));
    let checked = check(part.name(), name, 10, worlds, |Drive { setup }, requests| {
        let live = |cuts: &[(u64, Last)]| {
            let cuts = cuts.to_vec();
            let world = World { ftl: setup.ftl, shape: setup.shape(), seed: setup.seed, cuts, faults: None };
            world.live(requests, Look::RIGHT)
        };
        for cut in 1..=live(&[])?.operations {
            for last in [Last::Undone, Last::Torn] {
                let at = |error| format!("power loss leaves flash operation {cut} {}: {error}", last.name());
                match live(&[(cut, last)]) {
                    Err(error) if error == NO_RECOVERY => is_missing.set(true),
                    Err(error) => return Err(at(error)),
                    Ok(happened) if happened.recovering > 0 => {
                        let second = 1 + cut % happened.recovering;
                        let again = |error| at(format!("second power loss at operation {second} of recovery: {error}"));
                        live(&[(cut, last), (second, Last::Torn)]).map_err(again)?;
                    }
                    Ok(_) => {}
                }
            }
        }
        Ok(())
    })?;
    Ok(if is_missing.get() { Verdict::Skipped("the FTL cannot recover from a power loss") } else { checked })
}
