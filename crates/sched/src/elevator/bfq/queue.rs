//! What BFQ keeps of a queue, and of a process.

use crate::bio::Priority;
use crate::elevator::lists::SortedFifo;
use crate::request::RequestId;

/// Before all times.
pub(super) const NEVER: i64 = i64::MIN / 4;
/// A bit for each of the latest requests.
const SEEKY_OF_32: u32 = 19;

/// Where the service tree of a class keeps a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere, or in service.
    #[default]
    Nowhere,
    /// Among those to be served.
    Active,
    /// Among those without requests whose debt is not forgotten yet.
    Idle,
}

/// A queue as B-WF2Q+ sees it.
#[derive(Debug, Default)]
pub(super) struct Entity {
    /// Virtual times between which the budget is due.
    pub start: u64,
    pub finish: u64,
    /// Sectors charged in the present turn, and those it may be charged.
    pub service: u64,
    pub budget: u64,
    /// The weight in use, without raising, and from the next activation on.
    pub weight: u64,
    pub own_weight: u64,
    pub new_weight: u64,
    pub class: usize,
    pub new_class: usize,
    /// Whether weight or class have changed since they were put to use.
    pub changed: bool,
    pub place: Place,
    /// Orders it among others with equal times.
    pub sequence: u64,
    /// Whether its weight counts in its class: it is active, idle or in service.
    pub counts: bool,
    /// The weight under which it is counted among those that make a scenario asymmetric.
    pub counted: Option<u64>,
}

/// How long a process thinks, and how much of its time it waits for requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Think {
    pub samples: u64,
    pub total: u64,
    pub mean_ns: u64,
    /// When its latest request ended.
    pub last_end: u64,
    pub short: bool,
    /// Whether it is busy nearly always, and since when that is watched.
    pub io_bound: bool,
    pub since: u64,
    pub idle_ns: u64,
}

/// Raised weight of an interactive or a soft real-time process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raise {
    /// What the weight is multiplied by; 1 if it is not raised.
    pub coefficient: u64,
    /// When raising began, or ended.
    pub since: i64,
    pub most: i64,
    /// When interactive raising began that soft real-time raising interrupts.
    pub interactive_since: i64,
    /// Sectors served meanwhile.
    pub service: u64,
}

/// How many requests of others may be at the device while the queue in service is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inject {
    pub limit: u32,
    /// Time of a request without injection; 0 if it is not known.
    pub alone_ns: u64,
    pub decreased: i64,
}

/// What a process gets back when it leaves a shared queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    pub think: Think,
    pub raise: Raise,
    pub inject: Inject,
    pub weight: u64,
    pub in_large_burst: bool,
    pub in_burst: bool,
}

/// Requests of a process, or of several.
#[derive(Debug)]
pub(super) struct Queue {
    pub sync: bool,
    pub requests: SortedFifo,
    pub queued: u32,
    /// The request that goes next; where it lies, as it did when that was decided.
    pub next: Option<RequestId>,
    pub next_start: u64,
    pub next_sectors: u32,
    pub dispatched: u32,
    pub entity: Entity,
    pub level: u8,
    /// Whether it takes part: it has requests or is waited for.
    pub busy: bool,
    /// Whether the device is kept idle for it.
    pub waited_for: bool,
    /// Whether it ran empty in service and gets its old times back if it returns soon.
    pub returns: bool,
    pub fifo_checked: bool,
    pub created: i64,
    pub just_created: bool,
    pub max_budget: u64,
    /// When its turn ends; without requests, since when.
    pub timeout: i64,
    /// A bit for each of the latest 32 requests: whether it was far from the one before.
    pub seeks: u32,
    pub last_position: u64,
    pub think: Think,
    pub raise: Raise,
    /// Sectors served since it last began to have requests, when that was, and when the first was served.
    pub backlog_service: u64,
    pub backlog_since: i64,
    pub first_service: i64,
    /// When the next request may come at the earliest of a process that is soft real-time.
    pub soft_rt_next: i64,
    pub soft_rt_due: bool,
    pub inject: Inject,
    /// The queue whose completions make this one go on, the one that may be, and how often and since when.
    pub waker: Option<usize>,
    pub maybe_waker: Option<usize>,
    pub wakes: u32,
    pub wakes_since: u64,
    /// Queues that this one wakes, the latest first.
    pub woken: Vec<usize>,
    pub in_burst: bool,
    pub in_large_burst: bool,
    /// The queue that its processes move to.
    pub merged_into: Option<usize>,
    pub shared: bool,
    pub to_split: bool,
    pub split: i64,
    /// Processes with this queue, and those that will have it; the only one, if there is one.
    pub processes: u32,
    pub owner: Option<u32>,
    /// Where its next request is among those that may cooperate.
    pub position: Option<u64>,
}

impl Queue {
    pub fn new(sync: bool, priority: Priority, now: u64, jiffy: i64) -> Self {
        let weight = weight(priority);
        let class = priority.class as usize;
        let (own_weight, new_weight, new_class) = (weight, weight, class);
        let entity = Entity { weight, own_weight, new_weight, class, new_class, changed: true, ..Entity::default() };
        let short = sync && class != IDLE_CLASS;
        let raise = Raise { coefficient: 1, since: jiffy, most: 0, interactive_since: NEVER, service: 0 };
        Self {
            sync,
            requests: SortedFifo::default(),
            queued: 0,
            next: None,
            next_start: 0,
            next_sectors: 0,
            dispatched: 0,
            entity,
            level: priority.level,
            busy: false,
            waited_for: false,
            returns: false,
            fifo_checked: false,
            created: jiffy,
            just_created: sync,
            max_budget: 0,
            timeout: NEVER,
            // The first request is almost certainly far from all others.
            seeks: 1,
            last_position: 0,
            think: Think { last_end: now + 1, short, io_bound: true, since: now, ..Think::default() },
            raise,
            backlog_service: 0,
            backlog_since: 0,
            first_service: 0,
            soft_rt_next: jiffy,
            soft_rt_due: false,
            inject: Inject { decreased: jiffy, ..Inject::default() },
            waker: None,
            maybe_waker: None,
            wakes: 0,
            wakes_since: 0,
            woken: Vec::new(),
            in_burst: false,
            in_large_burst: false,
            merged_into: None,
            shared: false,
            to_split: false,
            split: NEVER,
            processes: 0,
            owner: None,
            position: None,
        }
    }

    pub fn is_idle_class(&self) -> bool {
        self.entity.class == IDLE_CLASS
    }

    pub fn budget_left(&self) -> i64 {
        self.entity.budget as i64 - self.entity.service as i64
    }

    /// Whether its requests lie far apart.
    pub fn is_seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKY_OF_32
    }

    pub fn is_raised(&self) -> bool {
        self.raise.coefficient > 1
    }

    /// Nobody has it, and nothing is left of it.
    pub fn is_gone(&self) -> bool {
        let Self { processes, queued, dispatched, ref entity, .. } = *self;
        processes == 0 && queued == 0 && dispatched == 0 && !entity.counts && entity.counted.is_none()
    }
}

/// The class served while no other has requests.
pub(super) const IDLE_CLASS: usize = 2;

/// Ten for each level below the lowest.
pub(super) fn weight(priority: Priority) -> u64 {
    u64::from(8 - priority.level.min(7)) * 10
}

/// What is known of a process.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// Its queues: asynchronous, which it shares with others of its priority, and synchronous.
    pub queues: [Option<usize>; 2],
    pub priority: Priority,
    /// Requests that have not ended.
    pub requests: u32,
    /// The queue created shortly before its own, which it may be merged with for good.
    pub stable: Option<usize>,
    pub stably_merged: bool,
    pub saved: Option<Saved>,
}
