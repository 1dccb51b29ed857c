//! Random small devices and request sequences for property tests.
//!
//! Devices have few blocks, so that garbage collection starts within a few dozen requests. Half of the addresses are in
//! a few hot pages, so that overwrites are frequent.

use proptest::prelude::*;
use ssdlab_core::parameter::Quantity;
use ssdlab_core::{Choice, Nanos, Parameter, Registry};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::log::{LogBlocks, LogRules};
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::{Allocation, Fold, PageOptions, SlcOptions, Trigger};
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_nand::{Collected, Geometry, PageTimes, Parallelism, ProgramOrder, SlcTimes, Timing, Units};
use ssdlab_sim::{Clock, Fit, Method, Overwrite, Precondition, Setup};
use ssdlab_trace::{Op, Request};

use crate::drives::array;

/// Page size of the random devices, in bytes.
const PAGE_BYTES: u32 = 512;

/// Generates small values of a parameter. A size is one of the four largest powers of two that exceed neither the page
/// size nor the parameter's maximum.
fn values(parameter: &Parameter) -> BoxedStrategy<u64> {
    let Parameter { unit, min, .. } = *parameter;
    let max = parameter.largest();
    match unit.quantity() {
        Quantity::Share | Quantity::Decimal => (0_u64..5).prop_map(move |part| min + part * (max - min) / 4).boxed(),
        Quantity::Size(1) => sizes(min, max).boxed(),
        _ if parameter.is_fixed() => sizes(min, max).boxed(),
        _ => prop_oneof![3 => min..=max.min(min + 1), 1 => min..=max.min(min + 5)].boxed(),
    }
}

fn sizes(min: u64, max: u64) -> impl Strategy<Value = u64> {
    let top = max.min(PAGE_BYTES.into()).ilog2();
    (min.ilog2().max(top - 3)..=top).prop_map(|shift| 1 << shift)
}

/// Generates entries of a registry, with small values for the parameters of each entry.
pub fn any_of<R: Send + Sync>(table: &'static Registry<R>) -> impl Strategy<Value = Choice<R>> {
    prop::sample::select(table.to_vec()).prop_flat_map(|info| {
        let values: Vec<BoxedStrategy<u64>> = info.parameters.iter().map(values).collect();
        values.prop_map(|values| info.with(&values))
    })
}

/// Generates options of the page-mapped FTL.
pub fn page_options() -> impl Strategy<Value = PageOptions> {
    let trigger = prop_oneof![
        2 => Just(Trigger::Victim),
        1 => (2_u32..4, 0_u32..3).prop_map(|(low, more)| Trigger::Batch { low, high: low + more }),
        1 => (2_u32..4, 1_u32..6, 1_u32..4).prop_map(|(low, step, every)| Trigger::Partial { low, step, every }),
    ];
    let placement = prop::sample::select(PLACEMENTS.to_vec());
    let allocation = prop_oneof![Just(Allocation::Fifo), Just(Allocation::LeastWorn)];
    (any_of(&VICTIMS), placement, trigger, allocation).prop_map(|(gc, placement, trigger, allocation)| PageOptions {
        gc,
        placement: placement.defaults(),
        trigger,
        allocation,
        slc: None,
    })
}

/// Generates arrays of one to four planes, spread over channels, ways, dies and planes.
pub fn parallelisms() -> impl Strategy<Value = Parallelism> {
    let counts = proptest::sample::select(vec![
        (1, 1, 1, 1),
        (2, 1, 1, 1),
        (1, 2, 1, 1),
        (1, 1, 1, 2),
        (3, 1, 1, 1),
        (1, 1, 3, 1),
        (2, 1, 1, 2),
        (1, 2, 2, 1),
    ]);
    counts.prop_map(|(channels, ways, dies, planes)| array(channels, ways, dies, planes))
}

/// Generates FTLs with random options. Each FTL comes with its number of log blocks: up to 5 above the minimum, or 0
/// for page mapping.
fn ftls(pages_per_block: u32) -> impl Strategy<Value = (FtlChoice, u32)> {
    let maps =
        any_of(&MAPS).prop_filter("consistent sizes", |map| (map.info.role.problems)(map, PAGE_BYTES).is_empty());
    let page = (page_options(), maps).prop_map(|(options, map)| (FtlChoice::Page(options, map), 0));
    let log = (any_of(&LOG_FTLS), 0_u32..6).prop_filter_map("enough log blocks", move |(choice, more)| {
        let LogRules { least_log_blocks, check, .. } = choice.info.role;
        let count = least_log_blocks(&choice) + more;
        let valid = check(&choice, &LogBlocks { count, pages: pages_per_block }).is_ok();
        valid.then_some((FtlChoice::Log(choice, count), count))
    });
    prop_oneof![page, log]
}

/// Generates small devices with data checks, any FTL and any options. The spare space suffices for the FTL.
pub fn setups() -> impl Strategy<Value = Setup> {
    let precondition = prop_oneof![
        Just(Precondition { fill: 0.0, overwrite: Overwrite::None }),
        Just(Precondition { fill: 1.0, overwrite: Overwrite::Passes(0.5) }),
        Just(Precondition { fill: 0.5, overwrite: Overwrite::Steady(Method::Auto) }),
    ];
    let with_ftl = (2_u32..13).prop_flat_map(|pages_per_block| (Just(pages_per_block), ftls(pages_per_block)));
    let shape = (1_u32..8, 0_u32..4, 0_u32..2, parallelisms());
    let chip = (any::<bool>(), any::<bool>(), prop_oneof![Just(ProgramOrder::Ascending), Just(ProgramOrder::Any)]);
    (with_ftl, shape, precondition, chip, 0_u64..4).prop_map(
        |((pages_per_block, (ftl, log_blocks)), shape, precondition, chip, seed)| {
            let (data_blocks, spare_blocks, fewer, parallelism) = shape;
            let (timed, copyback, order) = chip;
            let timing = Timing {
                read: PageTimes::uniform(Nanos(25_000)),
                program: PageTimes::uniform(Nanos(200_000)),
                erase: Nanos(2_000_000),
                slc: None,
                transfer_per_kib: Nanos(5_000),
                copyback,
                partial_read: false,
            };
            let logical_pages = data_blocks * pages_per_block - fewer;
            let geometry =
                Geometry { page_bytes: PAGE_BYTES, pages_per_block, blocks: 0, order, parallelism, units: Units::PAGE };
            let mut setup = Setup {
                clock: if timed { Clock::Serial(timing) } else { Clock::Count },
                fit: Fit::Wrap,
                precondition,
                check: true,
                seed,
                ..Setup::new(geometry, logical_pages, ftl)
            };
            let blocks = data_blocks + spare_blocks + log_blocks + setup.reserve_blocks();
            setup.geometry.blocks = blocks.next_multiple_of(setup.geometry.areas());
            setup
        },
    )
}

/// Chooses the number of program units per parity unit from the numbers that are possible with `dies` dies; 0 means no
/// parity.
fn parity_of(dies: u32, choice: prop::sample::Index) -> u32 {
    let possible: Vec<u32> = (0..dies).filter(|parity| dies.is_multiple_of(parity + 1)).collect();
    possible[choice.index(possible.len())]
}

/// Generates small devices with page mapping, whose dies program several pages with one command.
pub fn modern_setups() -> impl Strategy<Value = Setup> {
    let collected = prop_oneof![Just(Collected::Plane), Just(Collected::Die), Just(Collected::Superblock)];
    let parity_and_passes = (any::<prop::sample::Index>(), 0_u32..4);
    let units = (prop::sample::select(vec![1_u32, 2, 4]), 1_u32..5, collected, parity_and_passes);
    (setups(), units, 1_u32..4, 1_u32..5, 0_u32..3, page_options()).prop_map(
        |(setup, units, word_lines, data_blocks, spare_blocks, options)| {
            let (per_flash_page, word_line, collected, (parity, pass_distance)) = units;
            let parity = match collected {
                Collected::Superblock => parity_of(setup.geometry.parallelism.dies(), parity),
                Collected::Plane | Collected::Die => 0,
            };
            let units = Units { per_flash_page, word_line, collected, parity, pass_distance };
            let mut geometry = Geometry { units, order: ProgramOrder::Ascending, ..setup.geometry };
            // A block must have at least two pages.
            let unit = geometry.program_unit() * geometry.units_per_word_line();
            geometry.pages_per_block = unit * if unit == 1 { word_lines + 1 } else { word_lines };
            let ftl = match setup.ftl {
                FtlChoice::Page(..) => setup.ftl,
                FtlChoice::Log(..) => FtlChoice::Page(options, ram::INFO.defaults()),
            };
            let clock = match setup.clock {
                Clock::Serial(timing) => Clock::Serial(Timing { copyback: false, ..timing }),
                other => other,
            };
            let logical_pages = data_blocks * geometry.pages_per_block - u32::from(spare_blocks == 0);
            let mut setup = Setup { geometry, logical_pages, ftl, clock, ..setup };
            let blocks = data_blocks + spare_blocks + setup.reserve_blocks();
            setup.geometry.blocks = blocks.next_multiple_of(geometry.areas());
            setup
        },
    )
}

/// Durations of flash operations in SLC mode, for the random drives of tests.
pub const SLC_TIMES: SlcTimes = SlcTimes { read: Nanos(30), program: Nanos(200), erase: Nanos(7_000) };

/// Generates small devices with an SLC cache of any kind.
pub fn slc_setups() -> impl Strategy<Value = Setup> {
    let fold = prop_oneof![Just(Fold::Pressure), Just(Fold::Idle), Just(Fold::Lazy)];
    let size =
        prop_oneof![(1_u32..4, Just(0_u32)), (Just(0), 1_000..=SlcOptions::ALL), (1_u32..4, 1_000..=SlcOptions::ALL)];
    let blocks = (2_u32..5, 1_u32..4, 1_u32..5, 0_u32..6);
    (modern_setups(), page_options(), size, fold, any::<bool>(), blocks).prop_map(
        |(mut setup, options, (own_blocks, share), fold, bypass, blocks)| {
            let (word_line, word_lines, data_blocks, spare_blocks) = blocks;
            let geometry = &mut setup.geometry;
            geometry.units.word_line = word_line;
            geometry.pages_per_block = word_lines * geometry.program_unit() * geometry.units_per_word_line();
            let slc = Some(SlcOptions { own_blocks, share, fold, bypass, word_line });
            setup.ftl = FtlChoice::Page(PageOptions { slc, ..options }, ram::INFO.defaults());
            let areas = setup.geometry.areas();
            setup.logical_pages = data_blocks * setup.geometry.pages_per_block - u32::from(spare_blocks == 0);
            setup.geometry.blocks = (data_blocks + spare_blocks + setup.reserve_blocks()).next_multiple_of(areas);
            if let Clock::Serial(timing) = &mut setup.clock {
                timing.slc = Some(SLC_TIMES);
            }
            setup
        },
    )
}

/// Generates up to `count` requests with offsets and lengths in multiples of 128 bytes. On a small device, some
/// requests extend past the end.
pub fn requests(count: usize) -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![
        6 => Just(Op::Write),
        3 => Just(Op::Read),
        1 => Just(Op::Trim),
        1 => Just(Op::Flush),
    ];
    let offset = prop_oneof![0_u64..8, 0_u64..400].prop_map(|units| units * 128);
    let request = (op, offset, 1_u32..40).prop_map(|(op, offset, units)| match op {
        Op::Flush => Request { time_ns: 0, offset: 0, bytes: 0, op, flags: 0, stream: 0 },
        _ => Request { time_ns: 0, offset, bytes: units * 128, op, flags: 0, stream: 0 },
    });
    proptest::collection::vec(request, 1..count)
}
