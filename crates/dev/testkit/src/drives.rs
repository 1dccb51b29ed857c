//! Small drives with several dies, for timing tests.

use proptest::prelude::*;
use ssdlab_core::Nanos;
use ssdlab_nand::backend::parallel::scheduler;
use ssdlab_nand::{Collected, Commands, Geometry, Interruption, PageTimes, Parallelism, StripeOrder, Suspend, Timing};
use ssdlab_sim::{
    Arbitration, Clock, Collect, CollectGoal, CommandTimes, Controller, DriveOptions, FlushPolicy, Front, HostMemory,
    Pace, Packets, Protocol, ReadAhead, Replay, Setup, StageTime, StreamDepths, Thermal, TransferUnit, WriteBuffer,
};

use crate::small_setup;
use crate::strategies::{SLC_TIMES, modern_setups, setups, slc_setups};

/// Flash durations in round numbers for hand calculations: read 100 ns, program 1 us, erase 10 us, transfer of a 4 KiB
/// page 20 ns.
pub const TIMING: Timing = Timing {
    read: PageTimes::uniform(Nanos(100)),
    program: PageTimes::uniform(Nanos(1_000)),
    erase: Nanos(10_000),
    slc: None,
    transfer_per_kib: Nanos(5),
    copyback: false,
    partial_read: false,
};

/// Options of a drive without optional features.
pub const PLAIN: DriveOptions = DriveOptions {
    commands: Commands {
        multiplane: false,
        cache_read: false,
        cache_program: false,
        independent_reads: false,
        suspend: Suspend::Never,
    },
    scheduler: &scheduler::fifo::INFO,
    front: Front {
        protocol: Protocol::Direct,
        link_bytes_per_s: None,
        packets: Packets::FREE,
        full_duplex: true,
        transfer: TransferUnit::Request,
        dram_bytes_per_s: None,
        controller: Controller::serial(Nanos::ZERO),
    },
    buffer: None,
    pace: None,
    read_ahead: None,
    host_memory: None,
    thermal: None,
    collect: Collect::Foreground,
    backlog: 1_000,
};

/// Thermal options of a drive that reaches the throttling threshold after a few requests, and cools within
/// microseconds.
const WARM: Thermal = Thermal {
    ambient: 40.0,
    threshold: 42.0,
    release: 41.0,
    resistance: 1.0,
    time_constant: Nanos(20_000),
    read_energy: 2.0,
    write_energy: 3.0,
    factor: 1.5,
};

/// Returns an array with the given numbers of channels, ways per channel, dies per way and planes per die.
pub fn array(channels: u32, ways: u32, dies: u32, planes: u32) -> Parallelism {
    Parallelism { channels, ways, dies, planes, order: StripeOrder::CWDP }
}

/// Returns a drive with a queue depth of `depth`. Each plane has `blocks` blocks, including four spare blocks; each
/// block has `pages_per_block` pages of 4 KiB.
pub fn drive_setup(parallelism: Parallelism, blocks: u32, pages_per_block: u32, depth: u32) -> Setup {
    let planes = parallelism.planes();
    let setup = small_setup(blocks * planes, pages_per_block, 0);
    Setup {
        geometry: Geometry { parallelism, ..setup.geometry },
        logical_pages: (blocks - 4) * planes * pages_per_block,
        clock: Clock::Event(TIMING, PLAIN),
        replay: Replay::Closed { depth, per_stream: false, think: Nanos::ZERO },
        ..setup
    }
}

/// Generates drive options: commands, scheduler, front end, write buffer and background garbage collection.
fn drives() -> impl Strategy<Value = DriveOptions> {
    let rest = prop_oneof![Just((0, 0, 0)), (0_u64..500, 0_u64..500, 0_u64..100)];
    let interruption = (0_u64..2_000, 1_u32..3, rest).prop_map(|(time, limit, (spread, slice, resume))| Interruption {
        spread: Nanos(spread),
        slice: Nanos(slice),
        resume: Nanos(resume),
        ..Interruption::new(Nanos(time), limit)
    });
    let suspend = prop_oneof![
        Just(Suspend::Never),
        interruption.clone().prop_map(Suspend::Erase),
        (interruption.clone(), interruption).prop_map(|(erase, program)| Suspend::EraseAndProgram { erase, program }),
    ];
    let commands = (any::<bool>(), any::<bool>(), any::<bool>(), suspend).prop_map(
        |(multiplane, cache_read, cache_program, suspend)| Commands {
            multiplane,
            cache_read,
            cache_program,
            suspend,
            ..Commands::default()
        },
    );
    let scheduler = prop::sample::select(scheduler::DIE_SCHEDULERS.to_vec());
    let arbitration = prop_oneof![
        (1_u32..4).prop_map(|burst| Arbitration::RoundRobin { burst }),
        (1_u16..4).prop_map(|first| Arbitration::Weighted { weights: [first, 1, 2, 1, 1, 3, 1, 1] }),
        Just(Arbitration::Fifo),
    ];
    let protocol = prop_oneof![
        Just(Protocol::Direct),
        (1_u32..33).prop_map(|depth| Protocol::SingleQueue { depth }),
        (1_u32..4, 1_u32..5, 1_u32..9, arbitration)
            .prop_map(|(queues, depth, slots, arbitration)| Protocol::MultiQueue { queues, depth, slots, arbitration }),
    ];
    let link = prop_oneof![Just(None), Just(Some(500_000_000))];
    let stage =
        (0_u64..300, 0_u64..100).prop_map(|(work, latency)| StageTime { work: Nanos(work), latency: Nanos(latency) });
    let times = (stage.clone(), stage).prop_map(|(submission, completion)| CommandTimes { submission, completion });
    let controller = prop_oneof![
        (0_u64..300).prop_map(|command| Controller::serial(Nanos(command))),
        (1_u32..4, 0_u64..50, times.clone(), times).prop_map(|(processors, page_work, read, write)| Controller {
            processors,
            page_work: Nanos(page_work),
            read,
            write
        }),
    ];
    let packets = prop_oneof![
        Just(Packets::FREE),
        (1_u32..600, 0_u32..50).prop_map(|(payload_bytes, overhead_bytes)| Packets { payload_bytes, overhead_bytes }),
    ];
    let transfer = prop_oneof![Just(TransferUnit::Request), Just(TransferUnit::Page)];
    let dram = prop_oneof![Just(None), Just(Some(700_000_000))];
    let front = (protocol, link, packets, any::<bool>(), transfer, dram, controller).prop_map(
        |(protocol, link_bytes_per_s, packets, full_duplex, transfer, dram_bytes_per_s, controller)| Front {
            protocol,
            link_bytes_per_s,
            packets,
            full_duplex,
            transfer,
            dram_bytes_per_s,
            controller,
        },
    );
    let flush = prop_oneof![
        Just(FlushPolicy::Eager),
        (1_u32..11, 0_u32..10)
            .prop_filter("the low watermark is below the high watermark", |(high, low)| low < high)
            .prop_map(|(high, low)| {
                FlushPolicy::Watermark { high: f64::from(high) / 10.0, low: f64::from(low) / 10.0 }
            }),
    ];
    let buffer = prop_oneof![
        Just(None),
        (1_u32..20, flush, any::<bool>()).prop_map(|(pages, flush, protected)| Some(WriteBuffer {
            pages,
            flush,
            protected
        })),
    ];
    let goal = (0_u32..4, 1_u32..6).prop_map(|(blocks, step)| CollectGoal { blocks, step });
    let collect = prop_oneof![
        Just(Collect::Foreground),
        (goal.clone(), 0_u64..3_000).prop_map(|(goal, after)| Collect::Idle { after: Nanos(after), goal }),
        goal.prop_map(|goal| Collect::Background { goal }),
    ];
    let pace = prop_oneof![
        Just(None),
        (1_u64..3_000, 1_u32..9).prop_map(|(interval, burst)| Some(Pace::Tokens { interval: Nanos(interval), burst })),
        (0_u32..9).prop_map(|initial| Some(Pace::Credits { initial })),
    ];
    let read_ahead = (1_u32..4, 1_u32..6, 0_u32..6).prop_map(|(requests, pages, more)| ReadAhead {
        requests,
        pages,
        cache_pages: pages + more,
    });
    let host_memory = (1_u32..4, 1_u32..9, 0_u64..400).prop_map(|(fetched_entries, lines, latency)| HostMemory {
        own_entries: fetched_entries * lines,
        fetched_entries,
        latency: Nanos(latency),
    });
    let features = (prop::option::of(read_ahead), prop::option::of(host_memory), prop::option::of(Just(WARM)));
    (commands, scheduler, front, (buffer, pace), features, collect, 1_u32..20).prop_map(
        |(commands, scheduler, front, (buffer, pace), (read_ahead, host_memory, thermal), collect, backlog)| {
            DriveOptions {
                commands,
                scheduler,
                front,
                buffer,
                pace,
                read_ahead,
                host_memory,
                thermal,
                collect,
                backlog,
            }
        },
    )
}

/// Generates replay modes: closed loop, processes or open loop.
fn replays() -> impl Strategy<Value = Replay> {
    let think = prop_oneof![Just(Nanos::ZERO), Just(Nanos(700))];
    let depths = prop::collection::vec(1_u32..5, 0..3).prop_map(|depths| StreamDepths::new(&depths));
    prop_oneof![
        3 => (1_u32..40, any::<bool>(), think.clone())
            .prop_map(|(depth, per_stream, think)| Replay::Closed { depth, per_stream, think }),
        1 => think.prop_map(|think| Replay::Processes { think }),
        1 => (0.3_f64..100.0, depths).prop_map(|(speed, depths)| Replay::Open { speed, depths }),
    ]
}

/// Generates set-ups with event timing and random drive options.
pub fn on_any_drive() -> impl Strategy<Value = Setup> {
    let page_types = prop_oneof![Just(vec![Nanos(100)]), Just(vec![Nanos(60), Nanos(90), Nanos(150)])];
    (setups(), drives(), replays(), page_types, any::<bool>()).prop_map(|(setup, drive, replay, reads, copyback)| {
        let read = PageTimes::of(&reads).expect("the list has one to four page types");
        let timing = Timing { read, copyback, ..TIMING };
        Setup { clock: Clock::Event(timing, drive), replay, check: true, ..setup }
    })
}

/// Generates set-ups with event timing on drives whose dies program several pages with one command. Their write buffer
/// holds at least one program unit.
pub fn on_any_modern_drive() -> impl Strategy<Value = Setup> {
    on_drives(modern_setups())
}

/// Generates set-ups with event timing on drives with an SLC cache.
pub fn on_any_slc_drive() -> impl Strategy<Value = Setup> {
    on_drives(slc_setups())
}

fn on_drives(setups: impl Strategy<Value = Setup>) -> impl Strategy<Value = Setup> {
    let reads = prop_oneof![Just(vec![Nanos(100)]), Just(vec![Nanos(60), Nanos(90), Nanos(150)])];
    let buffer =
        (0_u32..20, prop_oneof![Just(FlushPolicy::Eager), Just(FlushPolicy::Watermark { high: 0.8, low: 0.3 })]);
    (setups, drives(), replays(), reads, buffer, any::<[bool; 2]>()).prop_map(
        |(setup, drive, replay, reads, (more, flush), [independent_reads, protected])| {
            let read = PageTimes::of(&reads).expect("the list has one to four page types");
            // Unless garbage collection works on single planes, a die programs all its planes together, with
            // multi-plane commands.
            let multiplane = drive.commands.multiplane || setup.geometry.units.collected != Collected::Plane;
            let commands = Commands { multiplane, independent_reads, ..drive.commands };
            let pages = setup.geometry.gathered_pages() + more;
            // With several programming passes, data stays in the write buffer between the passes, which must then
            // survive a power loss.
            let protected = protected || setup.geometry.units.pass_distance > 0;
            let buffer = Some(WriteBuffer { pages, flush, protected });
            let drive = DriveOptions { commands, buffer, ..drive };
            let timing = Timing { read, slc: Some(SLC_TIMES), ..TIMING };
            Setup { clock: Clock::Event(timing, drive), replay, check: true, ..setup }
        },
    )
}
