//! `pardispatcher`: serves regions of the device in turn; each turn is a sorted batch of reads or writes (Wang, Huang,
//! He, Zhou, Li, He: A Novel I/O Scheduler for SSD with Improved Performance and Lifetime).
//!
//! The paper describes a derivative of the deadline scheduler of Linux 2.6.32. It leaves the following points open.
//! Where another choice is reasonable too, a tunable selects it.
//!
//! | | left open | our choice | tunable |
//! |---|---|---|---|
//! | A1 | "4GB"; requests across a boundary | 4 GiB, or the whole device if smaller; a request belongs to the region it begins in; the paper's index range has one region too many if the region size divides the capacity | `region_size` |
//! | A2 | deadlines; "periodically checking" | deadlines as in `deadline`, checked when a turn begins | `read_expire`, `write_expire`; `expiry_scan`: interval at which all regions are scanned and the one with the oldest overdue request is served next |
//! | A3 | direction of a region's first turn | reads | `first_direction` |
//! | A4 | `generic_make_request` assigns requests to regions | the scheduler's hooks assign them; they run later, with the same effect | |
//! | A5 | "merge in the same subqueue", but the block layer's hash has no regions | merges across regions are forbidden | `cross_region_merges`: allow back merges with a request of another region |
//! | A6 | reads and writes | by data direction; synchronous writes are writes | |
//! | A7 | batches are "dispatched" | one by one when the device has a free slot, so requests that arrive during a turn may join it; as in `deadline`, each dispatch fixes the next request in sector order, and requests that arrive before it in this order wait for a later turn | `late_arrivals` 0: the batch is fixed when the turn begins; no later request joins it or merges with it |
//! | A8 | alternation of directions | a turn reverses the direction that the region last served, even if the other direction had no requests then | `served_direction` 0: a turn reverses the direction that was last due |
//! | A9 | start of a turn | the oldest request if overdue; else the request that was fixed as next in that direction (A7); else the oldest | |
//! | A10 | reaching the end of the region | wraps to the lowest sector | `wrap` 0: the turn ends, as in `deadline` |
//! | A11 | "exceeds" the batch | a turn ends with its last batched request | `exceed_batch`: a turn dispatches one more request |
//! | A12 | requests of a region at the device | not limited | |
//! | A13 | a turn interrupted by a full device | continues where it stopped | |
//! | A14 | flushes, barriers, discards | as the block layer treats them for `deadline` | |
//! | A15 | idling | none: a device with a free slot gets any waiting request | |
//! | A16 | starvation | impossible: directions alternate within a region, and regions take turns | |
//! | A17 | plugging | as for any SATA drive of 2.6.32, with 31 slots | `plug`, `slots` of the block layer |

use std::collections::{BTreeSet, VecDeque};

use ssdlab_core::{Parameter, Settings, Unit};

use super::deadline::{FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE};
use super::lists::SortedFifo;
use super::{Device, IoScheduler, SchedulerInfo, SchedulerRules};
use crate::bio::{Bio, Direction};
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

const REGION_SIZE: &str = "region_size";

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "pardispatcher",
    help: "serves regions of the device in turn; each turn is a sorted batch of reads or writes",
    source: "ParDispatcher paper",
    parameters: TUNABLES,
    role: SchedulerRules {
        work_conserving: true,
        part_of_device: Some(REGION_SIZE),
        ..SchedulerRules::new(BlockLayerKind::SingleQueue, &|settings, device| {
            Ok(Box::new(ParDispatcher::new(settings, device)))
        })
    },
};

const fn batch(name: &'static str, default: u64, help: &'static str) -> Parameter {
    Parameter::new(name, Unit::Count("requests"), default, [1, 1_000_000], help)
}

const TUNABLES: &[Parameter] = &[
    Parameter::new(
        REGION_SIZE,
        Unit::Sectors,
        8 << 20,
        // The number of regions must stay small, because choosing the next region may require a scan of all regions.
        [2048, 1 << 41],
        "Region size, at most the device size; the paper found 4 GB to be best for its drive.",
    ),
    batch("read_batch", 16, "Reads per turn."),
    batch("write_batch", 8, "Writes per turn."),
    READ_EXPIRE,
    WRITE_EXPIRE,
    Parameter::ms(
        "expiry_scan",
        0,
        0,
        "Interval at which all regions are scanned for the oldest overdue request; with 0, a region is checked \
               only in its own turn.",
    ),
    FRONT_MERGES,
    Parameter::switch("first_direction", false, "True to begin each region's first turn with writes instead of reads."),
    Parameter::switch("cross_region_merges", false, "True to allow back merges across region boundaries."),
    Parameter::switch(
        "late_arrivals",
        true,
        "True to serve requests that arrive during a turn in the same turn; false to leave them for a later turn.",
    ),
    Parameter::switch(
        "served_direction",
        true,
        "True to alternate with the direction (reads or writes) that the region last served; false to alternate with \
         the direction that was due, even if it had no requests.",
    ),
    Parameter::switch(
        "wrap",
        true,
        "True to continue a turn at the start of its region after reaching the region end.",
    ),
    Parameter::switch("exceed_batch", false, "True to dispatch one more request per turn than the batch size."),
];

#[derive(Debug)]
struct Region {
    queues: [SortedFifo; 2],
    /// Request with which the region's current or next turn in a direction continues: the request after the last
    /// dispatched one in sector order.
    next: [Option<RequestId>; 2],
    last: Direction,
}

impl Region {
    fn is_empty(&self) -> bool {
        self.queues.iter().all(SortedFifo::is_empty)
    }
}

/// Turn of a region, during which the scheduler dispatches only requests of this region in one direction. `left` is the
/// number of requests that the turn may still dispatch.
#[derive(Clone, Copy, Debug)]
struct Turn {
    direction: Direction,
    left: u64,
}

#[derive(Debug, Default)]
struct ParDispatcher {
    regions: Vec<Region>,
    /// Regions that have requests waiting.
    busy: BTreeSet<usize>,
    current: usize,
    turn: Option<Turn>,
    /// Remaining requests of the current batch, if batches accept no late arrivals (`late_arrivals` 0).
    batch_left: VecDeque<RequestId>,
    next_scan: u64,
    region_sectors: u64,
    batch: [u64; 2],
    expire: [u64; 2],
    expiry_scan: u64,
    front_merges: bool,
    cross_region_merges: bool,
    late_arrivals: bool,
    served_direction: bool,
    wrap: bool,
}

impl ParDispatcher {
    fn new(settings: &Settings, device: &Device) -> Self {
        let region_sectors = settings.get(REGION_SIZE);
        let first = if settings.is_set("first_direction") { Direction::Write } else { Direction::Read };
        let region = |_| Region { queues: Default::default(), next: [None; 2], last: first.other() };
        let batch = |name| settings.get(name) + settings.get("exceed_batch");
        Self {
            regions: (0..device.sectors.div_ceil(region_sectors).max(1)).map(region).collect(),
            region_sectors,
            batch: [batch("read_batch"), batch("write_batch")],
            expire: [settings.ns("read_expire"), settings.ns("write_expire")],
            expiry_scan: settings.ns("expiry_scan"),
            front_merges: settings.is_set("front_merges"),
            cross_region_merges: settings.is_set("cross_region_merges"),
            late_arrivals: settings.is_set("late_arrivals"),
            served_direction: settings.is_set("served_direction"),
            wrap: settings.is_set("wrap"),
            ..Self::default()
        }
    }

    fn region(&self, sector: u64) -> usize {
        // The cast is lossless: the sector lies on the device, so the quotient is a valid index of a region.
        (sector / self.region_sectors) as usize
    }

    fn queue(&self, rq: &Request) -> &SortedFifo {
        &self.regions[self.region(rq.start)].queues[rq.direction as usize]
    }

    fn queue_mut(&mut self, rq: &Request) -> &mut SortedFifo {
        let region = self.region(rq.start);
        &mut self.regions[region].queues[rq.direction as usize]
    }

    /// Returns the next request of the region whose turn it is; `None` if the turn is over.
    fn continued(&self) -> Option<RequestId> {
        let turn = self.turn.filter(|turn| turn.left > 0)?;
        if !self.late_arrivals {
            return self.batch_left.front().copied();
        }
        let region = &self.regions[self.current];
        let first = || region.queues[turn.direction as usize].first().filter(|_| self.wrap);
        region.next[turn.direction as usize].or_else(first)
    }

    /// Returns the requests that come after request `start` in the current turn of a region.
    fn rest_of_batch(&self, start: RequestId, turn: Turn) -> VecDeque<RequestId> {
        let queue = &self.regions[self.current].queues[turn.direction as usize];
        let next = |&id: &RequestId| queue.latter(id).or_else(|| queue.first().filter(|_| self.wrap));
        let rest = std::iter::successors(next(&start), next).take_while(|&id| id != start);
        rest.take(turn.left as usize - 1).collect()
    }

    /// Begins the turn of the next region that has requests.
    fn begin(&mut self, now: u64) -> Option<RequestId> {
        if self.turn.take().is_some() {
            self.current = (self.current + 1) % self.regions.len();
        }
        let in_turn = self.busy.range(self.current..).next().or(self.busy.first()).copied();
        self.current = self.overdue_region(now).or(in_turn)?;
        let region = &mut self.regions[self.current];
        let intended = region.last.other();
        let served = if region.queues[intended as usize].is_empty() { intended.other() } else { intended };
        region.last = if self.served_direction { served } else { intended };
        let turn = Turn { direction: served, left: self.batch[served as usize] };
        let fifo = &region.queues[served as usize].fifo;
        let start = fifo.overdue(now).or(region.next[served as usize]).or(fifo.head())?;
        self.turn = Some(turn);
        if !self.late_arrivals {
            self.batch_left = self.rest_of_batch(start, turn);
            self.batch_left.push_front(start);
        }
        Some(start)
    }

    /// Returns the region with the oldest overdue request, if a scan is due.
    fn overdue_region(&mut self, now: u64) -> Option<usize> {
        if self.expiry_scan == 0 || now < self.next_scan {
            return None;
        }
        self.next_scan = now + self.expiry_scan;
        let head = |region: usize, queue: &SortedFifo| Some((queue.fifo.deadline(queue.fifo.overdue(now)?), region));
        let heads = self.busy.iter().flat_map(|&r| self.regions[r].queues.iter().filter_map(move |q| head(r, q)));
        heads.min().map(|(_, region)| region)
    }
}

impl IoScheduler for ParDispatcher {
    fn insert(&mut self, rq: &Request, _requests: &Requests, now: u64) -> bool {
        let deadline = now + self.expire[rq.direction as usize];
        self.queue_mut(rq).push(rq, deadline);
        self.busy.insert(self.region(rq.start));
        false
    }

    fn dispatch(&mut self, _queue: u16, _requests: &Requests, now: u64, _force: bool) -> Option<RequestId> {
        let id = self.continued().or_else(|| self.begin(now))?;
        let turn = self.turn.as_mut().expect("a turn must be in progress");
        turn.left -= 1;
        self.batch_left.pop_front();
        let region = &mut self.regions[self.current];
        let queue = &mut region.queues[turn.direction as usize];
        region.next[turn.direction as usize] = queue.latter(id);
        queue.remove(id);
        if region.is_empty() {
            self.busy.remove(&self.current);
        }
        Some(id)
    }

    fn completed(&mut self, _rq: &Request, _now: u64) {}

    fn front_merge(&self, bio: &Bio) -> Option<RequestId> {
        let queues = &self.regions.get(self.region(bio.end()))?.queues;
        queues[bio.direction as usize].starting_at(bio.end()).filter(|_| self.front_merges)
    }

    fn allow_merge(&self, rq: &Request, bio: &Bio) -> bool {
        // No bio may merge into a request of a fixed batch.
        let here = self.region(rq.start) == self.region(bio.start);
        (here || (self.cross_region_merges && bio.start > rq.start)) && !self.batch_left.contains(&rq.id)
    }

    fn moved(&mut self, rq: &Request) {
        self.queue_mut(rq).moved(rq);
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queue(rq).former(rq.id).filter(|id| !self.batch_left.contains(id))
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queue(rq).latter(rq.id).filter(|id| !self.batch_left.contains(id))
    }

    fn merged(&mut self, survivor: &Request, absorbed: &Request, _requests: &Requests) {
        let region = self.region(absorbed.start);
        let Region { queues, next, .. } = &mut self.regions[region];
        let (queue, next) = (&mut queues[absorbed.direction as usize], &mut next[absorbed.direction as usize]);
        if *next == Some(absorbed.id) {
            *next = queue.latter(absorbed.id);
        }
        queue.absorb(survivor.id, absorbed.id);
    }
}
