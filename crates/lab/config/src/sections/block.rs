//! Settings of the host's block layer and its I/O scheduler. Each scheduler declares a table of its tunables in its own
//! file; the options are derived from these tables.

use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::parameters;
use crate::table::{
    Derived, Entries, Fallback, KIB, MEBI, OptionSpec, SECOND, Section, Use, bytes, count, nanos, option, switch,
};
use crate::value::Value;
use ssdlab_core::units::write_bytes;
use ssdlab_sched::{BlockLayerKind, Device, NoMerges, SCHEDULERS, SchedulerInfo, TunableError, check_tunables};
use ssdlab_sim::{BlockOptions, Clock, Protocol, block_options};

const SCHEDULER: &str = "block.scheduler";
const LAYER: &str = "block.layer";
const QUEUES: &str = "block.hardware_queues";
const MAX_REQUEST: &str = "block.max_request";
const WBT_LAT: &str = "block.wbt_lat";

pub(crate) const SECTION: Section = Section {
    name: "block",
    help: "Host block layer with the I/O scheduler, between processes and drive.",
    used: &[Use::With("time", "event"), Use::Unless(SCHEDULER, "direct")],
    options,
};

static LAYERS: Choices<BlockLayerKind, 2> = Choices::new([
    (
        "single-queue",
        "Linux 2.6.32: one queue with plugging and separate limits for synchronous and asynchronous requests; while \
         the device queue is full, the next request is chosen in advance",
        BlockLayerKind::SingleQueue,
    ),
    (
        "multi-queue",
        "Linux 6 blk-mq: one plug per process and one request pool per hardware queue",
        BlockLayerKind::MultiQueue,
    ),
]);

static MERGES: Choices<NoMerges, 3> = Choices::new([
    ("all", "merge with any waiting request", NoMerges::All),
    ("last", "merge only with the most recently merged request", NoMerges::LastOnly),
    ("none", "no merges", NoMerges::None),
]);

/// Returns all options of the block layer. The options are never freed, so this function must be called rarely.
fn options() -> Vec<OptionSpec> {
    let direct = ("direct", "no block layer: requests go straight to the drive's queues");
    let names = std::iter::once(direct).chain(SCHEDULERS.iter().map(|info| (info.name, info.help)));
    let mut options = vec![
        option(SCHEDULER, Kind::of_names(names))
            .default("direct")
            .example("mq-deadline")
            .help("I/O scheduler. Tunables have the kernel's names and defaults."),
    ];
    options.extend(parameters::of_members(SCHEDULER, &SCHEDULERS));
    options.extend(OPTIONS);
    options
}

const OPTIONS: &[OptionSpec] = &[
    option(LAYER, LAYERS.kind())
        .fallback(Fallback::Derived(DEFAULT_LAYER))
        .example("multi-queue")
        .help("Kernel block layer to simulate; both layers work with every scheduler."),
    // The maximum equals the maximum number of NVMe queues.
    count(QUEUES, 1..=KIB).default("1").example("8").help(
        "Number of hardware queues in the multi-queue layer, each with its own slots and requests. The host has one \
         CPU per queue; process (stream) p runs on CPU p modulo the number of CPUs.",
    ),
    count("block.slots", 1..=65_536)
        .fallback(Fallback::Derived(DEFAULT_SLOTS))
        .example("8")
        .help("Maximum number of outstanding requests at the drive per hardware queue."),
    // The kernel requires a pool of at least four requests.
    count("block.nr_requests", 4..=MEBI).fallback(Fallback::Derived(DEFAULT_REQUESTS)).example("256").help(
        "Size of the request pool of each hardware queue. The single-queue layer has one pool of this size for \
             synchronous requests and one for asynchronous requests. Submitters block when no request is free.",
    ),
    bytes(MAX_REQUEST, 4 * KIB..=KIB * MEBI)
        .fallback(Fallback::Derived(DEFAULT_MAX_REQUEST))
        .example("128KiB")
        .help("Maximum size of a merged request; larger requests of the trace are split."),
    option("block.merges", MERGES.kind())
        .default("all")
        .example("none")
        .help("Which requests are merged with waiting requests for adjacent sectors."),
    switch("block.plug", true).help(
        "Plugging: delays requests briefly so that adjacent requests can merge. The delay ends when four requests wait \
         or after 3 ms (single-queue layer), or when the process sleeps (multi-queue layer).",
    ),
    nanos(WBT_LAT, 0..=60 * SECOND).default("0ns").example("2ms").help(
        "Write-back throttling of the multi-queue layer: fewer write-backs and discards are issued while reads exceed \
         this latency; 0 turns throttling off. Linux uses 2 ms for SSDs, and 0 under bfq.",
    ),
    switch("block.record", false)
        .help("Records the requests that the scheduler sends to the drive, as a trace in the result; uses memory."),
];

/// Returns the name of the chosen variant of option `key`; empty if the option is unset.
fn chosen(entries: &Entries, key: &str) -> &'static str {
    match entries.get(key).map(|entry| &entry.value) {
        Some(Value::Choice(name)) => name,
        _ => "",
    }
}

fn count_of(entries: &Entries, key: &str) -> Option<u64> {
    match entries.get(key).map(|entry| &entry.value) {
        Some(Value::Count(count)) => Some(*count),
        _ => None,
    }
}

fn is_single_queue(entries: &Entries) -> bool {
    LAYERS.get(chosen(entries, LAYER)) == Some(BlockLayerKind::SingleQueue)
}

const DEFAULT_LAYER: Derived = Derived {
    rule: "the block layer of the Linux version that the scheduler is modelled on",
    value: |entries| match SCHEDULERS.get(chosen(entries, SCHEDULER)).map(|info| info.role.kind) {
        Ok(BlockLayerKind::SingleQueue) => "single-queue".into(),
        // If the scheduler is "direct", there is no block layer, and this default has no effect.
        Ok(BlockLayerKind::MultiQueue) | Err(_) => "multi-queue".into(),
    },
};

const DEFAULT_SLOTS: Derived = Derived {
    rule: "the queue depth of `drive.protocol` (32 for `direct`), at most 31 in the single-queue layer and 1023 in the \
           multi-queue layer",
    value: |entries| {
        let max = if is_single_queue(entries) { 31 } else { 1023 };
        let protocol = chosen(entries, "drive.protocol");
        count_of(entries, &format!("drive.protocol.{protocol}.depth")).unwrap_or(32).min(max).to_string()
    },
};

const DEFAULT_REQUESTS: Derived = Derived {
    rule: "128 in the single-queue layer. In the multi-queue layer, twice `block.slots`, at most 256; with the \
           scheduler `none`, equal to `block.slots`",
    value: |entries| {
        let slots = count_of(entries, "block.slots").unwrap_or(32);
        match (is_single_queue(entries), chosen(entries, SCHEDULER)) {
            (true, _) => "128".into(),
            (false, "none") => slots.max(4).to_string(),
            (false, _) => (2 * slots.min(128)).max(4).to_string(),
        }
    },
};

const DEFAULT_MAX_REQUEST: Derived = Derived {
    rule: "512KiB in the single-queue layer, 1280KiB in the multi-queue layer",
    value: |entries| if is_single_queue(entries) { "512KiB" } else { "1280KiB" }.into(),
};

impl Checker<'_> {
    /// Reads the settings of the block layer; `None` if there is no block layer. Checks that depend on the size of the
    /// device use `capacity_bytes`.
    pub(crate) fn block(&mut self, clock: &Clock, capacity_bytes: Option<u64>) -> Read<Option<BlockOptions>> {
        let name = self.name(SCHEDULER)?;
        let Ok(info) = SCHEDULERS.get(name) else {
            for key in [QUEUES, WBT_LAT] {
                if !self.is_default(key) {
                    self.report(key, "needs a block layer; set block.scheduler to \"none\"");
                }
            }
            return Ok(None);
        };
        let Clock::Event(_, drive) = clock else {
            self.report(SCHEDULER, format!("scheduler {name} needs simulated concurrency; set time to \"event\""));
            return Ok(None);
        };
        let mut options = block_options(name);
        for tunable in info.parameters {
            let key = format!("{SCHEDULER}.{name}.{}", tunable.name);
            let value = self.parameter(&key, tunable)?;
            // A scheduler may adapt its default tunables to the device, but must keep values that the user set.
            if !self.is_default(&key) {
                options.tunables.push((tunable.name.into(), value));
            }
        }
        self.refuse_beyond_device(info, &options, capacity_bytes);
        options.kind = self.choice(LAYER, &LAYERS)?;
        options.queues = self.hardware_queues(options.kind, &drive.front.protocol)?;
        options.slots = self.small("block.slots")?;
        options.nr_requests = self.small("block.nr_requests")?;
        options.max_sectors = self.max_sectors()?;
        options.no_merges = self.choice("block.merges", &MERGES)?;
        options.plug = self.flag("block.plug")?;
        options.wbt_lat_ns = self.nanos(WBT_LAT)?.0;
        if options.kind == BlockLayerKind::SingleQueue && options.wbt_lat_ns > 0 {
            let message = "the single-queue layer has no write-back throttling; set block.layer to \"multi-queue\"";
            self.report(WBT_LAT, message);
        }
        options.volatile_cache = drive.buffer.is_some_and(|buffer| !buffer.protected);
        Ok(Some(options))
    }

    fn refuse_beyond_device(&mut self, info: &SchedulerInfo, options: &BlockOptions, capacity_bytes: Option<u64>) {
        let Some(capacity_bytes) = capacity_bytes else { return };
        let BlockOptions { nr_requests, queues, .. } = *options;
        let device = Device { sectors: capacity_bytes / 512, rotational: false, nr_requests, queues };
        match check_tunables(info, &options.tunables, &device) {
            Err(TunableError::BeyondDevice { name, value, device, unit, .. }) => {
                let tunable = info.parameters.iter().find(|tunable| tunable.name == name);
                let remedy = match tunable {
                    // The scheduler's default is already limited to the size of the device.
                    Some(tunable) if device < tunable.min => format!("set it to {}", unit.write(tunable.default)),
                    _ => format!("lower it to {}", unit.write(device)),
                };
                let key = format!("{SCHEDULER}.{}.{name}", info.name);
                self.report(&key, format!("{} is larger than the drive; {remedy}", unit.write(value)));
            }
            Err(error) => self.report(SCHEDULER, error.to_string()),
            Ok(_) => {}
        }
    }

    /// Reads the number of hardware queues, which must equal the number of drive queues.
    fn hardware_queues(&mut self, layer: BlockLayerKind, protocol: &Protocol) -> Read<u16> {
        let queues = self.small(QUEUES)?;
        let problem = match (layer, protocol) {
            _ if queues == 1 => None,
            (BlockLayerKind::SingleQueue, _) => {
                Some("the single-queue layer has only one queue; set block.layer to \"multi-queue\"".into())
            }
            (_, Protocol::SingleQueue { .. }) => {
                let protocol = self.name("drive.protocol")?;
                Some(format!("drive.protocol {protocol} has only one queue, not {queues}; lower it to 1"))
            }
            (_, &Protocol::MultiQueue { queues: of_drive, .. }) if of_drive != queues => {
                Some(format!("drive.protocol nvme has {of_drive} queues, not {queues}; set it to {of_drive}"))
            }
            _ => None,
        };
        if let Some(problem) = problem {
            self.report(QUEUES, problem);
        }
        // The cast is safe, because the range of the option ends at 1,024.
        Ok(queues as u16)
    }

    fn max_sectors(&mut self) -> Read<u32> {
        let bytes = self.bytes(MAX_REQUEST)?;
        if !bytes.is_multiple_of(512) {
            let below = write_bytes(bytes / 512 * 512);
            self.report(MAX_REQUEST, format!("{} is not a multiple of 512B; lower it to {below}", write_bytes(bytes)));
        }
        // The cast is safe, because the range of the option ends at 1 GiB.
        Ok((bytes / 512) as u32)
    }
}
