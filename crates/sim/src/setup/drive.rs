//! What can be chosen about a drive that works on many requests at once.

use ssdlab_core::Nanos;
use ssdlab_nand::Commands;
use ssdlab_nand::backend::parallel::ArrayOptions;
use ssdlab_nand::backend::parallel::scheduler::DieSchedulerInfo;

/// Controller and chips of a parallel drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DriveOptions {
    /// What the chips can do.
    pub commands: Commands,
    /// Which of the operations waiting for a die goes next.
    pub scheduler: &'static DieSchedulerInfo,
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

impl DriveOptions {
    /// How its dies work.
    pub const fn array(&self) -> ArrayOptions {
        ArrayOptions { commands: self.commands, scheduler: self.scheduler }
    }
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
    /// Also while requests are served; see [`DieSchedulerInfo`] for what that costs them.
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
