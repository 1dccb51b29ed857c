//! A fair I/O scheduler for several tenants of a drive, based on MQFQ: start-time fair queueing with throttled
//! dispatch.
//!
//! ```text
//! start(request)  = max(virtual time at its arrival, finish of the tenant's previous request)
//! finish(request) = start + cost / weight
//! virtual time    = the smallest start of all requests that wait or are at the drive;
//!                   the largest finish so far if there are none
//! dispatch: the waiting request with the smallest start; it waits while its start exceeds virtual time + `throttle`
//! ```
//! A tenant is therefore never ahead of the slowest tenant by more than `throttle`, although the drive may serve many
//! requests concurrently. A tenant is a process; its weight is 8 minus the level of its I/O priority.
//!
//! Source: Hedayati, Shen, Scott, Marty, "Multi-queue fair queueing", USENIX ATC 2019. The cost of a request is a
//! linear function of its size, with fixed coefficients.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ssdlab::io_scheduler::{
    self, Bio, BlockLayerKind, IoScheduler, MergeIndex, Request, RequestId, Requests, SchedulerInfo, SchedulerRules,
};
use ssdlab::{NameTaken, Parameter, Settings, Unit};

/// Adds the scheduler to ssdlab. The setting `block.scheduler=tenant_fair` then selects it.
///
/// # Errors
/// Fails if another scheduler already has this name.
pub fn register() -> Result<(), NameTaken> {
    io_scheduler::register(&TENANT_FAIR)
}

/// Unit of the parameters that are given in microseconds: a plain count, because their names already include the unit.
const MICROS: Unit = Unit::Count("us");
const MOST: u64 = 1_000_000_000;

/// Parameters of the scheduler. The defaults are estimates for an NVMe drive with TLC flash.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "throttle_us",
        MICROS,
        2000,
        [0, MOST],
        "Maximum lead of a tenant over the slowest tenant, in device time divided by the tenant's weight.",
    ),
    Parameter::new("read_base_us", MICROS, 70, [0, MOST], "Estimated fixed device time per read request."),
    Parameter::new("read_sector_ns", Unit::Nanos, 150, [0, MOST], "Estimated device time per sector read."),
    Parameter::new("write_base_us", MICROS, 20, [0, MOST], "Estimated fixed device time per write request."),
    Parameter::new("write_sector_ns", Unit::Nanos, 600, [0, MOST], "Estimated device time per sector written."),
];

/// Registry entry of this I/O scheduler.
static TENANT_FAIR: SchedulerInfo = SchedulerInfo {
    name: "tenant_fair",
    help: "fair queueing of tenants with throttled dispatch (MQFQ, ATC 2019)",
    source: "Hedayati et al., USENIX ATC 2019",
    parameters: PARAMETERS,
    role: SchedulerRules {
        kind: BlockLayerKind::MultiQueue,
        merge_index: MergeIndex::Hash,
        by_queue: false,
        work_conserving: false,
        sorted_drain: false,
        bounded_wait: true,
        by_process: true,
        by_sync: false,
        part_of_device: None,
        build: &|settings, _device| Ok(Box::new(TenantFair::new(settings))),
    },
};

#[derive(Debug, Default)]
struct Tenant {
    /// Waiting requests of the tenant, each with the virtual time of its arrival.
    queue: VecDeque<(RequestId, u64)>,
    /// Virtual finish time of the latest dispatched request.
    finish: u64,
}

impl Tenant {
    /// Returns the virtual start time of the first waiting request.
    fn start(&self) -> Option<u64> {
        self.queue.front().map(|&(_, arrived)| arrived.max(self.finish))
    }
}

/// The scheduler with its waiting requests. Virtual time is in nanoseconds of device time at weight 1.
#[derive(Debug)]
struct TenantFair {
    throttle: u64,
    /// Base cost of a read and of a write, in nanoseconds.
    base: [u64; 2],
    /// Cost per sector of a read and of a write, in nanoseconds.
    sector: [u64; 2],
    tenants: BTreeMap<u32, Tenant>,
    /// Tenants with waiting requests, ordered by the virtual start time of their first request.
    waiting: BTreeSet<(u64, u32)>,
    /// Requests at the drive, ordered by virtual start time.
    at_drive: BTreeSet<(u64, RequestId)>,
    /// Virtual start time of each request at the drive.
    starts: BTreeMap<RequestId, u64>,
    /// Largest virtual finish time of all requests so far.
    last: u64,
}

impl TenantFair {
    fn new(settings: &Settings) -> Self {
        let nanos = |name| 1000 * settings.get(name);
        Self {
            throttle: nanos("throttle_us"),
            base: [nanos("read_base_us"), nanos("write_base_us")],
            sector: [settings.get("read_sector_ns"), settings.get("write_sector_ns")],
            tenants: BTreeMap::new(),
            waiting: BTreeSet::new(),
            at_drive: BTreeSet::new(),
            starts: BTreeMap::new(),
            last: 0,
        }
    }

    fn virtual_time(&self) -> u64 {
        let first = [self.waiting.first().map(|first| first.0), self.at_drive.first().map(|first| first.0)];
        first.into_iter().flatten().min().unwrap_or(self.last)
    }

    /// Returns the cost of a request divided by the weight of its tenant.
    fn cost(&self, rq: &Request) -> u64 {
        let direction = rq.direction as usize;
        let cost = self.base[direction] + self.sector[direction] * u64::from(rq.sectors);
        cost.max(1).div_ceil(u64::from(8 - rq.priority.level.min(7)))
    }
}

impl IoScheduler for TenantFair {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        let now = self.virtual_time();
        let tenant = self.tenants.entry(rq.pid).or_default();
        tenant.queue.push_back((rq.id, now));
        // The tenant's position in `waiting` depends only on its first request.
        if let (1, Some(start)) = (tenant.queue.len(), tenant.start()) {
            self.waiting.insert((start, rq.pid));
        }
        false
    }

    fn dispatch(&mut self, _queue: u16, requests: &Requests, _now: u64, force: bool) -> Option<RequestId> {
        let &(start, pid) = self.waiting.first()?;
        if !force && start > self.virtual_time() + self.throttle {
            return None;
        }
        let (id, _) = self.tenants.get_mut(&pid)?.queue.pop_front()?;
        let finish = start + self.cost(&requests[id]);
        self.waiting.pop_first();
        self.at_drive.insert((start, id));
        self.starts.insert(id, start);
        self.last = self.last.max(finish);
        let tenant = self.tenants.entry(pid).or_default();
        tenant.finish = finish;
        if let Some(start) = tenant.start() {
            self.waiting.insert((start, pid));
        }
        Some(id)
    }

    fn completed(&mut self, rq: &Request, _now: u64) {
        if let Some(start) = self.starts.remove(&rq.id) {
            self.at_drive.remove(&(start, rq.id));
        }
    }

    /// Refuses to merge requests of different tenants, because each tenant is charged for its own requests.
    fn allow_merge(&self, rq: &Request, bio: &Bio) -> bool {
        rq.pid == bio.pid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab::io_scheduler::{Direction, Flags, Priority};
    use ssdlab::simulate;

    /// Test bench in which every request costs 4 us and no requests are merged.
    struct Bench {
        scheduler: TenantFair,
        requests: Requests,
    }

    impl Bench {
        fn new(throttle_us: u64) -> Self {
            let scheduler = TenantFair::new(&Settings::with(PARAMETERS, &[throttle_us, 4, 0, 4, 0]));
            Self { scheduler, requests: Requests::default() }
        }

        /// Inserts `count` reads of tenant `pid` with the given weight.
        fn reads(&mut self, pid: u32, weight: u8, count: u64) {
            for start in 0..count {
                let priority = Priority { level: 8 - weight, ..Priority::default() };
                let (direction, flags) = (Direction::Read, Flags::NONE);
                let bio = Bio { start: 8 * start, sectors: 8, direction, flags, pid, priority, owner: 0 };
                let id = self.requests.allocate(bio, 1, 0, 0);
                self.scheduler.insert(&self.requests[id], &self.requests, 0);
            }
        }

        fn dispatch(&mut self) -> Option<RequestId> {
            self.scheduler.dispatch(0, &self.requests, 0, false)
        }

        fn complete(&mut self, id: RequestId) {
            self.scheduler.completed(&self.requests[id], 0);
        }
    }

    /// Tenant 1 has weight 2, and its requests start at 0, 2, 4, and so on. The requests of tenant 2 start at 0, 4, 8.
    #[test]
    fn tenants_share_the_drive_by_weight() {
        let mut bench = Bench::new(4);
        bench.reads(1, 2, 10);
        bench.reads(2, 1, 10);
        let mut order = Vec::new();
        for _ in 0..9 {
            let id = bench.dispatch().unwrap();
            order.push(bench.requests[id].pid);
            bench.complete(id);
        }
        assert_eq!(order, [1, 2, 1, 1, 2, 1, 1, 2, 1]);
    }

    /// While a request of tenant 2 with start 0 is at the drive, requests of tenant 1 are dispatched only up to start
    /// 4.
    #[test]
    fn no_tenant_leads_by_more_than_the_throttle() {
        let mut bench = Bench::new(4);
        bench.reads(2, 1, 1);
        let stuck = bench.dispatch().unwrap();
        bench.reads(1, 2, 5);
        let sent: Vec<RequestId> = (0..5).map_while(|_| bench.dispatch()).collect();
        assert_eq!(sent.len(), 3);
        for id in sent {
            bench.complete(id);
            assert_eq!(bench.dispatch(), None);
        }
        bench.complete(stuck);
        assert!(bench.dispatch().is_some());
    }

    /// Checks that a tenant gets no credit for the time before its first request.
    #[test]
    fn an_idle_tenant_saves_nothing() {
        let mut bench = Bench::new(100);
        bench.reads(1, 1, 6);
        for _ in 0..3 {
            let id = bench.dispatch().unwrap();
            bench.complete(id);
        }
        bench.reads(2, 1, 3);
        let sent: Vec<RequestId> = (0..4).map_while(|_| bench.dispatch()).collect();
        let order: Vec<u32> = sent.iter().map(|&id| bench.requests[id].pid).collect();
        assert_eq!(order, [1, 2, 1, 2]);
    }

    #[test]
    fn every_request_completes() {
        register().unwrap();
        let settings = [
            "block.scheduler=tenant_fair",
            "time=event",
            "device.capacity=32MiB",
            "nand.pages_per_block=64",
            "workload.requests=5000",
            "workload.reads=50%",
        ];
        let summary = simulate(&settings).unwrap();
        assert_eq!(summary.host.read_requests + summary.host.write_requests, 5000);
    }
}

/// Conformance tests on random block layers.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::io_scheduler!(super::TENANT_FAIR);
}
