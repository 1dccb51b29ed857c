//! An I/O scheduler: which request of the block layer goes to the drive next.

use std::collections::VecDeque;

use ssdlab::io_scheduler::{
    self, BlockLayerKind, Direction, IoScheduler, MergeIndex, Request, RequestId, Requests, SchedulerInfo,
    SchedulerRules,
};
use ssdlab::{NameTaken, Parameter, Unit};

/// Adds the scheduler to ssdlab. The setting `block.scheduler=mine` then chooses it.
pub fn register() -> Result<(), NameTaken> {
    io_scheduler::register(&MINE)
}

/// What lists, help and settings say about the scheduler, and how it is built.
static MINE: SchedulerInfo = SchedulerInfo {
    name: "mine",
    help: "reads first, but a write after `batch` reads",
    // The paper or the kernel's file that describes the scheduler.
    source: "",
    // Each parameter is a setting: `block.scheduler.mine.batch=4`.
    parameters: &[Parameter::new("batch", Unit::Count("reads"), 16, [1, 1000], "Reads that may overtake a write.")],
    role: SchedulerRules {
        // Block layer that it was written for.
        kind: BlockLayerKind::MultiQueue,
        // How the block layer finds a request into which a new one merges.
        merge_index: MergeIndex::Hash,
        // True if each hardware queue has requests of its own.
        by_queue: false,
        // True if it never idles while a request waits.
        work_conserving: true,
        // True if requests drained before a barrier are sorted by sector.
        sorted_drain: false,
        // True if no request waits for ever.
        bounded_wait: true,
        // True if decisions depend on the process.
        by_process: false,
        // True if decisions depend on whether a write is synchronous.
        by_sync: false,
        // Name of a parameter that is a number of sectors of the drive.
        part_of_device: None,
        build: &|settings, _device| Ok(Box::new(Mine { batch: settings.get("batch"), ..Mine::default() })),
    },
};

/// The scheduler with its waiting requests.
#[derive(Debug, Default)]
struct Mine {
    batch: u64,
    reads: VecDeque<RequestId>,
    writes: VecDeque<RequestId>,
    /// Reads since the last write.
    overtaken: u64,
}

impl IoScheduler for Mine {
    /// Adds a request. Returns true if the drive must be fed at once, even while the process collects requests.
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        match rq.direction {
            Direction::Read => self.reads.push_back(rq.id),
            Direction::Write => self.writes.push_back(rq.id),
        }
        false
    }

    /// Removes and returns the next request for the drive.
    fn dispatch(&mut self, _queue: u16, _requests: &Requests, _now: u64, _force: bool) -> Option<RequestId> {
        if (self.overtaken < self.batch || self.writes.is_empty())
            && let Some(read) = self.reads.pop_front()
        {
            self.overtaken += 1;
            return Some(read);
        }
        self.overtaken = 0;
        self.writes.pop_front()
    }

    /// The drive has completed a request.
    fn completed(&mut self, _rq: &Request, _now: u64) {}
}

#[cfg(test)]
mod tests {
    use super::register;
    use ssdlab::simulate;

    #[test]
    fn every_request_completes() {
        register().unwrap();
        let settings = [
            "block.scheduler=mine",
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

/// Random small worlds, in which a broken rule is shown with few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::io_scheduler!(super::MINE);
}
