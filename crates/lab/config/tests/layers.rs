//! Merging of layers, parameters of variants, and the settings of a configuration.

use ssdlab_config::{Config, DEFAULT_PRESET, Fallback, Layer, OPTIONS};
use ssdlab_core::Nanos;
use ssdlab_core::parameter::{decimal, percent};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::gc;
use ssdlab_ftl::log::{fast, faster};
use ssdlab_ftl::map::{cache, dftl};
use ssdlab_ftl::page::Trigger;
use ssdlab_nand::backend::parallel::Window;
use ssdlab_nand::backend::parallel::scheduler;
use ssdlab_nand::{Commands, Interruption, Parallelism, StripeOrder, Suspend};
use ssdlab_sim::{
    Arbitration, Clock, Collect, CollectGoal, CommandTimes, Controller, DriveOptions, Fit, FlushPolicy, Front,
    HostMemory, Overwrite, Pace, Packets, Protocol, ReadAhead, Replay, StageTime, StreamDepths, Thermal, TransferUnit,
    WriteBuffer,
};
use ssdlab_trace::{Arrival, Pattern, Queue};

fn file(origin: &str, text: &str) -> Layer {
    Layer { origin: origin.into(), text: text.into() }
}

fn resolve(preset: Option<&str>, files: &[Layer], sets: &[&str]) -> Config {
    let sets: Vec<Layer> = sets.iter().map(|set| Layer { origin: "--set".into(), text: set.to_string() }).collect();
    Config::resolve(preset, files, &sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns value and origin of a key; `None` if the option does not apply.
fn leaf(config: &Config, key: &str) -> Option<(String, String)> {
    config.leaves().into_iter().find(|leaf| leaf.key == key).map(|leaf| (leaf.value, leaf.origin))
}

fn assert_leaf(config: &Config, key: &str, value: &str, origin: &str) {
    assert_eq!(leaf(config, key), Some((value.into(), origin.into())), "{key}");
}

#[test]
fn later_layers_win_and_origins_are_kept() {
    let files = [
        file("a.toml", "preset = \"faster\"\n[nand]\nread = \"30us\"\nprogram = \"300us\"\nerase = \"3ms\""),
        file("b.toml", "nand.program = \"310us\"\nnand.erase = \"3.1ms\""),
    ];
    let config = resolve(None, &files, &["nand.erase=4ms", "nand.erase=5ms"]);
    assert_leaf(&config, "nand.copyback", "false", "preset faster");
    assert_leaf(&config, "nand.read", "\"30us\"", "a.toml:3");
    assert_leaf(&config, "nand.program", "\"310us\"", "b.toml:1");
    assert_leaf(&config, "nand.erase", "\"5ms\"", "--set");
    assert_leaf(&config, "seed", "1", "default");
    let defaults = resolve(None, &[], &[]);
    assert_leaf(&defaults, "nand.erase", "\"3.5ms\"", "default (preset client-nvme)");
}

/// Without a preset, the default drive is used; a preset replaces it completely.
#[test]
fn the_default_drive_is_a_preset() {
    let values =
        |config: &Config| -> Vec<_> { config.leaves().into_iter().map(|leaf| (leaf.key, leaf.value)).collect() };
    let drive = resolve(None, &[], &[]);
    assert_eq!(values(&drive), values(&resolve(Some(DEFAULT_PRESET), &[], &[])));
    assert_leaf(&drive, "device.capacity", "\"4GiB\"", "default (preset small-nvme)");
    assert_leaf(&drive, "nand.channels", "8", "default (preset client-nvme)");
    assert_leaf(&drive, "drive.protocol", "\"nvme\"", "default (preset client-nvme)");
    assert_leaf(&drive, "time", "\"event\"", "default (nand.channels > 1)");
    let faster = resolve(Some("faster"), &[], &[]);
    assert!(faster.leaves().iter().all(|leaf| leaf.origin == "preset faster" || !leaf.origin.contains("preset")));
    assert_leaf(&faster, "drive.protocol", "\"direct\"", "default");
}

#[test]
fn a_preset_argument_overrides_one_in_a_file() {
    let files = [file("a.toml", "preset = \"faster\""), file("b.toml", "preset = \"sbfast\"")];
    assert_leaf(&resolve(None, &files, &[]), "nand.erase", "\"2ms\"", "preset sbfast");
    assert_leaf(&resolve(Some("faster"), &files, &[]), "nand.erase", "\"1.5ms\"", "preset faster");
}

#[test]
fn spare_and_op_replace_each_other() {
    let config = resolve(Some("tlc-nvme"), &[], &["device.spare=10%"]);
    assert_leaf(&config, "device.spare", "\"10%\"", "--set");
    assert_eq!(leaf(&config, "device.op"), None);
    let config = resolve(None, &[file("a.toml", "device.spare = \"10%\"")], &["device.op=20%"]);
    assert_eq!(leaf(&config, "device.spare"), None);
    assert_leaf(&config, "device.op", "\"20%\"", "--set");
}

#[test]
fn another_variant_drops_the_parameters_of_the_first() {
    let files = [file("a.toml", "[ftl.page.gc.d_choices]\nd = 3")];
    let gc = |sets: &[&str]| match resolve(None, &files, sets).settings(None).unwrap().setup.ftl {
        FtlChoice::Page(options, _) => options.gc,
        other => panic!("page mapping is the default, not {other:?}"),
    };
    assert_eq!(gc(&[]), gc::d_choices::INFO.with(&[3]));
    assert_eq!(gc(&["ftl.page.gc=fifo"]), gc::fifo::INFO.defaults());
    assert_eq!(gc(&["ftl.page.gc.windowed_greedy.window=7"]), gc::windowed_greedy::INFO.with(&[7]));
    assert_eq!(gc(&["ftl.page.gc.d_choices.d=5"]), gc::d_choices::INFO.with(&[5]));
    // Setting the same variant again keeps its parameters.
    assert_eq!(gc(&["ftl.page.gc=d_choices"]), gc::d_choices::INFO.with(&[3]));
    assert_eq!(gc(&["ftl.page.gc={ cost_benefit = {} }"]), gc::cost_benefit::INFO.defaults());
    // Dropped parameters do not come back.
    let back = [file("a.toml", &files[0].text), file("b.toml", "ftl.page.gc = \"fifo\"")];
    assert_leaf(&resolve(None, &back, &["ftl.page.gc=d_choices"]), "ftl.page.gc.d_choices.d", "10", "default");
}

/// A variant is chosen by its name, or by setting one of its parameters; its other parameters have their defaults.
#[test]
fn parameters_reach_the_settings() {
    let settings = |sets: &[&str]| resolve(Some("tlc-nvme"), &[], sets).settings(None).unwrap();
    let FtlChoice::Page(options, _) = settings(&["ftl.page.trigger=batch"]).setup.ftl else {
        panic!("page mapping is the default")
    };
    assert_eq!(options.trigger, Trigger::Batch { low: 4, high: 16 });
    let FtlChoice::Page(options, _) = settings(&["ftl.page.trigger.partial.step=2"]).setup.ftl else {
        panic!("page mapping is the default")
    };
    assert_eq!(options.trigger, Trigger::Partial { low: 4, step: 2, every: 1 });
    let pattern = |sets: &[&str]| settings(sets).workload.pattern;
    let named = |name, changes: &[(&str, u64)]| Pattern::named(name, changes).unwrap();
    assert_eq!(pattern(&["workload.pattern=zipf"]), named("zipf", &[("theta", decimal(0.99))]));
    assert_eq!(
        pattern(&["workload.pattern.hot_cold.hot_space=10%", "workload.pattern.hot_cold.placement=scattered"]),
        named("hot_cold", &[("hot_requests", percent(80)), ("hot_space", percent(10)), ("placement", 1)])
    );
    let random_headers = "workload.pattern.streams.random_headers=false";
    assert_eq!(
        pattern(&["workload.pattern.streams.shuffle=25%", random_headers]),
        named("streams", &[("block", 128 << 10), ("shuffle", percent(25)), ("random_headers", 0)])
    );
    assert_eq!(
        pattern(&["workload.pattern=copy_files"]),
        named("copy_files", &[("files", 10), ("file_size", 100 << 20)])
    );
    let oltp = pattern(&["workload.pattern.oltp.block=256KiB"]);
    assert_eq!(oltp, named("oltp", &[("block", 256 << 10), ("hot_requests", percent(66))]));
    let Pattern::Addresses(oltp) = oltp else { panic!("an address pattern") };
    // A share is a hundredth of its percentage; 2.2 / 100 is not the float nearest to 0.022.
    assert_eq!((oltp.fraction("hot_blocks"), oltp.fraction("idle_blocks")), (2.2 / 100.0, 20.8 / 100.0));
    assert_eq!(
        pattern(&["workload.pattern=locality"]),
        named("locality", &[("jump", percent(54) / 10), ("decay", decimal(0.847)), ("spread", decimal(1.73))])
    );
    // Defaults depend on the personality.
    for (name, files, file_bytes, threads) in [
        ("fileserver", 10_000, 128 << 10, 50),
        ("webserver", 1000, 16 << 10, 100),
        ("varmail", 1000, 16 << 10, 16),
        ("oltp", 10, 10 << 20, 200),
    ] {
        let personality = format!("workload.pattern.filebench.personality={name}");
        let Pattern::Filebench(found) = settings(&[&personality]).workload.pattern else { panic!("{name}") };
        assert_eq!(
            (found.personality.name, found.files, found.file_bytes, found.threads),
            (name, files, file_bytes, threads)
        );
    }
    assert_eq!(
        settings(&["workload.arrival.fixed.rate=20k/s"]).workload.arrival,
        Arrival::Fixed { per_second: 20_000.0 }
    );
    let queues = settings(&["workload.queues=1:fixed:10k/s:50%, 2:poisson:15k/s:1%"]).workload.queues;
    let probe = Queue { arrival: Arrival::Fixed { per_second: 10_000.0 }, reads: 0.5 };
    let writer = Queue { arrival: Arrival::Poisson { per_second: 15_000.0 }, reads: 0.01 };
    assert_eq!(queues, [probe, writer, writer]);
    assert_eq!(settings(&[]).workload.queues, []);
    assert_eq!(
        settings(&["precondition.overwrite.passes.count=1.5"]).setup.precondition.overwrite,
        Overwrite::Passes(1.5)
    );
    assert_eq!(settings(&["time=count"]).setup.clock, Clock::Count);
    let mix = settings(&["workload.size=4KiB:70%,64KiB:30%", "seed=0x10"]);
    assert_eq!(mix.workload.sizes, [(4096, 70.0), (65_536, 30.0)]);
    assert_eq!((mix.workload.seed, mix.setup.seed), (16, 16));
}

#[test]
fn capacity_and_reserve() {
    let page = [file("page.toml", "ftl = \"page\"")];
    let blocks = |sets: &[&str]| {
        let setup = resolve(Some("faster"), &page, sets).settings(None).unwrap().setup;
        (setup.logical_pages, setup.geometry.blocks, setup.reserve_blocks())
    };
    // 1 GiB of 2 KiB pages in blocks of 64: 8,192 blocks of data.
    assert_eq!(blocks(&["device.op=25%"]), (524_288, 10_240, 3));
    assert_eq!(blocks(&["device.op=25%", "device.reserve=extra"]), (524_288, 10_243, 3));
    assert_eq!(blocks(&["device.spare=20%", "ftl.page.survivors=shared"]), (524_288, 10_240, 2));
}

/// Several planes select the event clock and partial collection by default.
#[test]
fn several_planes_change_the_default_clock_and_trigger() {
    assert_leaf(&resolve(Some("tlc-chip"), &[], &[]), "time", "\"serial\"", "default");
    let ways = [file("a.toml", "nand.ways = 2")];
    assert_leaf(&resolve(Some("tlc-chip"), &ways, &[]), "time", "\"event\"", "default (nand.ways > 1)");
    assert_leaf(&resolve(Some("tlc-chip"), &ways, &["nand.ways=1"]), "time", "\"serial\"", "default");
    assert_leaf(&resolve(Some("tlc-chip"), &ways, &["time=count"]), "time", "\"count\"", "--set");
    assert_leaf(&resolve(Some("tlc-chip"), &[], &[]), "ftl.page.trigger", "\"victim\"", "default");
    assert_leaf(&resolve(Some("tlc-chip"), &ways, &[]), "ftl.page.trigger", "\"partial\"", "default (nand.ways > 1)");
    let sata = resolve(Some("tlc-chip"), &[], &["drive.protocol=sata"]);
    assert_leaf(&sata, "host.replay.closed.queue_depth", "31", "default (drive.protocol = \"sata\")");
}

/// Every plane has an equal number of blocks, its share of the data and its own reserve.
#[test]
fn planes_and_blocks() {
    let setup_of = |sets: &[&str]| resolve(Some("tlc-chip"), &[], sets).settings(None).unwrap().setup;
    let setup = setup_of(&["nand.channels=4", "nand.ways=2", "nand.dies=2", "nand.planes=2"]);
    assert_eq!(setup.geometry.parallelism.planes(), 32);
    // 4,383 blocks with one plane; per plane, three for the FTL and four kept free by partial collection.
    assert_eq!((setup.geometry.blocks, setup.reserve_blocks()), (4_384, 7 * 32));
    assert_eq!(setup.geometry.pages(), 4_384 * 256);
    let extra = setup_of(&["nand.channels=32", "device.reserve=extra"]);
    assert_eq!(extra.geometry.blocks, (4_383_u32 + 7 * 32).next_multiple_of(32));
    // The log blocks belong to the whole device, not to a plane.
    let log = setup_of(&["nand.channels=32", "ftl=fast"]);
    assert_eq!((log.geometry.blocks, log.reserve_blocks()), (4_384, 1));
}

/// Flash pages of four mapping units, word lines of three flash pages, and four planes: 48 mapping units per program
/// unit, and 1,152 x 4 x 4 per block of a die.
#[test]
fn units_of_a_modern_chip() {
    let chip = [
        "device.capacity=256GiB",
        "device.unit=4KiB",
        "nand.page_size=16KiB",
        "nand.pages_per_block=1152",
        "nand.word_line=3",
        "nand.channels=8",
        "nand.dies=2",
        "nand.planes=4",
        "nand.multiplane=true",
        "drive.buffer=eager",
    ];
    let geometry_of = |collect: &str| {
        let collect = format!("ftl.page.collect{collect}");
        let sets: Vec<&str> = chip.into_iter().chain([collect.as_str()]).collect();
        resolve(Some("tlc-chip"), &[], &sets).settings(None).unwrap().setup.geometry
    };
    // Each of 384 word lines has 48 pages per die, on 15 of 16 dies with parity.
    for (collect, areas, pages_per_block, program_unit) in [
        ("=plane", 64, 4_608, 12),
        ("=die", 16, 18_432, 48),
        ("=superblock", 1, 294_912, 48),
        (".superblock.parity=15", 1, 276_480, 48),
    ] {
        let geometry = geometry_of(collect);
        assert_eq!((geometry.areas(), geometry.pages_per_block), (areas, pages_per_block), "{collect}");
        assert_eq!((geometry.program_unit(), geometry.page_bytes), (program_unit, 4_096), "{collect}");
    }
}

/// All options of a parallel drive reach the settings.
#[test]
fn drive() {
    let text = r#"
        [nand]
        channels = 2
        planes = 2
        read = ["40us", "80us"]
        program = "200us,300us,400us"
        multiplane = true
        cache_read = true
        cache_program = true
        [nand.suspend.erase_and_program]
        time = "20us"
        erase_time = "50us"
        spread = "10us"
        slice = "150us"
        resume = "5us"
        limit = 2
        [drive]
        order = "PDWC"
        scheduler = "read_first"
        backlog = 16
        command = "2us"
        processors = 3
        work = { write = "3us", page = "100ns", read_completion = "4us", write_completion = "5us" }
        latency = { read = "6us", write = "7us", read_completion = "8us", write_completion = "9us" }
        link = "3.5GB/s"
        payload = "128B"
        packet_overhead = "24B"
        duplex = "half"
        transfer = "page"
        dram = "12.8GB/s"
        [drive.protocol.nvme]
        queues = 2
        depth = 64
        slots = 32
        arbitration.weighted.weights = "8,4"
        [drive.buffer.watermark]
        size = "1MiB"
        plp = true
        high = "90%"
        low = "25%"
        [drive.pace.tokens]
        interval = "13.07us"
        burst = 3
        [drive.read_ahead.sequential]
        requests = 3
        pages = 16
        size = "128KiB"
        [drive.hmb.map_cache]
        entries = 4096
        fetch = 8
        latency = "1us"
        [drive.thermal.throttle]
        ambient = 30
        threshold = 75.5
        release = 70
        resistance = 5
        time_constant = "10s"
        read_energy = 0.5
        write_energy = 2
        factor = 3
        [drive.collect.idle]
        after = "1ms"
        blocks = 5
        step = 3
        [ftl.page]
        map = "dftl"
        [host.replay.closed]
        queue_depth = 128
        per_stream = false
        think = "7us"
        [gantt.window]
        from = "1s"
        length = "2ms"
    "#;
    let setup = resolve(Some("tlc-chip"), &[file("a.toml", text)], &[]).settings(None).unwrap().setup;
    let order = StripeOrder::named("PDWC").unwrap();
    assert_eq!(setup.geometry.parallelism, Parallelism { channels: 2, ways: 1, dies: 1, planes: 2, order });
    let Clock::Event(timing, drive) = setup.clock else { panic!("not {:?}", setup.clock) };
    assert_eq!(timing.read.by_type(), [Nanos(40_000), Nanos(80_000)]);
    assert_eq!(timing.program.by_type(), [200, 300, 400].map(|us| Nanos(us * 1_000)));
    let program = Interruption {
        time: Nanos(20_000),
        spread: Nanos(10_000),
        slice: Nanos(150_000),
        resume: Nanos(5_000),
        limit: 2,
    };
    let stage = |work: u64, latency: u64| StageTime { work: Nanos(work * 1_000), latency: Nanos(latency * 1_000) };
    let suspend = Suspend::EraseAndProgram { erase: Interruption { time: Nanos(50_000), ..program }, program };
    assert_eq!(
        drive,
        DriveOptions {
            commands: Commands {
                multiplane: true,
                cache_read: true,
                cache_program: true,
                suspend,
                ..Commands::default()
            },
            scheduler: &scheduler::read_first::INFO,
            front: Front {
                protocol: Protocol::MultiQueue {
                    queues: 2,
                    depth: 64,
                    slots: 32,
                    arbitration: Arbitration::Weighted { weights: [8, 4, 4, 4, 4, 4, 4, 4] },
                },
                link_bytes_per_s: Some(3_500_000_000),
                packets: Packets { payload_bytes: 128, overhead_bytes: 24 },
                full_duplex: false,
                transfer: TransferUnit::Page,
                dram_bytes_per_s: Some(12_800_000_000),
                controller: Controller {
                    processors: 3,
                    page_work: Nanos(100),
                    read: CommandTimes { submission: stage(2, 6), completion: stage(4, 8) },
                    write: CommandTimes { submission: stage(3, 7), completion: stage(5, 9) },
                },
            },
            buffer: Some(WriteBuffer {
                pages: 256,
                flush: FlushPolicy::Watermark { high: 0.9, low: 0.25 },
                protected: true,
            }),
            pace: Some(Pace::Tokens { interval: Nanos(13_070), burst: 3 }),
            read_ahead: Some(ReadAhead { requests: 3, pages: 16, cache_pages: 32 }),
            host_memory: Some(HostMemory { own_entries: 4_096, fetched_entries: 8, latency: Nanos(1_000) }),
            thermal: Some(Thermal {
                ambient: 30.0,
                threshold: 75.5,
                release: 70.0,
                resistance: 5.0,
                time_constant: Nanos(10_000_000_000),
                read_energy: 0.5,
                write_energy: 2.0,
                factor: 3.0,
            }),
            collect: Collect::Idle { after: Nanos(1_000_000), goal: CollectGoal { blocks: 5, step: 3 } },
            backlog: 16,
        }
    );
    assert_eq!(setup.replay, Replay::Closed { depth: 128, per_stream: false, think: Nanos(7_000) });
    assert_eq!(setup.gantt, Some(Window { from: Nanos(1_000_000_000), length: Nanos(2_000_000) }));
    let open = resolve(Some("tlc-chip"), &[], &["host.replay.open.speed=2"]).settings(None).unwrap().setup;
    assert_eq!(open.replay, Replay::at_speed(2.0));
    let bounded = resolve(Some("tlc-chip"), &[], &["time=event", "host.replay.open.depth=64,0,8"]);
    let depths = StreamDepths::new(&[64, u32::MAX, 8]);
    assert_eq!(bounded.settings(None).unwrap().setup.replay, Replay::Open { speed: 1.0, depths });
    let depths = depths.expect("three depths");
    assert_eq!([0, 1, 2, 3, 4, 60_000].map(|stream| depths.of(stream)), [64, 64, u32::MAX, 8, 8, 8]);
}

/// Defaults of a parallel drive: no queues, no link limit, no buffer and no collection in advance.
#[test]
fn drive_by_default() {
    let setup = resolve(Some("tlc-chip"), &[], &["time=event"]).settings(None).unwrap().setup;
    let Clock::Event(_, drive) = setup.clock else { panic!("not {:?}", setup.clock) };
    assert_eq!(
        drive,
        DriveOptions {
            commands: Commands::default(),
            scheduler: &scheduler::out_of_order::INFO,
            front: Front {
                protocol: Protocol::Direct,
                link_bytes_per_s: None,
                packets: Packets { payload_bytes: 256, overhead_bytes: 0 },
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
            backlog: 64,
        }
    );
    assert_eq!(setup.geometry.parallelism, Parallelism::SINGLE);
    assert_eq!(setup.replay, Replay::Closed { depth: 32, per_stream: false, think: Nanos::ZERO });
}

/// By default, all blocks beyond data and reserve are log blocks; the option `log` sets another number.
#[test]
fn log_space() {
    let ftl = |sets: &[&str]| resolve(Some("faster"), &[], sets).settings(None).unwrap().setup.ftl;
    let faster = |sets: &[&str]| match ftl(sets) {
        FtlChoice::Log(choice, log_blocks) if choice.is(&faster::INFO) => {
            (log_blocks, faster::isolation_blocks(&choice, log_blocks))
        }
        other => panic!("the preset has FASTer, not {other:?}"),
    };
    // A tenth of 8,192 data blocks is 819.2; two blocks are kept erased.
    assert_eq!(faster(&["device.op=10%"]), (820 - 2, 164));
    assert_eq!(faster(&["device.op=10%", "device.reserve=extra"]), (820, 164));
    assert_eq!(faster(&["device.op=10%", "ftl.faster.log=3%"]), (246, 49));
    assert_eq!(faster(&["ftl.faster.log=40", "ftl.faster.isolation=0%"]), (40, 0));
    let fast = ftl(&["ftl.fast.log=2"]);
    assert_eq!(fast, FtlChoice::Log(fast::INFO.with(&[1]), 2));
}

/// Every map-cache policy can be chosen by its name.
#[test]
fn cache_policies() {
    for (at, info) in (0..).zip(cache::POLICIES.iter()) {
        let set = format!("ftl.page.map.segments.policy={}", info.name);
        match resolve(None, &[], &[&set]).settings(None).unwrap().setup.ftl {
            FtlChoice::Page(_, map) => assert_eq!(map.get("policy"), at),
            other => panic!("{set} gives {other:?}"),
        }
    }
}

/// The error for a renamed key gives the current key.
#[test]
fn renamed_settings_name_the_current_key() {
    for (set, message) in [
        ("block.frame=modern", "block.frame: was renamed to block.layer = \"single-queue\" or \"multi-queue\""),
        ("ftl.dftl.cmt=64", "ftl.dftl: was renamed to ftl.page.map.dftl"),
    ] {
        let error = Config::resolve(None, &[], &[file("--set", set)]).unwrap_err().to_string();
        assert_eq!(error, format!("--set: {message}"));
    }
    let error = Config::resolve(None, &[], &[file("--set", "ftl=dftl")]).unwrap_err().to_string();
    assert!(error.ends_with("did you mean ftl.page.map = \"dftl\"?"), "{error}");
}

/// The preset has the entries and the protected share of the authors' simulator.
#[test]
fn dftl_preset() {
    match resolve(Some("dftl"), &[], &[]).settings(None).unwrap().setup.ftl {
        FtlChoice::Page(_, map) if map.is(&dftl::INFO) => {
            assert_eq!((map.get("cmt"), dftl::protected(&map), map.is_set("batch")), (8192, 6552, false))
        }
        other => panic!("the preset has DFTL, not {other:?}"),
    }
}

#[test]
fn fitting_a_trace() {
    let config = |fit: &str| resolve(Some("faster"), &[], &[fit]);
    assert!(!config("host.fit=wrap").needs_extent());
    assert!(config("host.fit=scale").needs_extent() && config("host.fit=grow").needs_extent());

    let extent = (3 << 30) + 1;
    let scaled = config("host.fit=scale").settings(Some(extent)).unwrap();
    assert_eq!(scaled.setup.fit, Fit::Scale { extent_bytes: extent });
    assert_eq!(scaled.setup.capacity_bytes(), 1 << 30);

    let grown = config("host.fit=grow").settings(Some(extent)).unwrap();
    assert_eq!(grown.setup.fit, Fit::Error);
    assert_eq!(grown.setup.capacity_bytes(), (3 << 30) + 2048);
    assert_eq!(grown.workload.span_bytes, grown.setup.capacity_bytes());
    let message = config("host.fit=grow").settings(Some(u64::MAX)).unwrap_err().to_string();
    assert!(
        message.starts_with("--set: host.fit: with over-provisioning, a drive of 18446744073709551615B"),
        "{message}"
    );
    assert!(message.ends_with("set it to \"wrap\""), "{message}");
    // A trace smaller than the device does not change the capacity.
    assert_eq!(config("host.fit=grow").settings(Some(1)).unwrap().setup.capacity_bytes(), 1 << 30);
}

/// Goal: variant spellings of values and names are accepted. Method: compares each with the canonical spelling.
#[test]
fn variant_spellings_are_accepted() {
    for (typed, meant) in [
        ("device.capacity=8G", "device.capacity=8GiB"),
        ("device.capacity=8 gib", "device.capacity=8GiB"),
        ("workload.requests=1M", "workload.requests=1000000"),
        ("workload.requests=1e6", "workload.requests=1000000"),
        ("workload.requests=1_000", "workload.requests=1000"),
        ("workload.requests=2.5k", "workload.requests=2500"),
        ("nand.read=25\u{b5}s", "nand.read=25us"),
        ("check=Yes", "check=true"),
        ("ftl.page.gc=Cost-Benefit", "ftl.page.gc=cost_benefit"),
        ("block.scheduler=MQ_DEADLINE", "block.scheduler=mq-deadline"),
        ("Host.FIT=Wrap", "host.fit=wrap"),
        ("ftl.page.gc.D-Choices.d=3", "ftl.page.gc.d_choices.d=3"),
        ("precondition.overwrite=None", "precondition.overwrite=none"),
    ] {
        let values =
            |config: Config| config.leaves().into_iter().map(|leaf| (leaf.key, leaf.value)).collect::<Vec<_>>();
        assert_eq!(values(resolve(None, &[], &[typed])), values(resolve(None, &[], &[meant])), "{typed}");
        let (key, value) = typed.split_once('=').unwrap();
        let toml = file("typed.toml", &format!("{key} = {value:?}"));
        assert_eq!(values(resolve(None, &[toml], &[])), values(resolve(None, &[], &[meant])), "{typed} in a file");
    }
    let table = file("typed.toml", "[FTL.page.gc.D-Choices]\nd = 3\n[Workload]\nrequests = 1e6");
    let config = resolve(Some("TLC_NVMe"), &[table], &[]);
    assert_leaf(&config, "ftl.page.gc.d_choices.d", "3", "typed.toml:2");
    assert_leaf(&config, "workload.requests", "1000000", "typed.toml:4");
}

/// Errors show the command-line option that set the value.
#[test]
fn settings_remember_the_option_that_set_them() {
    let typed = |origin: &str, text: &str| Layer { origin: origin.into(), text: text.into() };
    let sets = [typed("--fit", "host.fit=wrap"), typed("--set", "host.fit=scale"), typed("--repeat", "host.repeat=2x")];
    let message = Config::resolve(None, &[], &sets).unwrap_err().to_string();
    assert_eq!(message, "--repeat: host.repeat: \"2x\" is not one of times, until-steady");
    let config = Config::resolve(None, &[], &sets[..2]).unwrap();
    assert_leaf(&config, "host.fit", "\"scale\"", "--set");
    assert!(config.settings(None).unwrap_err().to_string().starts_with("--set: host.fit: "));
}

/// Goal: no setting is dropped silently. Method: contradictions in both orders, in one group and in two.
#[test]
fn contradictory_settings_of_one_group_are_errors_in_any_order() {
    let set = |text: &&str| Layer { origin: "--set".into(), text: (*text).into() };
    let resolved = |made: &[&[&str]]| {
        let made: Vec<Vec<Layer>> = made.iter().map(|sets| sets.iter().map(set).collect()).collect();
        Config::resolve_on(None, &[], &made)
    };
    let values = |made: &[&[&str]]| -> Vec<_> {
        resolved(made).unwrap().leaves().into_iter().map(|leaf| (leaf.key, leaf.value)).collect()
    };
    for (first, second, fault) in [
        ("ftl.fast.log=10%", "ftl=bast", "ftl.fast.log: needs ftl = \"fast\", but --set sets \"bast\""),
        ("ftl.fast.log=10%", "FTL='Bast'", "ftl.fast.log: needs ftl = \"fast\", but --set sets \"bast\""),
        ("ftl.fast.log=10%", "ftl.bast.log=3", "ftl.fast.log: needs ftl = \"fast\", but --set sets \"bast\""),
        (
            "host.replay.closed.queue_depth=1",
            "host.replay=open",
            "host.replay.closed.queue_depth: needs host.replay = \"closed\", but --set sets \"open\"",
        ),
        (
            "ftl.page.map.dftl.cmt=4096",
            "ftl.page.map=ram",
            "ftl.page.map.dftl.cmt: needs ftl.page.map = \"dftl\", but --set sets \"ram\"",
        ),
        ("device.op=7%", "device.spare=9%", "device.spare: device.op sets the same quantity (--set)"),
    ] {
        for at_once in [[first, second], [second, first]] {
            let message = resolved(&[&at_once]).unwrap_err().to_string();
            assert_eq!(message, format!("--set: {fault}; keep only one of the two"), "{at_once:?}");
        }
        // A later group may override the choice.
        assert_eq!(values(&[&[first], &[second]]), values(&[&[second]]), "{first}, then {second}");
        assert_eq!(values(&[&[second], &[first]]), values(&[&[first]]), "{second}, then {first}");
    }
    // A setting that a later setting of the same key replaces contradicts nothing.
    let of_dftl = ["ftl.page.map.dftl.cmt=4096", "ftl.page.map=dftl"];
    assert_eq!(values(&[&["ftl.page.map=ram", of_dftl[0], of_dftl[1]]]), values(&[&of_dftl]));
    // Errors in replaced settings are still reported.
    let fault = |wrong| resolved(&[&[wrong], &["ftl.page.map=ram"]]).unwrap_err().to_string();
    assert!(fault("ftl.page.map.dftl.cmd=4096").contains("did you mean ftl.page.map.dftl.cmt?"));
    assert!(fault("ftl.page.map.dftl.cmt=x").contains("expected a whole number"));
}

/// The block layer holds the requests that the drive's queues cannot hold.
#[test]
fn a_queue_depth_above_the_drives_needs_a_block_layer() {
    let sets = ["host.replay.closed.queue_depth=64", "block.scheduler=deadline"];
    let setup = resolve(Some("sata-mlc"), &[], &sets).settings(None).unwrap().setup;
    assert!(matches!(setup.replay, Replay::Closed { depth: 64, .. }));
    assert_eq!(setup.block.unwrap().slots, 31);
    let message = resolve(Some("sata-mlc"), &[], &sets[..1]).settings(None).unwrap_err().to_string();
    assert!(message.contains("64 exceeds the 31 requests that drive.protocol sata holds"), "{message}");
}

/// Every example and every variant can be set.
#[test]
fn every_example_and_variant_can_be_set() {
    for option in OPTIONS.iter() {
        let config = resolve(None, &[], &[&format!("{}={}", option.key, option.example)]);
        assert_eq!(leaf(&config, option.key).unwrap().1, "--set", "{}", option.key);
        for variant in option.variants() {
            // Most options of the section `drive` are read only with the event clock.
            let mut sets = vec!["time=event".to_string(), format!("{}={}", option.key, variant.name)];
            if option.key == "ftl.page.slc" {
                // No preset has word lines of several pages, or blocks for a cache.
                sets.extend(["nand.word_line=2", "device.reserve=extra"].map(String::from));
            }
            if option.key == "nand.passes" && variant.name == "two" {
                let beside = ["nand.word_line=2", "nand.program=1ms,3ms", "drive.buffer.eager.plp=true"];
                sets.extend(beside.map(String::from));
            }
            if option.key == "drive.pace" && variant.name == "credits" {
                sets.push("drive.collect=background".into());
            }
            if option.key == "drive.hmb" && variant.name == "map_cache" {
                sets.push("ftl.page.map=dftl".into());
            }
            if option.key == "ftl.page.fold" && variant.name == "idle" {
                sets.push("drive.collect=idle".into());
            }
            let required = OPTIONS.iter().filter(|other| other.fallback == Fallback::Required);
            let prefix = format!("{}.{}.", option.key, variant.name);
            sets.extend(
                required
                    .filter(|other| other.key.starts_with(&prefix))
                    .map(|other| format!("{}={}", other.key, other.example)),
            );
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let settings = resolve(Some("tlc-nvme"), &[], &sets).settings(Some(1 << 30));
            assert!(settings.is_ok(), "{sets:?}: {settings:?}");
        }
    }
}
