//! Times the mount of a drive and the write of its checkpoint: `mount [GIBIBYTES]`, 64 by default. Part of `make
//! bench`.
//!
//! The drive is full, so a mount reads as much as possible. Page data is not stored, because a mount reads hardly any
//! of it. The first part keeps spare areas and log in memory, like a file in the system's cache. The second part uses a
//! file that must be read from the disk. Processor time is summed over all threads.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use rustix::time::{ClockId, clock_gettime};
use ssdlab_core::difference::Line;
use ssdlab_core::{BlockId, Ppn, Rng};
use ssdlab_device::{
    Backend, Content, Drive, Fault, FileBackend, MemoryBackend, MountReport, Options, SPARE_BYTES, Slot, SpareBytes,
};
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{FtlChoice, gc, placement};
use ssdlab_nand::Geometry;

const PAGE_BYTES: u32 = 4096;
const PAGES_PER_BLOCK: u32 = 512;
/// Number of page writes between the latest checkpoint and the power loss.
const JOURNALLED_PAGES: u64 = 100_000;
const ROUNDS: usize = 7;

/// Flash that stores spare areas and logs, but no page data.
#[derive(Clone)]
struct SpareAreas<B> {
    geometry: Geometry,
    kept: B,
}

type InMemory = SpareAreas<MemoryBackend>;

impl<B: Backend> Backend for SpareAreas<B> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn reads_at_once(&self) -> bool {
        self.kept.reads_at_once()
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        page.fill(0);
        self.kept.read(ppn, &mut [], spare)
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        self.kept.read_spares(first, spares)
    }

    fn program(&mut self, ppn: Ppn, _page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        self.kept.program(ppn, &[], spare)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        self.kept.erase(block)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.kept.sync()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.kept.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        self.kept.mark_bad(block)
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.kept.read_log(slot, offset, bytes)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.kept.write_log(slot, offset, bytes)
    }
}

/// Creates a drive with page mapping, `pages` logical pages and 7 % over-provisioning.
fn drive_of(pages: u32) -> Result<Drive<InMemory>, Box<dyn Error>> {
    let spare = pages / PAGES_PER_BLOCK * 7 / 100 + 8;
    let blocks = pages.div_ceil(PAGES_PER_BLOCK) + spare;
    let geometry = Geometry::single_plane(PAGE_BYTES, PAGES_PER_BLOCK, blocks);
    let page = PageOptions::new(gc::greedy::INFO.defaults(), &placement::shared::INFO);
    let options = Options {
        logical_pages: pages,
        ftl: FtlChoice::Page(page, ram::INFO.defaults()),
        seed: 1,
        buffer: None,
        journal_blocks: Options::journal_blocks(blocks),
        spare_for_failures: 0,
        endurance_cycles: 3_000,
    };
    let kept = MemoryBackend::new(Geometry { page_bytes: 0, ..geometry });
    Ok(Drive::create(SpareAreas { geometry, kept }, options)?)
}

/// Measures wall-clock time and processor time.
#[derive(Clone, Copy)]
struct Watch {
    wall: Instant,
    worked: Duration,
}

impl Watch {
    fn start() -> Self {
        Self { wall: Instant::now(), worked: worked() }
    }

    fn seconds(self) -> [f64; 2] {
        [self.wall.elapsed(), worked() - self.worked].map(|time| time.as_secs_f64())
    }
}

/// Returns the processor time that this process has used so far.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the smaller wall-clock time and the smaller processor time of two measurements.
fn least(times: [f64; 2], others: [f64; 2]) -> [f64; 2] {
    [times[0].min(others[0]), times[1].min(others[1])]
}

/// Mounts the drive as after the end of its process. Prints the fastest of several rounds, and the amount of data read.
fn opened(drive: Drive<InMemory>, shown: &str) -> Result<Drive<InMemory>, Box<dyn Error>> {
    let options = *drive.options();
    let found = drive.into_backend();
    let mut fastest = [f64::MAX; 2];
    for left in (0..ROUNDS).rev() {
        let flash = found.clone();
        let watch = Watch::start();
        let mut drive = Drive::off(flash, options)?;
        let MountReport { log_bytes_read, spares_read, .. } = drive.mount()?;
        fastest = least(fastest, watch.seconds());
        if left == 0 {
            let log_mebibytes = log_bytes_read as f64 / f64::from(1 << 20);
            let [wall, worked] = fastest;
            println!("| {shown} | {wall:.2} | {worked:.2} | {log_mebibytes:.1} | {spares_read} |");
            return Ok(drive);
        }
    }
    unreachable!("the number of rounds is above 0")
}

fn report(mut drive: Drive<InMemory>, history: &str) -> Result<Drive<InMemory>, Box<dyn Error>> {
    let pages = drive.capacity_bytes() / u64::from(PAGE_BYTES);
    let watch = Watch::start();
    drive.shut_down()?;
    let [wall, worked] = watch.seconds();
    println!("| {history}: write of its checkpoint | {wall:.2} | {worked:.2} | | |");
    drive = opened(drive, &format!("{history}, shut down"))?;
    let mut rng = Rng::named(2, "journalled");
    let page = vec![0; PAGE_BYTES as usize];
    for _ in 0..JOURNALLED_PAGES.min(pages / 20) {
        drive.write(rng.below(pages) * u64::from(PAGE_BYTES), &page, false)?;
    }
    drive.flush()?;
    drive = opened(drive, &format!("{history}, power lost after a flush"))?;
    for slot in [Slot::A, Slot::B] {
        // Overwriting the header removes the log.
        drive.backend_mut().write_log(slot, 0, &[0; 64])?;
    }
    drive = opened(drive, &format!("{history}, without a log"))?;
    let [wall, worked] = first_write(&mut drive)?;
    println!("| first write, which starts a log | {wall:.2} | {worked:.2} | | |");
    Ok(drive)
}

/// Times the first write to a drive.
fn first_write<B: Backend>(drive: &mut Drive<B>) -> Result<[f64; 2], Box<dyn Error>> {
    let watch = Watch::start();
    drive.write(0, &[0; PAGE_BYTES as usize], false)?;
    Ok(watch.seconds())
}

/// Times a pass over all spare areas, which is the lower bound for a mount without a log.
fn pass(drive: &Drive<InMemory>) -> Result<(), Box<dyn Error>> {
    let flash = drive.backend();
    let mut spares = vec![0; PAGES_PER_BLOCK as usize * SPARE_BYTES];
    let watch = Watch::start();
    let mut written = 0_u64;
    for block in (0..flash.geometry.blocks).map(BlockId) {
        flash.read_spares(Ppn(block.0 * PAGES_PER_BLOCK), &mut spares)?;
        let areas = (block.0 * PAGES_PER_BLOCK..).map(Ppn).zip(spares.chunks_exact(SPARE_BYTES));
        for (ppn, spare) in areas {
            written += u64::from(Content::decode(ppn, spare.try_into()?) != Content::Erased);
        }
    }
    let [wall, worked] = watch.seconds();
    println!("| checksums of all spare areas alone | {wall:.2} | {worked:.2} | | {written} |");
    Ok(())
}

/// Times the mount of a drive whose file is not in the system's cache.
fn from_disk(drive: Drive<InMemory>) -> Result<(), Box<dyn Error>> {
    let (options, flash) = (*drive.options(), drive.into_backend());
    let geometry = flash.geometry;
    let lines = [("ftl".to_owned(), "page".to_owned())];
    let path = Scratch(std::env::temp_dir().join(format!("ssdlab-mount-{}.drive", std::process::id())));
    let mut file = FileBackend::create(&path.0, geometry, &lines, &[])?;
    FileBackend::finish(&path.0)?;
    let mut spares = vec![0; PAGES_PER_BLOCK as usize * SPARE_BYTES];
    for block in (0..geometry.blocks).map(BlockId) {
        flash.read_spares(Ppn(block.0 * PAGES_PER_BLOCK), &mut spares)?;
        let pages = (block.0 * PAGES_PER_BLOCK..).map(Ppn).zip(spares.as_chunks().0);
        for (ppn, spare) in pages.filter(|(_, spare)| **spare != [0; SPARE_BYTES]) {
            file.program(ppn, &[], spare)?;
        }
    }
    drop((flash, file));
    let (mut fastest, mut report) = ([[f64::MAX; 2]; 4], MountReport::default());
    for _ in 0..ROUNDS {
        for checked in [false, true] {
            let file = uncached(&path.0, geometry, &lines)?;
            let watch = Watch::start();
            read(&file, checked)?;
            fastest[usize::from(checked)] = least(fastest[usize::from(checked)], watch.seconds());
        }
        let mut file = uncached(&path.0, geometry, &lines)?;
        // The previous round of the loop left a log.
        file.write_log(Slot::A, 0, &[0; 64])?;
        let mut drive = Drive::off(file, options)?;
        let watch = Watch::start();
        report = drive.mount()?;
        assert!(report.full_scan, "the log was removed");
        fastest[2] = least(fastest[2], watch.seconds());
        fastest[3] = least(fastest[3], first_write(&mut drive)?);
    }
    println!("\n| from a file that is not in the system's cache | seconds | of processors |\n|---|---|---|");
    let rows = [
        "spare areas read",
        "spare areas read, with checksums",
        "mounted without a log",
        "first write, which starts a log",
    ];
    for (row, [wall, worked]) in rows.iter().zip(fastest) {
        println!("| {row} | {wall:.2} | {worked:.2} |");
    }
    let MountReport { spares_read, pages_verified, .. } = report;
    println!("\nThe mount read {spares_read} spare areas and {pages_verified} pages.");
    Ok(())
}

/// Reads all spare areas of a file on one processor, with or without comparing their checksums.
fn read(file: &FileBackend, checked: bool) -> Result<(), Box<dyn Error>> {
    let mut spares = vec![0; PAGES_PER_BLOCK as usize * SPARE_BYTES];
    for block in (0..file.geometry().blocks).map(BlockId) {
        file.read_spares(Ppn(block.0 * PAGES_PER_BLOCK), &mut spares)?;
        let areas = (block.0 * PAGES_PER_BLOCK..).map(Ppn).zip(spares.as_chunks().0);
        if checked && areas.into_iter().any(|(ppn, spare)| Content::decode(ppn, spare) == Content::Damaged) {
            return Err(format!("block {block} is damaged").into());
        }
    }
    Ok(())
}

/// Drops the drive's file from the system's cache and opens it.
fn uncached(path: &Path, geometry: Geometry, lines: &[Line]) -> Result<FileBackend, Box<dyn Error>> {
    let file = File::open(path)?;
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(FileBackend::open(path, geometry, lines, &[])?)
}

/// A temporary file that is removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn run(pages: u32) -> Result<(), Box<dyn Error>> {
    println!("\n### Mount of a drive of {:.0} GiB, all of it written\n", f64::from(pages) / f64::from(1 << 18));
    println!("| drive | seconds | of processors | MiB of the log | spare areas read |\n|---|---|---|---|---|");
    let mut drive = drive_of(pages)?;
    let run = vec![0; 256 * PAGE_BYTES as usize];
    for first in (0..pages).step_by(256) {
        let bytes = 256.min(pages - first) * PAGE_BYTES;
        drive.write(u64::from(first) * u64::from(PAGE_BYTES), &run[..bytes as usize], false)?;
    }
    drive = report(drive, "written once")?;
    let mut rng = Rng::named(1, "overwritten");
    for _ in 0..pages / 2 {
        let page = rng.below(pages.into()) * u64::from(PAGE_BYTES);
        drive.write(page, &run[..PAGE_BYTES as usize], false)?;
    }
    drive = report(drive, "half overwritten at random")?;
    pass(&drive)?;
    from_disk(drive)
}

fn main() -> Result<(), Box<dyn Error>> {
    let gibibytes: u32 = std::env::args().nth(1).map_or(Ok(64), |argument| argument.parse())?;
    run(gibibytes << 18)
}

#[test]
fn a_small_drive_is_mounted_as_the_large_one() {
    run(20_000).expect("the example runs on a small drive");
}
