//! An I/O scheduler: decides which request of the block layer goes to the drive next.

use std::collections::VecDeque;

use ssdlab::io_scheduler::{
    self, BlockLayerKind, Direction, IoScheduler, MergeIndex, Request, RequestId, Requests, SchedulerInfo,
    SchedulerRules,
};
use ssdlab::{NameTaken, Parameter, Unit};

/// Adds the scheduler to ssdlab. The setting `block.scheduler=mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    io_scheduler::register(&MINE)
}

/// Registry entry of the scheduler: name, help text, parameters and constructor.
static MINE: SchedulerInfo = SchedulerInfo {
    name: "mine",
    help: "reads first, but one write after every `batch` reads",
    // The paper or the kernel source file that describes the scheduler.
    source: "",
    // Each parameter is a setting: `block.scheduler.mine.batch=4`.
    parameters: &[Parameter::new(
        "batch",
        Unit::Count("reads"),
        16,
        [1, 1000],
        "Maximum number of reads that may overtake a write.",
    )],
    role: SchedulerRules {
        // Type of block layer that the scheduler works with.
        kind: BlockLayerKind::MultiQueue,
        // Type of index in which the block layer looks up a waiting request to merge a new request with.
        merge_index: MergeIndex::Hash,
        // True if the scheduler keeps the requests of each hardware queue separate.
        by_queue: false,
        // True if the scheduler never idles while a request waits.
        work_conserving: true,
        // True if requests drained before a barrier are sorted by sector.
        sorted_drain: false,
        // True if every request is dispatched in bounded time.
        bounded_wait: true,
        // True if decisions depend on the process.
        by_process: false,
        // True if decisions depend on whether a write is synchronous.
        by_sync: false,
        // Name of the parameter that is given in sectors and must not exceed the drive's capacity; None if there is
        // none.
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
    /// Number of reads dispatched since the last write.
    overtaken: u64,
}

impl IoScheduler for Mine {
    /// Adds a request. Returns true to dispatch at once, even while the process is plugged (collects requests).
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

    /// Called when the drive has completed a request.
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

/// Runs the scheduler on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::io_scheduler!(super::MINE);
}
