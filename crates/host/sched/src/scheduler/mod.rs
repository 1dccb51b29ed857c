//! I/O schedulers, one file each, registered in [`SCHEDULERS`].
//!
//! To add a scheduler, write a file with its tunables and an implementation of [`IoScheduler`], and register it here.
//! The property tests, the configuration and the list of schedulers are based on this table.

mod anticipatory;
mod bfq;
mod cfq;
mod cost;
mod deadline;
mod fios;
mod flashfq;
mod jiffies;
mod kyber;
mod lists;
mod mean;
mod mq_deadline;
mod nearest;
mod none;
mod noop;
mod oracle;
mod owner;
mod pardispatcher;
mod sorted;
mod tokens;

use std::fmt::Debug;

use ssdlab_core::parameter::{Owner, ParameterError, Settings};
use ssdlab_core::{Info, Registry, Unit};

use crate::bio::Bio;
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};
use crate::tunable::TunableError;

/// Method of finding requests that a bio can merge with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeIndex {
    /// A bio merges at the back of any waiting request, found by a hash of end sectors, or at the front of the request
    /// that the scheduler proposes.
    Hash,
    /// Merges only with one of the latest eight requests, as in blk-mq without a sorting scheduler.
    Latest,
}

/// An I/O scheduler: holds waiting requests and decides which one goes to the device next.
///
/// # Contract
/// - Every inserted request is returned by `dispatch` exactly once, or removed through `merged`.
/// - `dispatch` may return `None` while requests wait, but only if a later completion, or `on_timer` at `timer_ns`,
///   changes that. With `force` it always returns a waiting request.
/// - The time to decide grows less than linearly with the number of waiting requests.
/// - The block layer checks merge limits and directions. A scheduler only proposes (`front_merge`, `former`, `latter`)
///   or forbids (`allow_merge`) merges.
/// - `now` never decreases. No method draws random numbers.
pub trait IoScheduler: Send + Debug {
    /// Adds a request to the scheduler. Returns true if the queue must be run immediately, even if it is plugged.
    fn insert(&mut self, rq: &Request, requests: &Requests, now: u64) -> bool;

    /// Removes and returns the next request for the device.
    ///
    /// `queue` is the hardware queue that asks for a request. If [`SchedulerRules::by_queue`] is true, the scheduler
    /// returns a request of that queue. With `force` the scheduler does not idle; the layer uses `force` to empty the
    /// scheduler before a barrier.
    fn dispatch(&mut self, queue: u16, requests: &Requests, now: u64, force: bool) -> Option<RequestId>;

    /// True if the scheduler supports the shortcut [`IoScheduler::pass`] and needs no timers.
    fn passes(&self) -> bool {
        false
    }

    /// Combines `insert` and `dispatch` for a request that arrives while no other request waits. If `dispatch` would
    /// not return the request, does nothing and returns false. Called only if `passes` is true.
    fn pass(&mut self, _rq: &Request) -> bool {
        false
    }

    /// Records the completion of a dispatched request.
    fn completed(&mut self, rq: &Request, now: u64);

    /// Returns the waiting request that `bio` could be merged in front of. Default: no front merges.
    fn front_merge(&self, _bio: &Bio) -> Option<RequestId> {
        None
    }

    /// Returns the latest requests of a hardware queue that `bio` may merge with, newest first. Called only with
    /// [`MergeIndex::Latest`].
    fn latest(&self, _queue: u16, _bio: &Bio) -> Vec<RequestId> {
        Vec::new()
    }

    /// True if `bio` may merge into the waiting request `rq`.
    fn allow_merge(&self, _rq: &Request, _bio: &Bio) -> bool {
        true
    }

    /// Records that a waiting request has a new first sector after a front merge.
    fn moved(&mut self, _rq: &Request) {}

    /// Returns the waiting request that precedes `rq`, as a candidate for coalescing.
    fn former(&self, _rq: &Request) -> Option<RequestId> {
        None
    }

    /// Returns the waiting request that follows `rq`, as a candidate for coalescing.
    fn latter(&self, _rq: &Request) -> Option<RequestId> {
        None
    }

    /// Removes the waiting request `absorbed`, which was merged into the waiting `survivor`. Never called if `former`
    /// and `latter` return `None`.
    fn merged(&mut self, _survivor: &Request, absorbed: &Request, _requests: &Requests) {
        unreachable!("{:?} was merged, but the scheduler reported no adjacent request", absorbed.id)
    }

    /// True if `bio` must get a request even though the limit on requests has been reached.
    fn must_queue(&self, _bio: &Bio) -> bool {
        false
    }

    /// Returns the limit on requests in use that applies to `bio`; at most `nr_requests` (multi-queue layer).
    fn depth(&self, _bio: &Bio, nr_requests: u32) -> u32 {
        nr_requests
    }

    /// Returns the time, in nanoseconds, at which the caller must next call [`IoScheduler::on_timer`].
    fn timer_ns(&self) -> Option<u64> {
        None
    }

    /// Handles the expiry of the scheduler's timer.
    fn on_timer(&mut self, _now: u64) {}
}

/// Device properties visible to a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Capacity of the device in sectors of 512 bytes.
    pub sectors: u64,
    /// True for a disk with moving parts.
    pub rotational: bool,
    /// Size of the multi-queue layer's request pool.
    pub nr_requests: u32,
    /// Number of hardware queues, equal to the number of CPUs.
    pub queues: u16,
}

/// A registered scheduler; its parameters are the kernel's tunables.
pub type SchedulerInfo = Info<SchedulerRules>;

/// Constructor of a scheduler from its tunables.
pub type Build = &'static (dyn Fn(&Settings, &Device) -> Result<Box<dyn IoScheduler>, TunableError> + Send + Sync);

/// Properties of a scheduler, and its constructor.
pub struct SchedulerRules {
    /// Variant of the block layer that the scheduler was written for; both variants can run any scheduler.
    pub kind: BlockLayerKind,
    /// Method by which the block layer searches for merge candidates.
    pub merge_index: MergeIndex,
    /// True if each hardware queue has its own requests; otherwise all hardware queues share one set of requests.
    pub by_queue: bool,
    /// True if the scheduler never idles: the device has no free slot while a request waits.
    pub work_conserving: bool,
    /// True if the requests that are drained before a barrier are first sorted by sector (`elv_dispatch_sort`, not
    /// `elv_dispatch_add_tail`).
    pub sorted_drain: bool,
    /// True if no request can starve behind others of its priority class.
    pub bounded_wait: bool,
    /// True if decisions depend on the submitting process.
    pub by_process: bool,
    /// True if decisions depend on whether writes are synchronous.
    pub by_sync: bool,
    /// Name of the tunable whose value, in sectors, must not exceed the device's capacity; `None` if there is no such
    /// tunable.
    pub part_of_device: Option<&'static str>,
    /// Builds the scheduler from its tunables.
    pub build: Build,
}

impl SchedulerRules {
    /// Returns the properties of a scheduler that may idle, lets no request starve, and treats all hardware queues,
    /// processes and kinds of writes alike.
    const fn new(kind: BlockLayerKind, build: Build) -> Self {
        Self {
            kind,
            merge_index: MergeIndex::Hash,
            by_queue: false,
            work_conserving: false,
            sorted_drain: false,
            bounded_wait: true,
            by_process: false,
            by_sync: false,
            part_of_device: None,
            build,
        }
    }
}

/// Returns the tunables of a scheduler: the defaults with the given changes applied.
fn tunables(info: &SchedulerInfo, changes: &[(String, u64)]) -> Result<Settings, ParameterError> {
    let owner = Owner { kind: "scheduler", name: info.name, parameter: "tunable" };
    Settings::new(owner, info.parameters, changes)
}

/// Checks changes to the default tunables of a scheduler without building the scheduler. Fails if a tunable does not
/// exist, is out of range or exceeds the capacity of the device.
pub fn check_tunables(
    info: &SchedulerInfo,
    changes: &[(String, u64)],
    device: &Device,
) -> Result<Settings, TunableError> {
    let settings = tunables(info, changes)?;
    if let Some(name) = info.role.part_of_device
        && let Some(value) = settings.given(name).filter(|&value| value > device.sectors)
    {
        let (scheduler, device, unit) = (info.name, device.sectors, Unit::Sectors);
        return Err(TunableError::BeyondDevice { scheduler, name, value, device, unit });
    }
    Ok(settings)
}

/// Builds a scheduler with changes to its default tunables, see [`check_tunables`].
pub fn build_scheduler(
    info: &SchedulerInfo,
    changes: &[(String, u64)],
    device: &Device,
) -> Result<Box<dyn IoScheduler>, TunableError> {
    (info.role.build)(&check_tunables(info, changes, device)?, device)
}

/// All I/O schedulers, with their tunables.
pub static SCHEDULERS: Registry<SchedulerRules> = Registry::new(
    "scheduler",
    &[
        &noop::INFO,
        &deadline::INFO,
        &anticipatory::INFO,
        &cfq::INFO,
        &pardispatcher::INFO,
        &none::INFO,
        &mq_deadline::INFO,
        &kyber::INFO,
        &bfq::INFO,
        &fios::INFO,
        &flashfq::INFO,
    ],
);
