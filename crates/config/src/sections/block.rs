//! The block layer of the host and its I/O scheduler. Each scheduler declares its tunables in its own file; the options
//! follow from there.

use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::parameters::option;
use crate::table::{Derived, Entries, Fallback, KIB, MEBI, OptionSpec, SECOND, Section, Use};
use crate::value::Value;
use ssdlab_core::Nanos;
use ssdlab_core::units::write_bytes;
use ssdlab_sched::{BlockLayerKind, Device, NoMerges, SCHEDULERS, SchedulerInfo, TunableError, check_tunables};
use ssdlab_sim::{BlockOptions, Clock, Protocol};

const SCHEDULER: &str = "block.scheduler";
const QUEUES: &str = "block.hardware_queues";
const WBT_LAT: &str = "block.wbt_lat";

pub(crate) const SECTION: Section = Section {
    name: "block",
    help: "The block layer of the host, between its processes and the drive, and its I/O scheduler.",
    used: &[Use::With("time", "event"), Use::Unless(SCHEDULER, "direct")],
    options,
};

static FRAMES: Choices<BlockLayerKind, 2> = Choices::new([
    (
        "legacy",
        "the single queue of Linux 2.6.32: the queue is plugged, requests are limited by kind, one is \
         chosen ahead",
        BlockLayerKind::SingleQueue,
    ),
    (
        "modern",
        "blk-mq of Linux 6: processes plug, one pool of requests for each hardware queue",
        BlockLayerKind::MultiQueue,
    ),
]);

static MERGES: Choices<NoMerges, 3> = Choices::new([
    ("all", "with any waiting request", NoMerges::All),
    ("last", "only with the request merged last", NoMerges::LastOnly),
    ("none", "none", NoMerges::None),
]);

/// Every option; called once.
fn options() -> Vec<OptionSpec> {
    let direct = ("direct", "no block layer: requests go into the queues of the drive as they are");
    let schedulers = SCHEDULERS.iter().map(|info| (info.name, info.help));
    let scheduler = OptionSpec {
        key: SCHEDULER,
        kind: Kind::of_names(std::iter::once(direct).chain(schedulers)),
        fallback: Fallback::Value("direct"),
        help: "The I/O scheduler. Its tunables have the names and defaults of the kernel.",
        example: "mq-deadline",
    };
    let tunables = SCHEDULERS
        .iter()
        .flat_map(|info| info.parameters.iter().map(|one| option(key_of(info.name, one.name), one, one.help)));
    std::iter::once(scheduler).chain(tunables).chain(LAYER.iter().copied()).collect()
}

/// What is not the scheduler's.
const LAYER: &[OptionSpec] = &[
    OptionSpec {
        key: "block.frame",
        kind: FRAMES.kind(),
        fallback: Fallback::Derived(FRAME),
        help: "Which block layer is around the scheduler; both run any.",
        example: "modern",
    },
    OptionSpec {
        key: QUEUES,
        // As many as NVMe queues.
        kind: Kind::Count { min: 1, max: KIB },
        fallback: Fallback::Value("1"),
        help: "Hardware queues of the modern frame, each with its slots and requests. The host has as many processors; \
               process p, a stream of the trace, runs on processor p modulo their number.",
        example: "8",
    },
    OptionSpec {
        key: "block.slots",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Derived(SLOTS),
        help: "Requests that the drive is given at a time by each hardware queue; from 1 on.",
        example: "8",
    },
    OptionSpec {
        key: "block.nr_requests",
        // As the kernel: fewer than four do not make a queue.
        kind: Kind::Count { min: 4, max: MEBI },
        fallback: Fallback::Derived(NR_REQUESTS),
        help: "Requests there may be in each hardware queue, in the legacy frame of each kind (synchronous or not); whoever \
               finds none sleeps.",
        example: "256",
    },
    OptionSpec {
        key: "block.max_request",
        kind: Kind::Bytes { min: 4 * KIB, max: KIB * MEBI },
        fallback: Fallback::Derived(MAX_REQUEST),
        help: "Largest request that merging makes; larger ones of the trace are cut.",
        example: "128KiB",
    },
    OptionSpec {
        key: "block.merges",
        kind: MERGES.kind(),
        fallback: Fallback::Value("all"),
        help: "Which requests are merged with waiting neighbours.",
        example: "none",
    },
    OptionSpec {
        key: "block.plug",
        kind: Kind::Bool,
        fallback: Fallback::Value("true"),
        help: "Whether requests wait a little for neighbours: in the legacy frame until four wait or 3 ms are over, in the \
               modern one until their process sleeps.",
        example: "false",
    },
    OptionSpec {
        key: WBT_LAT,
        kind: Kind::Nanos { min: 0, max: 60 * SECOND },
        fallback: Fallback::Value("0ns"),
        help: "Writeback throttling of the modern frame: write-back and discards are held to fewer requests while reads are \
               at the drive for longer than this; 0 never does. Linux has 2 ms for SSDs, and none under bfq.",
        example: "2ms",
    },
    OptionSpec {
        key: "block.record",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Keeps the requests given to the drive in the result: a trace from below the scheduler, in memory.",
        example: "true",
    },
];

/// The name chosen, and nothing where the option does not apply.
fn chosen(entries: &Entries, key: &str) -> &'static str {
    match entries.get(key).map(|entry| &entry.value) {
        Some(Value::Choice(name)) => name,
        _ => "",
    }
}

fn counted(entries: &Entries, key: &str) -> Option<u64> {
    match entries.get(key).map(|entry| &entry.value) {
        Some(Value::Count(count)) => Some(*count),
        _ => None,
    }
}

fn is_legacy(entries: &Entries) -> bool {
    FRAMES.get(chosen(entries, "block.frame")) == Some(BlockLayerKind::SingleQueue)
}

const FRAME: Derived = Derived {
    rule: "the kernel that the scheduler comes from",
    value: |entries| match SCHEDULERS.get(chosen(entries, SCHEDULER)).map(|info| info.role.kind) {
        Ok(BlockLayerKind::SingleQueue) => "legacy".into(),
        // Without a block layer it does not matter.
        Ok(BlockLayerKind::MultiQueue) | Err(_) => "modern".into(),
    },
};

const SLOTS: Derived = Derived {
    rule: "what `drive.protocol` holds, at most 31 in the legacy frame, 1023 in the modern one; 32 (31) with `direct`",
    value: |entries| {
        let most = if is_legacy(entries) { 31 } else { 1023 };
        let protocol = chosen(entries, "drive.protocol");
        let held = counted(entries, &format!("drive.protocol.{protocol}.depth")).unwrap_or(32);
        held.min(most).to_string()
    },
};

const NR_REQUESTS: Derived = Derived {
    rule: "128 in the legacy frame; in the modern one twice the slots, at most 256, and with `none` as many as slots",
    value: |entries| {
        let slots = counted(entries, "block.slots").unwrap_or(32);
        match (is_legacy(entries), chosen(entries, SCHEDULER)) {
            (true, _) => "128".into(),
            (false, "none") => slots.max(4).to_string(),
            (false, _) => (2 * slots.min(128)).max(4).to_string(),
        }
    },
};

const MAX_REQUEST: Derived = Derived {
    rule: "512KiB in the legacy frame, 1280KiB in the modern one",
    value: |entries| if is_legacy(entries) { "512KiB" } else { "1280KiB" }.into(),
};

fn key_of(scheduler: &str, tunable: &str) -> String {
    format!("{SCHEDULER}.{scheduler}.{tunable}")
}

impl Checker<'_> {
    /// The block layer, if there is one; what depends on the size of the device is checked where that is known.
    pub(crate) fn block(&mut self, clock: &Clock, capacity_bytes: Option<u64>) -> Read<Option<BlockOptions>> {
        let name = self.name(SCHEDULER)?;
        let Ok(info) = SCHEDULERS.get(name) else {
            for (key, is_asked_for) in
                [(QUEUES, self.small(QUEUES)? > 1), (WBT_LAT, self.nanos(WBT_LAT)? > Nanos::ZERO)]
            {
                if is_asked_for {
                    let message = "there is no block layer with block.scheduler = \"direct\"; set block.scheduler to \
                                   \"none\"";
                    self.report(key, message.to_owned());
                }
            }
            return Ok(None);
        };
        let Clock::Event(_, drive) = clock else {
            let message = format!(
                "{name} has nothing to choose from: without a model of requests in flight they are served one by one; \
                 set time to \"event\""
            );
            self.report(SCHEDULER, message);
            return Ok(None);
        };
        let mut options = BlockOptions::of(info.name);
        for (tunable, slot) in info.parameters.iter().zip(&mut options.tunables) {
            let key = key_of(name, tunable.name);
            let value = self.parameter(&key, tunable)?;
            // A scheduler may fit a default to the device, but not another value.
            *slot = (!self.is_default(&key)).then_some(value);
        }
        self.refuse_beyond_device(info, &options, capacity_bytes);
        options.kind = self.choice("block.frame", &FRAMES)?;
        options.queues = self.hardware_queues(options.kind, &drive.front.protocol)?;
        options.slots = self.small("block.slots")?;
        options.nr_requests = self.small("block.nr_requests")?;
        options.max_sectors = self.max_sectors()?;
        options.no_merges = self.choice("block.merges", &MERGES)?;
        options.plug = self.flag("block.plug")?;
        options.wbt_lat = self.nanos(WBT_LAT)?;
        if options.kind == BlockLayerKind::SingleQueue && options.wbt_lat > Nanos::ZERO {
            let message = "the legacy frame, Linux 2.6.32, has no writeback throttling; set block.frame to \"modern\"";
            self.report(WBT_LAT, message.to_owned());
        }
        options.record = self.flag("block.record")?;
        options.volatile_cache = drive.buffer.is_some_and(|buffer| !buffer.protected);
        Ok(Some(options))
    }

    fn refuse_beyond_device(&mut self, info: &SchedulerInfo, options: &BlockOptions, capacity_bytes: Option<u64>) {
        let Some(capacity_bytes) = capacity_bytes else { return };
        let changes: Vec<(String, u64)> = options.changes(info).collect();
        let BlockOptions { nr_requests, queues, .. } = *options;
        let device = Device { sectors: capacity_bytes / 512, rotational: false, nr_requests, queues };
        match check_tunables(info, &changes, &device) {
            Err(TunableError::BeyondDevice { name, value, device, unit, .. }) => {
                let tunable = info.parameters.iter().find(|tunable| tunable.name == name);
                let remedy = match tunable {
                    // The default fits itself to the device.
                    Some(tunable) if device < tunable.min => format!("set it to {}", unit.write(tunable.default)),
                    _ => format!("lower it to {}", unit.write(device)),
                };
                let message = format!("{} is more than the drive has; {remedy}", unit.write(value));
                self.report(&key_of(info.name, name), message);
            }
            Err(error) => self.report(SCHEDULER, error.to_string()),
            Ok(_) => {}
        }
    }

    /// Where the drive has queues, a hardware queue is one of them.
    fn hardware_queues(&mut self, frame: BlockLayerKind, protocol: &Protocol) -> Read<u16> {
        let queues = self.small(QUEUES)?;
        let message = match protocol {
            _ if queues == 1 => None,
            _ if frame == BlockLayerKind::SingleQueue => Some(
                "the legacy frame, Linux 2.6.32, has a single queue; set block.frame to \"modern\"".to_owned(),
            ),
            Protocol::Direct => None,
            Protocol::SingleQueue { .. } => {
                let protocol = self.name("drive.protocol")?;
                Some(format!("{queues} for the one queue of drive.protocol {protocol}; lower it to 1"))
            }
            Protocol::MultiQueue { queues: of_drive, .. } => (*of_drive != queues).then(|| {
                format!(
                    "{queues}, but drive.protocol nvme has {of_drive} queues and each belongs to one; set it to {of_drive}"
                )
            }),
        };
        if let Some(message) = message {
            self.report(QUEUES, message);
        }
        // The range of the option ends at 1,024.
        Ok(queues as u16)
    }

    fn max_sectors(&mut self) -> Read<u32> {
        const KEY: &str = "block.max_request";
        let bytes = self.bytes(KEY)?;
        if !bytes.is_multiple_of(512) {
            let below = write_bytes(bytes / 512 * 512);
            let message = format!("{} is not a multiple of 512B; lower it to {below}", write_bytes(bytes));
            self.report(KEY, message);
        }
        // The range of the option ends at 1 GiB.
        Ok((bytes / 512) as u32)
    }
}
