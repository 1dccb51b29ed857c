//! Random small devices and request sequences for property tests.
//!
//! Devices have a handful of blocks, so collection runs within a few dozen requests; addresses collide
//! often because half of them fall on a few hot pages.

use proptest::prelude::*;
use ssdlab_core::Nanos;
use ssdlab_ftl::gc::POLICIES;
use ssdlab_ftl::page::{Allocation, PageOptions, Survivors, Trigger, VictimChoice};
use ssdlab_nand::{Geometry, Timing};
use ssdlab_sim::{Clock, Fit, FtlChoice, Overwrite, Precondition, Replay, Setup};
use ssdlab_trace::{Op, Request};

/// Any victim policy of the registry, with small parameters where it takes some.
pub fn victim_choices() -> impl Strategy<Value = VictimChoice> {
    (0..POLICIES.len(), 1_u32..6).prop_map(|(index, parameter)| match POLICIES[index].example {
        VictimChoice::DChoices { .. } => VictimChoice::DChoices { d: parameter },
        VictimChoice::WindowedGreedy { .. } => VictimChoice::WindowedGreedy { window: parameter },
        choice => choice,
    })
}

/// Any options of the page-mapped FTL.
pub fn page_options() -> impl Strategy<Value = PageOptions> {
    let trigger = prop_oneof![
        2 => Just(Trigger::Victim),
        1 => (2_u32..4, 0_u32..3).prop_map(|(low, more)| Trigger::Batch { low, high: low + more }),
    ];
    let survivors = prop_oneof![Just(Survivors::Shared), Just(Survivors::Own)];
    let allocation = prop_oneof![Just(Allocation::Fifo), Just(Allocation::LeastWorn)];
    (victim_choices(), survivors, trigger, allocation).prop_map(|(gc, survivors, trigger, allocation)| PageOptions {
        gc,
        survivors,
        trigger,
        allocation,
    })
}

/// Any small device, checked, with every option; the least spare space is what the options reserve.
pub fn setups() -> impl Strategy<Value = Setup> {
    let precondition = prop_oneof![
        Just(Precondition { fill: 0.0, overwrite: Overwrite::None }),
        Just(Precondition { fill: 1.0, overwrite: Overwrite::Passes(0.5) }),
        Just(Precondition { fill: 0.5, overwrite: Overwrite::Steady }),
    ];
    let shape = (2_u32..12, 1_u32..8, 0_u32..4, 0_u32..2);
    (page_options(), shape, precondition, any::<bool>(), any::<bool>(), 0_u64..4).prop_map(
        |(options, (pages_per_block, data_blocks, spare_blocks, fewer), precondition, timed, copyback, seed)| {
            let blocks = data_blocks + spare_blocks + options.reserve_blocks();
            let timing = Timing {
                read: Nanos(25_000),
                program: Nanos(200_000),
                erase: Nanos(2_000_000),
                transfer_per_kib: Nanos(5_000),
                copyback,
            };
            Setup {
                geometry: Geometry { page_bytes: 512, pages_per_block, blocks },
                logical_pages: data_blocks * pages_per_block - fewer,
                endurance_cycles: 1000,
                ftl: FtlChoice::Page(options),
                clock: if timed { Clock::Serial(timing) } else { Clock::Count },
                replay: Replay::Closed,
                fit: Fit::Wrap,
                warmup_requests: 0,
                precondition,
                check: true,
                seed,
            }
        },
    )
}

/// Up to `count` requests, aligned to 128 bytes only, some beyond a small device.
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
