//! Options of a drive that processes many requests concurrently.

use ssdlab_core::Nanos;
use ssdlab_nand::Commands;
use ssdlab_nand::backend::parallel::ArrayOptions;
use ssdlab_nand::backend::parallel::scheduler::DieSchedulerInfo;
use ssdlab_trace::Op;

/// Options of the controller and the chips of a drive that processes many requests concurrently.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DriveOptions {
    /// Optional commands that the chips support.
    pub commands: Commands,
    /// Policy that selects the next operation for a die.
    pub scheduler: &'static DieSchedulerInfo,
    /// Host interface of the drive.
    pub front: Front,
    /// Write buffer; without a buffer, writes complete when they are programmed.
    pub buffer: Option<WriteBuffer>,
    /// Limit on the rate at which the write buffer accepts pages; needs a write buffer.
    pub pace: Option<Pace>,
    /// Read-ahead of sequential streams, if any.
    pub read_ahead: Option<ReadAhead>,
    /// Host memory that holds the FTL's map cache, if any; needs a map in flash.
    pub host_memory: Option<HostMemory>,
    /// Thermal throttling, if any.
    pub thermal: Option<Thermal>,
    /// Rule that decides when garbage is collected in advance, and how many blocks are freed.
    pub collect: Collect,
    /// Maximum number of flash operations in flight per die, on average. At this limit, a drive without a write buffer
    /// takes no further requests, and a drive with a write buffer programs no further pages from the buffer.
    pub backlog: u32,
}

impl DriveOptions {
    /// Returns the options of the flash array, with the given seed for its random suspension times.
    pub fn array(&self, seed: u64) -> ArrayOptions {
        let memory_survives = self.buffer.is_none_or(|buffer| buffer.protected);
        ArrayOptions { commands: self.commands, scheduler: self.scheduler, seed, memory_survives }
    }
}

/// Host interface of the drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Front {
    /// Protocol, which limits the number of requests in the drive.
    pub protocol: Protocol,
    /// Bandwidth of the link in bytes per second; `None` means that transfers take no time.
    pub link_bytes_per_s: Option<u64>,
    /// Sizes of the packets on the link.
    pub packets: Packets,
    /// True if the link transfers in both directions at once.
    pub full_duplex: bool,
    /// Unit in which the link transfers the data of a request.
    pub transfer: TransferUnit,
    /// Bandwidth of the controller's DRAM in bytes per second; `None` means that the DRAM takes no time.
    pub dram_bytes_per_s: Option<u64>,
    /// Processing times and delays of the controller.
    pub controller: Controller,
}

/// Unit in which the data of a request is transferred between host and drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferUnit {
    /// All data of a request is transferred at once. The data of a write is transferred before the buffer accepts it,
    /// and the data of a read after its last page has been read.
    Request,
    /// Each page is transferred separately. A page of a read is transferred once it has left the flash; a page of a
    /// write enters the write buffer once it has arrived.
    Page,
}

/// Packets that carry the data of a request over the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packets {
    /// Maximum number of data bytes in a packet, at least 1.
    pub payload_bytes: u32,
    /// Overhead of each packet in bytes, for headers and checksums.
    pub overhead_bytes: u32,
}

impl Packets {
    /// Packets without headers or checksums.
    pub const FREE: Self = Self { payload_bytes: 1, overhead_bytes: 0 };

    /// Returns the number of bytes on the link for `bytes` bytes of data, including headers and checksums.
    pub(crate) const fn on_link(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(self.payload_bytes as u64) * self.overhead_bytes as u64
    }
}

/// Processor time that the controller spends on each request, and further delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Controller {
    /// Number of processors; each works on one request at a time.
    pub processors: u32,
    /// Processor time for each page of a read or write, before its first flash operation.
    pub page_work: Nanos,
    /// Controller times of reads.
    pub read: CommandTimes,
    /// Controller times of writes, trims and flushes.
    pub write: CommandTimes,
}

/// Controller times for one type of request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandTimes {
    /// Controller time before the first flash operation of a request.
    pub submission: StageTime,
    /// Controller time after the data transfer or the flash operations of a request.
    pub completion: StageTime,
}

/// Time that a request spends in the controller at one stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StageTime {
    /// Time during which a processor works only on this request.
    pub work: Nanos,
    /// Delay of the request after the processor has finished its work. It does not occupy the processor.
    pub latency: Nanos,
}

impl Controller {
    /// Creates a controller with one processor, which spends `command` on each request before the request's first flash
    /// operation.
    pub const fn serial(command: Nanos) -> Self {
        let none = StageTime { work: Nanos::ZERO, latency: Nanos::ZERO };
        let times = CommandTimes { submission: StageTime { work: command, ..none }, completion: none };
        Self { processors: 1, page_work: Nanos::ZERO, read: times, write: times }
    }

    /// Returns the controller times for requests with operation `op`.
    pub(crate) const fn times(&self, op: Op) -> &CommandTimes {
        if matches!(op, Op::Read) { &self.read } else { &self.write }
    }

    /// Halves all processing times and delays of the controller.
    pub(crate) fn halve(&mut self) {
        self.page_work = Nanos(self.page_work.0 / 2);
        for times in [&mut self.read, &mut self.write] {
            for stage in [&mut times.submission, &mut times.completion] {
                *stage = StageTime { work: Nanos(stage.work.0 / 2), latency: Nanos(stage.latency.0 / 2) };
            }
        }
    }
}

/// Queues between host and drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Protocol {
    /// Requests reach the drive immediately, without queues.
    Direct,
    /// One queue of tags, as in SATA (NCQ), UFS and eMMC (command queueing).
    SingleQueue {
        /// Maximum number of outstanding requests that the drive accepts.
        depth: u32,
    },
    /// Several queues (NVMe): stream `s` of the host uses queue `s % queues`.
    MultiQueue {
        /// Number of queues between host and drive.
        queues: u32,
        /// Maximum number of requests that a queue holds.
        depth: u32,
        /// Maximum number of requests that the drive processes at once.
        slots: u32,
        /// Order in which the drive serves the queues.
        arbitration: Arbitration,
    },
}

/// Order in which queues are served (NVMe 2.0, section 3.4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbitration {
    /// Queues take turns (round robin); in each turn, the drive takes up to `burst` requests from a queue.
    RoundRobin {
        /// Maximum number of requests taken consecutively from a queue.
        burst: u32,
    },
    /// Weighted round robin. The weight of a queue is the number of requests taken in its turn; queue `q` has the
    /// weight `weights[q % 8]`.
    Weighted {
        /// Weights of the queues: number of requests taken consecutively from a queue, at least 1.
        weights: [u16; 8],
    },
    /// Requests are taken in the order in which they arrived, regardless of their queue.
    Fifo,
}

/// Write buffer: RAM of the drive that holds written pages until they are programmed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WriteBuffer {
    /// Capacity of the buffer in pages.
    pub pages: u32,
    /// Rule that decides when pages are programmed.
    pub flush: FlushPolicy,
    /// True if the contents of the buffer survive a power loss, so that a flush request completes immediately.
    pub protected: bool,
}

/// Limit on the rate at which the write buffer accepts pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Token bucket: each page takes a token.
    Tokens {
        /// Interval at which a token is added, above 0.
        interval: Nanos,
        /// Number of tokens that the full bucket holds, at least 1.
        burst: u32,
    },
    /// Each page takes a credit. Each block that background collection erases adds a credit for every invalid page that
    /// it had. While no plane needs collection, pages need no credit.
    Credits {
        /// Initial number of credits.
        initial: u32,
    },
}

/// Read-ahead of sequential streams into a read cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadAhead {
    /// Number of sequential reads, each starting where the previous read ended, that trigger read-ahead; at least 1.
    pub requests: u32,
    /// Number of pages to read in advance after a read, at least 1.
    pub pages: u32,
    /// Capacity of the read cache in pages; must be at least `pages`.
    pub cache_pages: u32,
}

/// Host memory (NVMe host memory buffer) that holds the FTL's map cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostMemory {
    /// Number of map entries that fit into the controller's own memory; must be at least `fetched_entries`.
    pub own_entries: u32,
    /// Number of consecutive map entries that are fetched from host memory together, at least 1.
    pub fetched_entries: u32,
    /// Delay added to a request if its look-ups fetch any entries from host memory.
    pub latency: Nanos,
}

/// Thermal throttling. Temperatures are in degrees Celsius.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thermal {
    /// Temperature of the drive when it is idle.
    pub ambient: f64,
    /// Temperature above which the drive throttles.
    pub threshold: f64,
    /// Temperature below which the drive stops throttling; below `threshold`.
    pub release: f64,
    /// Thermal resistance between drive and ambient, in kelvin per watt.
    pub resistance: f64,
    /// Time constant of cooling: without requests, the temperature difference from ambient falls to 1/e in this time;
    /// above 0.
    pub time_constant: Nanos,
    /// Heat per byte that the host reads, in nanojoules.
    pub read_energy: f64,
    /// Heat per byte that the host writes, in nanojoules.
    pub write_energy: f64,
    /// Factor by which requests take longer while the drive throttles, at least 1.
    pub factor: f64,
}

/// Rule that decides when a write buffer programs its pages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FlushPolicy {
    /// The buffer programs each page as soon as it arrives.
    Eager,
    /// Pages stay in the buffer, where further writes can replace them. Above the fill level `high`, the buffer
    /// programs its oldest pages until the fill level is `low`.
    Watermark {
        /// Fill level at which programming starts, as a share of the buffer's pages; above `low` and up to 1.
        high: f64,
        /// Fill level at which programming stops, as a share of the buffer's pages.
        low: f64,
    },
}

/// Rule that decides when garbage is collected in advance, before free pages run out. If they run out, requests always
/// wait for collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collect {
    /// Garbage is collected only when free pages run out.
    Foreground,
    /// Garbage is collected while the drive is idle.
    Idle {
        /// Idle time after which collection starts.
        after: Nanos,
        /// Goal of garbage collection in idle time.
        goal: CollectGoal,
    },
    /// Garbage is also collected while requests are served. How much this delays the requests depends on the die
    /// scheduler ([`DieSchedulerInfo`]).
    Background {
        /// Goal of garbage collection in the background.
        goal: CollectGoal,
    },
}

/// Goal of garbage collection in advance: its target, and the amount of work between two checks for waiting requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectGoal {
    /// Target number of erased blocks per plane, in addition to the FTL's reserve. Garbage collection stops at this
    /// number.
    pub blocks: u32,
    /// Number of pages that collection copies before it considers waiting requests again.
    pub step: u32,
}
