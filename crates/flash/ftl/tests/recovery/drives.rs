//! Random small drives with any registered FTL and any options.

use ssdlab_core::parameter::Quantity;
use ssdlab_core::{Choice, Info, Parameter, Rng};
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::log::{LogBlocks, LogRules};
use ssdlab_ftl::page::{Allocation, PageOptions, Trigger};
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::ProgramOrder;

/// Page size in bytes; small enough that a map has several pages.
const PAGE_BYTES: u32 = 64;

fn below(rng: &mut Rng, count: usize) -> usize {
    rng.below(count as u64) as usize
}

/// Returns a small random value for a parameter; sizes are powers of two up to the page size.
fn value(rng: &mut Rng, parameter: &Parameter) -> u64 {
    let Parameter { unit, min, .. } = *parameter;
    let max = parameter.largest();
    match unit.quantity() {
        Quantity::Share | Quantity::Decimal => min + rng.below(5) * (max - min) / 4,
        Quantity::Size(1) => size(rng, min, max),
        _ if parameter.is_fixed() => size(rng, min, max),
        _ => min + rng.below((max - min).min(4) + 1),
    }
}

fn size(rng: &mut Rng, min: u64, max: u64) -> u64 {
    let top = max.min(PAGE_BYTES.into()).ilog2();
    let low = min.ilog2().max(top - 3).min(top);
    1 << (u64::from(low) + rng.below(u64::from(top - low) + 1))
}

fn any_of<R>(rng: &mut Rng, info: &'static Info<R>) -> Choice<R> {
    let values: Vec<u64> = info.parameters.iter().map(|parameter| value(rng, parameter)).collect();
    info.with(&values)
}

/// Returns the names of all FTLs and maps.
pub fn names() -> impl Iterator<Item = &'static str> {
    MAPS.iter().map(|info| info.name).chain(LOG_FTLS.iter().map(|info| info.name))
}

/// Returns the FTL or map with this number in [`names`], and its number of log blocks.
fn ftl(rng: &mut Rng, number: usize, pages_per_block: u32) -> (FtlChoice, u32) {
    if number < MAPS.len() {
        loop {
            let map = any_of(rng, MAPS[number]);
            if (map.info.role.problems)(&map, PAGE_BYTES).is_empty() {
                return (FtlChoice::Page(page_options(rng), map), 0);
            }
        }
    }
    loop {
        let choice = any_of(rng, LOG_FTLS[number - MAPS.len()]);
        let LogRules { least_log_blocks, check, .. } = choice.info.role;
        let count = least_log_blocks(&choice) + rng.below(6) as u32;
        if check(&choice, &LogBlocks { count, pages: pages_per_block }).is_ok() {
            return (FtlChoice::Log(choice, count), count);
        }
    }
}

fn page_options(rng: &mut Rng) -> PageOptions {
    let gc = VICTIMS[below(rng, VICTIMS.len())];
    let low = 2 + rng.below(2) as u32;
    PageOptions {
        gc: any_of(rng, gc),
        placement: PLACEMENTS[below(rng, PLACEMENTS.len())].defaults(),
        trigger: match rng.below(4) {
            0 => Trigger::Batch { low, high: low + rng.below(3) as u32 },
            1 => Trigger::Partial { low, step: 1 + rng.below(5) as u32, every: 1 + rng.below(3) as u32 },
            _ => Trigger::Victim,
        },
        allocation: [Allocation::Fifo, Allocation::LeastWorn][below(rng, 2)],
        slc: None,
    }
}

/// Returns a random drive with the given FTL or map, and at least the spare blocks that the FTL needs.
pub fn drive(seed: u64, number: usize) -> (FtlChoice, Shape) {
    let mut rng = Rng::named(seed, "drive");
    let mut pages_per_block = 2 + rng.below(7) as u32;
    // Half of the drives with page mapping program several pages together.
    let mut program_unit = 1;
    let mut units = Rng::named(seed, "units");
    if number < MAPS.len() && units.below(2) == 0 {
        program_unit = 2 + units.below(5) as u32;
        pages_per_block = program_unit * (1 + units.below(4) as u32);
    }
    let (ftl, log_blocks) = ftl(&mut rng, number, pages_per_block);
    let data_blocks = 1 + rng.below(5) as u32;
    let mut shape = Shape {
        logical_pages: data_blocks * pages_per_block - rng.below(2) as u32,
        page_bytes: PAGE_BYTES,
        blocks: 0,
        pages_per_block,
        order: [ProgramOrder::Any, ProgramOrder::Ascending][below(&mut rng, 2)],
        planes: [1, 1, 2, 3][below(&mut rng, 4)],
        program_unit,
    };
    if program_unit > 1 {
        shape.order = ProgramOrder::Ascending;
    }
    let blocks = data_blocks + log_blocks + rng.below(3) as u32 + ftl.device_reserve_blocks(&shape);
    shape.blocks = blocks.next_multiple_of(shape.planes);
    (ftl, shape)
}
