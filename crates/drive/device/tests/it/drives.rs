//! Small drives with every kind of FTL, map and write buffer.

use ssdlab_core::Rng;
use ssdlab_device::{Options, WriteBuffer};
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::log::{LogBlocks, LogChoice, sbfast};
use ssdlab_ftl::map::{dftl, ram, segments};
use ssdlab_ftl::page::{Allocation, PageOptions, Trigger};
use ssdlab_ftl::{FtlChoice, Shape, gc, placement};
use ssdlab_nand::{Collected, Geometry, Parallelism, ProgramOrder, Units};

/// Name, options and flash geometry of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub geometry: Geometry,
    pub options: Options,
}

const PAGE: PageOptions = PageOptions::new(gc::greedy::INFO.defaults(), &placement::shared::INFO);

/// Returns the smallest drive with the given FTL, plus `spare` blocks.
fn kind(
    name: &'static str,
    ftl: FtlChoice,
    (pages_per_block, planes, spare): (u32, u32, u32),
    page_bytes: u32,
) -> Kind {
    let parallelism = Parallelism { channels: planes, ..Parallelism::SINGLE };
    kind_on(name, ftl, (pages_per_block, spare), page_bytes, (parallelism, Units::PAGE))
}

/// Returns the smallest drive with the given FTL on chips with the given units.
fn kind_on(
    name: &'static str,
    ftl: FtlChoice,
    (pages_per_block, spare): (u32, u32),
    page_bytes: u32,
    (parallelism, units): (Parallelism, Units),
) -> Kind {
    let logical_pages = 4 * pages_per_block - 1;
    let order = ProgramOrder::Ascending;
    let mut geometry = Geometry { page_bytes, pages_per_block, blocks: 0, order, parallelism, units };
    let shape = Shape {
        logical_pages,
        page_bytes,
        blocks: 0,
        pages_per_block,
        order,
        planes: geometry.areas(),
        program_unit: geometry.program_unit(),
    };
    let log_blocks = if let FtlChoice::Log(_, count) = ftl { count } else { 0 };
    let blocks = 4 + spare + log_blocks + ftl.device_reserve_blocks(&shape);
    geometry.blocks = blocks.next_multiple_of(geometry.areas());
    Kind {
        name,
        geometry,
        options: Options {
            logical_pages,
            ftl,
            seed: 1,
            buffer: None,
            journal_blocks: 8,
            spare_for_failures: 0,
            endurance_cycles: 1_000,
        },
    }
}

/// Returns the smallest drive with each FTL.
pub fn smallest() -> Vec<Kind> {
    of_blocks(4)
}

/// Returns the smallest drive with each FTL and `pages` pages per block.
pub fn of_blocks(pages: u32) -> Vec<Kind> {
    let page = |options, map| FtlChoice::Page(options, map);
    let whole = ram::INFO.defaults();
    let own = PageOptions { placement: placement::own::INFO.defaults(), allocation: Allocation::LeastWorn, ..PAGE };
    let partial = PageOptions { trigger: Trigger::Partial { low: 2, step: 1, every: 1 }, ..own };
    let segmented = segments::INFO.set(&[("cache", 128), ("segment", 64), ("entry", 32)]).expect("in range");
    let cached = dftl::INFO.set(&[("cmt", 3), ("entry", 32)]).expect("in range");
    assert_eq!(MAPS.len(), 3, "a new map needs a drive in this list");
    let mut kinds = vec![
        kind("page", page(PAGE, whole), (pages, 1, 0), 64),
        kind("page, own block, two planes", page(own, whole), (pages, 2, 0), 64),
        kind("page, partial collection", page(partial, whole), (pages - 1, 1, 1), 64),
        kind("page, segments", page(PAGE, segmented), (pages, 1, 0), 128),
        kind("page, dftl", page(own, cached), (pages, 1, 0), 128),
    ];
    // A program unit has two or four pages, and a block has one or several program units.
    let units = |dies, planes, per_flash_page, word_line, collected| {
        (
            Parallelism { dies, planes, ..Parallelism::SINGLE },
            Units { per_flash_page, word_line, collected, ..Units::PAGE },
        )
    };
    let superblock = units(2, 1, 1, 2, Collected::Superblock);
    let on_units = [
        kind_on("page, superblocks", page(PAGE, whole), (pages, 0), 64, superblock),
        kind_on("page, own block, dies", page(own, whole), (pages, 0), 64, units(2, 2, 1, 1, Collected::Die)),
        kind_on(
            "page, word lines, partial collection",
            page(partial, whole),
            (pages, 1),
            64,
            units(1, 1, 2, 2, Collected::Plane),
        ),
        kind_on("page, superblocks, dftl", page(own, cached), (pages, 0), 128, superblock),
    ];
    kinds.extend(on_units.into_iter().filter(|_| pages.is_multiple_of(4)));
    for ftl in log_ftls() {
        let [least, more] = log_blocks(&ftl);
        let name = ftl.info.name;
        kinds.extend([least, more].map(|count| kind(name, FtlChoice::Log(ftl, count), (pages, 1, 0), 64)));
    }
    kinds
}

/// Adds a write buffer of four pages to the drive.
pub fn buffered(kind: Kind) -> Kind {
    let buffer = Some(WriteBuffer { pages: 4, high: 3, low: 1, protected: false });
    Kind { options: Options { buffer, ..kind.options }, ..kind }
}

/// Adds a protected write buffer to the drive.
pub fn protected(kind: Kind) -> Kind {
    let buffer = Some(WriteBuffer { pages: 4, high: 3, low: 1, protected: true });
    Kind { options: Options { buffer, ..kind.options }, ..kind }
}

/// Adds a random write buffer to the drive, or none.
pub fn any_buffer(kind: Kind, rng: &mut Rng) -> Kind {
    let pages = 1 + rng.below(9) as u32;
    let high = 1 + rng.below(pages.into()) as u32;
    let (low, protected) = (rng.below(high.into()) as u32, rng.below(3) > 0);
    let buffer = (rng.below(5) > 0).then_some(WriteBuffer { pages, high, low, protected });
    Kind { options: Options { buffer, ..kind.options }, ..kind }
}

/// Returns each drive without a write buffer, with a volatile write buffer, and with a protected write buffer.
pub fn all_buffers(kinds: Vec<Kind>) -> Vec<Kind> {
    kinds.into_iter().flat_map(|kind| [kind, buffered(kind), protected(kind)]).collect()
}

/// Returns drives with spare blocks, for failing flash.
pub fn roomy() -> Vec<Kind> {
    let whole = ram::INFO.defaults();
    let own = PageOptions { placement: placement::own::INFO.defaults(), ..PAGE };
    let mut kinds = vec![
        kind("page", FtlChoice::Page(PAGE, whole), (4, 1, 12), 64),
        kind("page, own block, two planes", FtlChoice::Page(own, whole), (4, 2, 24), 64),
        kind_on(
            "page, superblocks",
            FtlChoice::Page(own, whole),
            (4, 12),
            64,
            (
                Parallelism { dies: 2, ..Parallelism::SINGLE },
                Units { word_line: 2, collected: Collected::Superblock, ..Units::PAGE },
            ),
        ),
    ];
    for ftl in log_ftls() {
        let [_, count] = log_blocks(&ftl);
        kinds.push(kind(ftl.info.name, FtlChoice::Log(ftl, count), (4, 1, 12), 64));
    }
    for kind in &mut kinds {
        kind.options.spare_for_failures = 3;
    }
    kinds
}

/// Returns every log-block FTL, with sub-blocks that fit the small blocks of these drives.
fn log_ftls() -> impl Iterator<Item = LogChoice> {
    LOG_FTLS.iter().map(|info| {
        let settings: &[(&str, u64)] =
            if info.name == sbfast::INFO.name { &[("slb", 1), ("sub_block", 2)] } else { &[] };
        info.set(settings).expect("in range")
    })
}

/// Returns two numbers of log blocks: the minimum on these drives, and two more.
fn log_blocks(ftl: &LogChoice) -> [u32; 2] {
    let works = |&count: &u32| {
        let least = (ftl.info.role.least_log_blocks)(ftl);
        count >= least && (ftl.info.role.check)(ftl, &LogBlocks { count, pages: 4 }).is_ok()
    };
    let least = (1..20).find(works).expect("a few log blocks suffice");
    [least, least + 2]
}
