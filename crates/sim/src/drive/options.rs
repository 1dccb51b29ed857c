//! What can be chosen about a drive that works on many requests at once.

use ssdlab_core::Nanos;
use ssdlab_nand::Commands;
use ssdlab_sched::{Frame, NoMerges, Options, SchedulerInfo, scheduler};

/// Controller and chips of a parallel drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drive {
    /// What the chips can do.
    pub commands: Commands,
    /// Which of the operations waiting for a die goes next.
    pub scheduler: DieSchedulerChoice,
    /// How requests enter.
    pub front: Front,
    /// RAM that writes complete in; none writes through.
    pub buffer: Option<WriteBuffer>,
    /// When garbage is collected before free pages run out.
    pub collect: Collect,
    /// Flash operations that may be under way for each die, on average, before no further request is taken from the
    /// queues, or, where there is a buffer, no further page of it is programmed.
    pub backlog: u32,
}

/// Order of the operations that wait for a die; one file each under `parallel/scheduler/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DieSchedulerChoice {
    /// As emitted.
    Fifo,
    /// As they become ready.
    OutOfOrder,
    /// Reads of the host first.
    ReadFirst,
    /// Everything for the host before collection, merges and writing the map.
    HostFirst,
}

/// How requests enter the drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Front {
    /// Protocol, which says how many requests the drive sees.
    pub protocol: Protocol,
    /// Bytes per second of the link; none takes no time.
    pub link_bytes_per_s: Option<u64>,
    /// Whether data goes both ways at once.
    pub full_duplex: bool,
    /// Time that the controller works on each request, one after the other, before its first flash operation.
    pub command: Nanos,
}

/// Queues between host and drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Protocol {
    /// The drive sees every request at once.
    Direct,
    /// One queue of tags, as SATA (NCQ), UFS and eMMC (command queueing) have.
    SingleQueue {
        /// Requests that the drive holds.
        depth: u32,
    },
    /// Queues of their own for the streams of the host (NVMe): stream `s` uses queue `s % queues`.
    MultiQueue {
        /// Queues.
        queues: u32,
        /// Requests that a queue holds.
        depth: u32,
        /// Requests that the drive works on at a time.
        slots: u32,
        /// Which queue is served next.
        arbitration: Arbitration,
    },
}

/// Order in which queues are served (NVMe 2.0, section 3.4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbitration {
    /// One after the other, `burst` requests each.
    RoundRobin {
        /// Requests taken from a queue in a row.
        burst: u32,
    },
    /// One after the other, each by its weight in requests; queue `q` has weight `q % 8`.
    Weighted {
        /// Requests taken from a queue in a row, at least 1.
        weights: [u16; 8],
    },
}

/// RAM of the drive that holds written pages until they are programmed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WriteBuffer {
    /// Pages held.
    pub pages: u32,
    /// When pages are programmed.
    pub flush: FlushPolicy,
    /// Whether its contents survive a power loss: then a flush request has nothing to wait for.
    pub protected: bool,
}

/// When a write buffer is emptied.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FlushPolicy {
    /// Every page as soon as it is there.
    Eager,
    /// Pages wait to be overwritten; from `high` of the buffer on, the oldest are programmed until `low` is left.
    Watermark {
        /// Share of the pages at which programming starts, above `low` and up to 1.
        high: f64,
        /// Share of the pages at which it ends.
        low: f64,
    },
}

/// When garbage is collected before free pages run out. Where they do, requests wait for a collection, always.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collect {
    /// Not before.
    Foreground,
    /// While no request has been in the drive for a while.
    Idle {
        /// How long none must have been.
        after: Nanos,
        /// What it works towards.
        goal: CollectGoal,
    },
    /// Also while requests are served; see [`DieSchedulerChoice`] for what that costs them.
    Background {
        /// What it works towards.
        goal: CollectGoal,
    },
}

/// How far and in which steps garbage is collected ahead of need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectGoal {
    /// Erased blocks in each plane beyond those the FTL holds back.
    pub blocks: u32,
    /// Pages copied before it is asked again whether requests wait.
    pub step: u32,
}

/// Most tunables that a scheduler has.
pub const MOST_TUNABLES: usize = 16;

/// The block layer of the host above the drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlockOptions {
    /// Name of the scheduler, one of [`ssdlab_sched::SCHEDULERS`].
    pub scheduler: &'static str,
    /// Values of its tunables in the order of its table; none for the default.
    pub tunables: [Option<u64>; MOST_TUNABLES],
    /// Which block layer.
    pub frame: Frame,
    /// Requests that the drive is given at a time.
    pub slots: u32,
    /// Requests there may be; in the legacy frame, of each kind.
    pub nr_requests: u32,
    /// Largest request that merging makes, in sectors; larger ones of the host are cut.
    pub max_sectors: u32,
    /// Which merges are looked for.
    pub no_merges: NoMerges,
    /// Whether an idle queue (legacy frame) or a process (modern frame) is plugged.
    pub plug: bool,
    /// Whether the drive is known to have a cache that loses data with power.
    pub volatile_cache: bool,
    /// Whether the requests given to the drive are kept: a trace from below the scheduler.
    pub record: bool,
}

impl BlockOptions {
    /// The block layer that a scheduler comes with, its tunables at their defaults.
    ///
    /// # Panics
    /// If there is no scheduler of this name.
    pub fn of(name: &str) -> Self {
        let info: &'static SchedulerInfo = scheduler(name).expect("a scheduler that is registered");
        let Options { frame, slots, nr_requests, max_sectors, no_merges, plug, .. } = kernel(info.frame, name, 0);
        let tunables = [None; MOST_TUNABLES];
        Self {
            scheduler: info.name,
            tunables,
            frame,
            slots,
            nr_requests,
            max_sectors,
            no_merges,
            plug,
            volatile_cache: false,
            record: false,
        }
    }

    /// The tunables of its scheduler that are set.
    pub fn changes(&self, info: &SchedulerInfo) -> impl Iterator<Item = (String, u64)> {
        info.tunables.iter().zip(self.tunables).filter_map(|(tunable, value)| Some((tunable.name.to_owned(), value?)))
    }

    /// What the block layer is built from, on a device of so many sectors.
    pub(crate) fn for_device(&self, sectors: u64) -> Options {
        let tunables = scheduler(self.scheduler).map_or(Vec::new(), |info| self.changes(info).collect());
        Options {
            slots: self.slots,
            nr_requests: self.nr_requests,
            max_sectors: self.max_sectors,
            no_merges: self.no_merges,
            plug: self.plug,
            volatile_cache: self.volatile_cache,
            tunables,
            ..kernel(self.frame, self.scheduler, sectors)
        }
    }
}

/// The block layer of a kernel with this frame.
fn kernel(frame: Frame, scheduler: &str, sectors: u64) -> Options {
    match frame {
        Frame::Legacy => Options::legacy(scheduler, sectors),
        Frame::Modern => Options::modern(scheduler, sectors),
    }
}
