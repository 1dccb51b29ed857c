//! `pardispatcher`: the device in regions served in turn, each turn a sorted batch of one direction (Wang, Huang, He,
//! Zhou, Li, He: A Novel I/O Scheduler for SSD with Improved Performance and Lifetime).
//!
//! The paper describes a derivative of the deadline scheduler of Linux 2.6.32, and leaves open what follows. Where a
//! sensible reader could decide otherwise there is a tunable.
//!
//! - "4GB" is 4 GiB (`region_mib`). A request belongs to the region it begins in; the paper's index range has one
//!   region too many where the region size divides the capacity.
//! - Deadlines are those of `deadline`. "Periodically checking" the FIFOs: at the beginning of each turn, as `deadline`
//!   does; `expiry_scan` instead lets a scan of all regions put the one with the oldest overdue request next.
//! - The first turn of a region reads (`first_direction`).
//! - Regions are told apart in the scheduler's hooks, although the paper names `generic_make_request`, which runs
//!   before it: the effect is the same.
//! - "Merge with a request in the same subqueue": the block layer's hash knows no regions, so merges across regions are
//!   forbidden (`allow_merge`).
//! - Direction is that of data; synchronous writes are writes.
//! - Requests are pulled one by one, so those that arrive during a turn may join it; `late_arrivals` = 0 fixes a turn
//!   to what waits when it begins.
//! - The direction a turn is the opposite of is the one last served, even if that was served only because the other
//!   had nothing waiting (`served_direction` = 0: the one that was intended).
//! - A turn begins with the oldest request if that is overdue, else where the region left off in that direction, and
//!   ascends. At the end of the region it wraps to the smallest sector (`wrap`; `deadline` would end the batch).
//! - A turn ends when it has dispatched as many requests as its batch; "exceeds" taken literally would be one more
//!   (`exceed_batch`).
//! - A region is not limited in requests at the device, only in requests of a turn. A turn that stops because the
//!   device is full goes on where it was. Nothing is waited for: a device with a free slot is given what there is.
//! - Flushes, barriers and discards: as the block layer treats them for `deadline`. Plugging: as for any SATA drive.

use std::collections::BTreeSet;

use super::deadline::{FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE};
use super::lists::SortedFifo;
use super::{Device, Elevator, MergeIndex, SchedulerInfo};
use crate::bio::{Bio, Direction};
use crate::layer::Frame;
use crate::request::{Request, RequestId, Requests};
use crate::tunable::{Settings, Tunable};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "pardispatcher",
    help: "regions of the device in turn, each turn a sorted batch of one direction",
    frame: Frame::Legacy,
    merge_index: MergeIndex::Hash,
    work_conserving: true,
    bounded_wait: true,
    by_process: false,
    by_sync: false,
    tunables: TUNABLES,
    build: |settings, device| Box::new(ParDispatcher::new(settings, device)),
};

const fn switch(name: &'static str, default: u64, help: &'static str) -> Tunable {
    Tunable { name, unit: "switch", default, min: 0, max: 1, help }
}

const fn batch(name: &'static str, default: u64, help: &'static str) -> Tunable {
    Tunable { name, unit: "requests", default, min: 1, max: 1_000_000, help }
}

const TUNABLES: &[Tunable] = &[
    Tunable {
        name: "region_mib",
        unit: "MiB",
        default: 4096,
        min: 1,
        max: 1 << 30,
        help: "Size of a region; the paper measured 4 GB to be best for its drive.",
    },
    batch("read_batch", 16, "Reads of a turn."),
    batch("write_batch", 8, "Writes of a turn."),
    READ_EXPIRE,
    WRITE_EXPIRE,
    Tunable {
        name: "expiry_scan",
        unit: "ms",
        default: 0,
        min: 0,
        max: 3_600_000,
        help: "How often all regions are looked through for the oldest overdue request; 0: each at its turn only.",
    },
    FRONT_MERGES,
    switch("first_direction", 0, "Direction of the first turn of a region: 0 reads, 1 writes."),
    switch("late_arrivals", 1, "Whether requests that arrive during a turn may join it."),
    switch("served_direction", 1, "Whether turns alternate with the direction last served, or with the one intended."),
    switch("wrap", 1, "Whether a turn that reaches the end of its region goes on at the beginning."),
    switch("exceed_batch", 0, "Whether a turn ends when it has exceeded its batch, rather than reached it."),
];

#[derive(Debug)]
struct Region {
    queues: [SortedFifo; 2],
    /// The request to continue with, in each direction.
    next: [Option<RequestId>; 2],
    last: Direction,
}

impl Region {
    fn is_empty(&self) -> bool {
        self.queues.iter().all(SortedFifo::is_empty)
    }
}

/// A batch under way.
#[derive(Clone, Copy, Debug)]
struct Turn {
    direction: Direction,
    left: u64,
    /// Requests from this number on came too late for it.
    before: RequestId,
}

#[derive(Debug)]
struct ParDispatcher {
    regions: Vec<Region>,
    /// Regions with requests waiting.
    busy: BTreeSet<usize>,
    current: usize,
    turn: Option<Turn>,
    /// Number behind that of the latest request.
    arrivals: RequestId,
    next_scan: u64,
    region_sectors: u64,
    batch: [u64; 2],
    expire: [u64; 2],
    expiry_scan: u64,
    front_merges: bool,
    late_arrivals: bool,
    served_direction: bool,
    wrap: bool,
}

impl ParDispatcher {
    fn new(settings: &Settings, device: &Device) -> Self {
        let region_sectors = settings.get("region_mib") * 2048;
        let first = if settings.is_set("first_direction") { Direction::Write } else { Direction::Read };
        let region = || Region { queues: Default::default(), next: [None; 2], last: first.other() };
        let regions = usize::try_from(device.sectors.div_ceil(region_sectors)).expect("regions are large");
        let batch = |name| settings.get(name) + settings.get("exceed_batch");
        Self {
            regions: (0..regions.max(1)).map(|_| region()).collect(),
            busy: BTreeSet::new(),
            current: 0,
            turn: None,
            arrivals: RequestId(0),
            next_scan: 0,
            region_sectors,
            batch: [batch("read_batch"), batch("write_batch")],
            expire: [settings.ms("read_expire"), settings.ms("write_expire")],
            expiry_scan: settings.ms("expiry_scan"),
            front_merges: settings.is_set("front_merges"),
            late_arrivals: settings.is_set("late_arrivals"),
            served_direction: settings.is_set("served_direction"),
            wrap: settings.is_set("wrap"),
        }
    }

    fn region(&self, sector: u64) -> usize {
        // The cast loses nothing: sectors lie on the device, so the quotient is an index.
        (sector / self.region_sectors) as usize
    }

    fn queue(&self, rq: &Request) -> &SortedFifo {
        &self.regions[self.region(rq.start)].queues[rq.direction as usize]
    }

    fn queue_mut(&mut self, rq: &Request) -> &mut SortedFifo {
        let region = self.region(rq.start);
        &mut self.regions[region].queues[rq.direction as usize]
    }

    /// The request with which the turn under way goes on.
    fn continued(&self) -> Option<RequestId> {
        let turn = self.turn.filter(|turn| turn.left > 0)?;
        let region = &self.regions[self.current];
        let queue = &region.queues[turn.direction as usize];
        let next = region.next[turn.direction as usize];
        let next = next.or_else(|| queue.first().filter(|_| self.wrap))?;
        // The oldest request tells whether any is left that was there when the turn began.
        if self.late_arrivals || next < turn.before {
            return Some(next);
        }
        queue.fifo.head().filter(|&oldest| oldest < turn.before)
    }

    /// Begins a turn of the next region with requests.
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
        self.turn = Some(Turn { direction: served, left: self.batch[served as usize], before: self.arrivals });
        let fifo = &region.queues[served as usize].fifo;
        fifo.overdue(now).or(region.next[served as usize]).or(fifo.head())
    }

    /// The region whose oldest request is overdue for longest, if it is time to look.
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

impl Elevator for ParDispatcher {
    fn insert(&mut self, rq: &Request, _requests: &Requests, now: u64) -> bool {
        let deadline = now + self.expire[rq.direction as usize];
        self.queue_mut(rq).push(rq, deadline);
        self.busy.insert(self.region(rq.start));
        self.arrivals = self.arrivals.max(RequestId(rq.id.0 + 1));
        false
    }

    fn dispatch(&mut self, _requests: &Requests, now: u64, _force: bool) -> Option<RequestId> {
        let id = self.continued().or_else(|| self.begin(now))?;
        let turn = self.turn.as_mut().expect("it has just been begun or continued");
        turn.left -= 1;
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
        self.region(rq.start) == self.region(bio.start)
    }

    fn moved(&mut self, rq: &Request) {
        self.queue_mut(rq).moved(rq);
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queue(rq).former(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queue(rq).latter(rq.id)
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
