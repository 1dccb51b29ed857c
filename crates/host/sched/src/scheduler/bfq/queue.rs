//! State of a BFQ queue, and of a process.

use crate::bio::Priority;
use crate::request::RequestId;
use crate::scheduler::lists::SortedFifo;

/// Sentinel for an event that never happened: a time earlier than any time in a run.
pub(super) const NEVER: i64 = i64::MIN / 4;
/// A queue is seeky if more than this many of its latest 32 requests were seeks.
const SEEKY_OF_32: u32 = 19;

/// Service-tree (B-WF2Q+) state of a queue.
#[derive(Debug, Default)]
pub(super) struct Entity {
    /// Virtual start and finish time of the queue's budget.
    pub start: u64,
    pub finish: u64,
    /// Number of sectors charged so far in the current service period, out of `budget`.
    pub service: u64,
    pub budget: u64,
    /// Weight in use, including weight raising.
    pub weight: u64,
    /// Weight in use, without weight raising.
    pub own_weight: u64,
    /// Weight of the queue after its next activation, without weight raising.
    pub new_weight: u64,
    pub class: usize,
    /// Priority class of the queue after its next activation.
    pub new_class: usize,
    /// True if a changed weight or class has not been applied yet.
    pub changed: bool,
    /// True if the queue is in the idle tree: it has no requests, but its finish time is still in the future.
    pub is_idle: bool,
    /// Sequence number that breaks ties between equal virtual times.
    pub sequence: u64,
    /// True if the queue's weight is part of the total of its class: the queue is active, idle or in service.
    pub counts: bool,
    /// Weight under which the queue is counted in [`Weights`](super::idle::Weights); `None` if it is not counted.
    pub counted: Option<u64>,
}

/// Think-time statistics of a process, and the share of time during which it was idle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Think {
    /// Weight of the samples, as in [`Mean`](crate::scheduler::mean::Mean).
    pub samples: u64,
    pub total: u64,
    pub mean_ns: u64,
    /// Completion time of the process's latest completed request.
    pub last_end: u64,
    /// True if the mean think time is short. Then idling for the next request is likely to succeed.
    pub short: bool,
    /// True if the process had requests pending at least 80 % of the time since `since`.
    pub io_bound: bool,
    pub since: u64,
    /// Total time without pending requests since the time `since`.
    pub idle_ns: u64,
}

/// Weight raising of an interactive or a soft real-time process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Raise {
    /// Factor by which the weight is multiplied; 1 if not raised.
    pub coefficient: u64,
    /// Start time of the current weight raising or, if the weight is not raised, end time of the last one.
    pub since: i64,
    /// Maximum duration of the current weight raising.
    pub duration: i64,
    /// Start time of the interactive weight raising that was interrupted by soft real-time raising.
    pub interactive_since: i64,
    /// Number of sectors served while the weight was raised.
    pub service: u64,
}

/// Injection of other queues' requests while the queue is in service and empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inject {
    /// Injection limit: an unrelated queue may inject a request only while fewer than this many requests are at the
    /// device.
    pub limit: u32,
    /// Response time of a request of the queue without injection; 0 if unknown.
    pub alone_ns: u64,
    /// Time of the latest decrease or reset of the injection limit.
    pub decreased: i64,
}

/// State that is restored to a process when it leaves a shared queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    pub think: Think,
    pub raise: Raise,
    pub inject: Inject,
    pub weight: u64,
    pub in_large_burst: bool,
    pub in_burst: bool,
}

/// Queue of one process, or of several that cooperate.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub sync: bool,
    pub requests: SortedFifo,
    pub queued: u32,
    /// Next request of the queue. `next_start` and `next_sectors` are its first sector and its size when it was chosen.
    pub next: Option<RequestId>,
    pub next_start: u64,
    pub next_sectors: u32,
    pub dispatched: u32,
    pub entity: Entity,
    pub level: u8,
    /// True if the queue has requests or the device idles for it.
    pub busy: bool,
    /// True while the device is kept idle for the queue.
    pub waited_for: bool,
    /// True if the queue became empty while in service. If it soon becomes active again, it keeps its budget and
    /// timestamps.
    pub returns: bool,
    pub fifo_checked: bool,
    pub created: i64,
    pub just_created: bool,
    pub max_budget: u64,
    /// Deadline of the queue's service period. For an empty queue, the time at which the queue became idle.
    pub timeout: i64,
    /// History of the latest requests, one bit each, with the latest in bit 0. A set bit marks a seek.
    pub seeks: u32,
    pub last_position: u64,
    pub think: Think,
    pub raise: Raise,
    /// Sectors served since the queue last became active.
    pub backlog_service: u64,
    /// Time when the queue last became active.
    pub backlog_since: i64,
    /// Time of the queue's first service since it last became active.
    pub first_service: i64,
    /// Earliest arrival time at which the next request counts as soft real-time.
    pub soft_rt_next: i64,
    /// True if `soft_rt_next` must be computed when the queue's last request completes.
    pub soft_rt_due: bool,
    pub inject: Inject,
    /// Waker: the queue whose completions usually precede a new request of this queue.
    pub waker: Option<usize>,
    /// Queue that may become the waker. It has woken this queue `wakes` times, first at `wakes_since`.
    pub maybe_waker: Option<usize>,
    pub wakes: u32,
    pub wakes_since: u64,
    /// Queues that this queue wakes, latest first.
    pub woken: Vec<usize>,
    pub in_burst: bool,
    pub in_large_burst: bool,
    /// Queue into which this queue merges. Each process moves to that queue with its next request.
    pub merged_into: Option<usize>,
    /// True if several processes use the queue.
    pub shared: bool,
    /// True if the shared queue must be split, so that its processes get their own queues again.
    pub to_split: bool,
    /// Time at which the queue was last split from a shared queue.
    pub split: i64,
    /// Number of processes of the queue, including processes of queues that will merge into it.
    pub processes: u32,
    /// The queue's process if the queue has exactly one process; otherwise `None`.
    pub owner: Option<u32>,
    /// Sector under which the queue is listed in `Bfq::positions`; `None` if it is not listed.
    pub position: Option<u64>,
}

impl Queue {
    pub fn new(sync: bool, priority: Priority, now: u64, jiffy: i64) -> Self {
        let weight = weight(priority);
        let class = priority.class as usize;
        let (own_weight, new_weight, new_class) = (weight, weight, class);
        let entity = Entity { weight, own_weight, new_weight, class, new_class, changed: true, ..Entity::default() };
        let short = sync && class != IDLE_CLASS;
        let raise = Raise { coefficient: 1, since: jiffy, duration: 0, interactive_since: NEVER, service: 0 };
        Self {
            sync,
            entity,
            level: priority.level,
            created: jiffy,
            just_created: sync,
            timeout: NEVER,
            // The first request of a queue always counts as a seek, because it nearly always is one.
            seeks: 1,
            think: Think { last_end: now + 1, short, io_bound: true, since: now, ..Think::default() },
            raise,
            soft_rt_next: jiffy,
            inject: Inject { decreased: jiffy, ..Inject::default() },
            split: NEVER,
            ..Self::default()
        }
    }

    pub fn is_idle_class(&self) -> bool {
        self.entity.class == IDLE_CLASS
    }

    pub fn budget_left(&self) -> i64 {
        self.entity.budget as i64 - self.entity.service as i64
    }

    pub fn is_seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKY_OF_32
    }

    pub fn is_raised(&self) -> bool {
        self.raise.coefficient > 1
    }

    /// True if the queue has no processes, requests or weight, so that its index can be reused.
    pub fn is_gone(&self) -> bool {
        let Self { processes, queued, dispatched, ref entity, .. } = *self;
        processes == 0 && queued == 0 && dispatched == 0 && !entity.counts && entity.counted.is_none()
    }
}

/// Priority class served only while no other class has requests.
pub(super) const IDLE_CLASS: usize = 2;

/// Returns the weight of a priority: 80 for level 0 down to 10 for level 7.
pub(super) fn weight(priority: Priority) -> u64 {
    u64::from(8 - priority.level.min(7)) * 10
}

/// State that BFQ keeps for a process.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// Queues of the process: asynchronous (shared with processes of the same priority), and synchronous.
    pub queues: [Option<usize>; 2],
    pub priority: Priority,
    /// Number of pending requests of the process.
    pub requests: u32,
    /// Queue created shortly before the process's own queue; candidate for a permanent merge.
    pub stable: Option<usize>,
    /// True once the process's queue has been merged permanently.
    pub stably_merged: bool,
    pub saved: Option<Saved>,
}
