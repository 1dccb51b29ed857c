//! Checks that a device fits into memory; otherwise the system may kill the process without a message.

use pyo3::PyErr;
use ssdlab_config::{Config, Settings};
use ssdlab_core::PageSize;
use ssdlab_core::units::write_bytes;
use ssdlab_device::SPARE_BYTES;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::map::ram;
use ssdlab_sim::{Overwrite, Repeat, Setup};
use ssdlab_trace::{Generator, Source, TraceError, Workload};

use crate::errors::{ConfigError, OrRaise};

/// Bytes of FTL tables for each logical page (in the map) and for each physical page (in the inverse map).
const PER_PAGE: u64 = 4;
/// Bytes of data checker tables per logical and per physical page.
const PER_PAGE_CHECKED: u64 = 12;
/// Bytes of FTL tables per block.
const PER_BLOCK: u64 = 40;
/// Memory in bytes that a single access to a map may allocate, because the system may use a huge page.
const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// Number of requests generated per batch when counting accessed pages.
const BATCH: usize = 256;
/// Bytes that a mount reads per physical page: state, logical page, version and sequence number.
const PER_PAGE_MOUNTED: u64 = 21;

const FEWER_PAGES: &str = "lower device.capacity, or raise nand.page_size or nand.pages_per_block";

/// Fails if the tables of the simulated device exceed the free memory.
pub fn require(setup: &Setup) -> Result<(), PyErr> {
    let per_page = PER_PAGE + if setup.check { PER_PAGE_CHECKED } else { 0 };
    demand(setup, tables(setup, per_page), FEWER_PAGES)
}

/// Fails if a run of the configured workload on a new device needs more than the free memory. On an empty device, a
/// short run needs memory only for the map entries that it sets.
pub fn require_run(settings: &Settings) -> Result<(), PyErr> {
    let Settings { setup, workload, .. } = settings;
    let is_whole_map =
        matches!(&setup.ftl, FtlChoice::Page(options, map) if options.slc.is_none() && map.is(&ram::INFO));
    let is_once =
        matches!(setup.repeat, Repeat::Times(1)) && !matches!(setup.precondition.overwrite, Overwrite::Trace(_));
    if setup.filled_pages() > 0 || setup.check || !is_whole_map || !is_once {
        return require(setup);
    }
    let whole = tables(setup, PER_PAGE);
    let fixed = u64::from(setup.geometry.blocks) * PER_BLOCK + setup.geometry.pages() / 8;
    let per_access = 2 * HUGE_PAGE_BYTES;
    let pages = accessed_pages(workload, setup.geometry.page_bytes, whole / per_access).or_raise()?;
    let needed = whole.min(fixed + pages * per_access);
    // Each map is a separate allocation, which the system may grant even if it lacks memory for all entries.
    let maps = [u64::from(setup.logical_pages), setup.geometry.pages()].map(|pages| pages * PER_PAGE);
    if maps.into_iter().any(is_refused) { require(setup) } else { demand(setup, needed, FEWER_PAGES) }
}

/// Returns the number of page accesses of a workload; stops counting once it reaches `most`. A page that several
/// requests access is counted for each request. Returns `most` for a workload with long preparation, such as the
/// creation of many files, because counting would take as long.
fn accessed_pages(workload: &Workload, page_bytes: u32, most: u64) -> Result<u64, TraceError> {
    let mut generator = Generator::new(workload)?;
    if generator.prepare()? {
        return Ok(most);
    }
    let (page, mut batch, mut pages) = (PageSize::new(page_bytes), Vec::new(), 0);
    while pages < most && generator.fill(&mut batch, BATCH)? > 0 {
        pages += batch.drain(..).map(|request| u64::from(page.split(request.offset, request.end()).count)).sum::<u64>();
    }
    Ok(pages)
}

/// Fails if the drive of `config`, which stores bytes, would exceed the free memory when it is full. The stored bytes
/// are included unless they are in a file.
pub fn require_drive(config: &Config, setup: &Setup, is_in_file: bool) -> Result<(), PyErr> {
    if is_in_file {
        return demand(setup, drive_tables(setup), FEWER_PAGES);
    }
    let needed = drive_bytes(setup);
    if shortage(needed).is_none() {
        return Ok(());
    }
    let smaller = smaller_drive(config, setup).map_or_else(String::new, |sets| format!("set {sets}, or "));
    demand(setup, needed, &format!("{smaller}store the data in a file"))
}

/// Returns the settings of the largest drive that fits into memory when full. Its capacity is a power of two.
fn smaller_drive(config: &Config, setup: &Setup) -> Option<String> {
    let most = setup.capacity_bytes().ilog2();
    let fits = |config: &Config, bytes: u64| {
        let smaller = config.with("device.capacity", &format!("{bytes}B")).and_then(|smaller| smaller.settings(None));
        smaller.is_ok_and(|smaller| shortage(drive_bytes(&smaller.setup)).is_none())
    };
    let capacity = |config: &Config| (20..=most).rev().map(|bits| 1 << bits).find(|&bytes| fits(config, bytes));
    let set = |bytes| format!("device.capacity to {}", write_bytes(bytes));
    let scaled = || {
        let nominal = format!("{}B", setup.capacity_bytes());
        capacity(&config.with("device.scale", "blocks").ok()?.with("device.scale.blocks.capacity", &nominal).ok()?)
    };
    capacity(config).map(set).or_else(|| Some(format!("{} and device.scale to \"blocks\"", set(scaled()?))))
}

fn drive_bytes(setup: &Setup) -> u64 {
    let Setup { geometry, .. } = setup;
    drive_tables(setup) + geometry.pages() * (u64::from(geometry.page_bytes) + SPARE_BYTES as u64)
}

fn drive_tables(setup: &Setup) -> u64 {
    tables(setup, PER_PAGE) + setup.geometry.pages() * PER_PAGE_MOUNTED
}

fn tables(setup: &Setup, per_page: u64) -> u64 {
    (u64::from(setup.logical_pages) + setup.geometry.pages()) * per_page + u64::from(setup.geometry.blocks) * PER_BLOCK
}

fn demand(setup: &Setup, needed: u64, remedy: &str) -> Result<(), PyErr> {
    let Some(shortage) = shortage(needed) else { return Ok(()) };
    let free = shortage.free.filter(|_| !shortage.refused);
    let free = free.map_or("the system refuses to allocate it".into(), |free| format!("{} are free", gib(free)));
    Err(ConfigError::new_err(format!(
        "a device of {} blocks of {} pages needs {} of memory, but {free}; {remedy}",
        setup.geometry.blocks,
        setup.geometry.pages_per_block,
        gib(needed)
    )))
}

/// Fails if the memory budget of a cache exceeds the free memory.
pub fn require_budget(bytes: u64) -> Result<(), PyErr> {
    let Some(shortage) = shortage(bytes) else { return Ok(()) };
    let free = shortage.free.filter(|&free| free < bytes);
    let than = free.map_or("what the system allows".into(), |free| format!("the {} of free memory", gib(free)));
    Err(ConfigError::new_err(format!("a budget of {} exceeds {than}; lower the budget", gib(bytes))))
}

/// Reason why the needed memory is not available.
struct Shortage {
    /// True if the system refuses the allocation regardless of the amount of free memory.
    refused: bool,
    /// Number of free bytes, if known.
    free: Option<u64>,
}

/// Returns the reason why `needed` bytes are not available; None if they are available.
fn shortage(needed: u64) -> Option<Shortage> {
    let refused = is_refused(needed);
    let free = free_bytes();
    let fits = !refused && free.is_none_or(|free| needed <= free);
    (!fits).then_some(Shortage { refused, free })
}

/// True if limits of the process or the system forbid an allocation. Tests this by reserving address space, which
/// touches no memory.
fn is_refused(bytes: u64) -> bool {
    Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)).is_err()
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// Returns the memory available without swapping, if known.
fn free_bytes() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| {
        let kib = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        kib.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    });
    // In a container, this file contains the memory limit; "max" means no limit.
    let container = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    system.into_iter().chain(container).min()
}
