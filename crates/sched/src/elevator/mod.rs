//! I/O schedulers, one file each, registered in [`SCHEDULERS`].
//!
//! To add one: write its file with its table of tunables and an implementation of [`Elevator`], register it here. The
//! property tests, the configuration and the list of schedulers take it from the table.
//!
//! What is known of a process is kept for as long as the scheduler lives: traces tell 65,536 processes apart, of which
//! each takes some hundred bytes, and a process that has been away must not come back as a new one.

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
use crate::layer::Frame;
use crate::request::{Request, RequestId, Requests};
use crate::tunable::TunableError;

/// How requests to merge a bio with are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeIndex {
    /// Back merges with any waiting request, by a hash of end sectors; front merges where the scheduler finds one.
    Hash,
    /// Only with one of the latest eight requests, as blk-mq does for queues without order.
    Latest,
}

/// An I/O scheduler: holds requests and decides which one goes to the device next.
///
/// Contract. A request that is inserted is either handed out by `dispatch` exactly once or leaves by `merged`.
/// `dispatch` may answer `None` with requests waiting only if it answers otherwise after a completion, or after
/// `timer_ns` has come and `on_timer` was called; with `force` it never does. A decision takes no time
/// in proportion to the requests that wait. The block layer keeps merge limits and directions: a scheduler
/// only proposes (`front_merge`, `former`, `latter`) or forbids (`allow_merge`). `now` never decreases. No method draws
/// random numbers.
pub trait Elevator: Send + Debug {
    /// Takes a request in. Whether the queue is to be run at once although it may be plugged.
    fn insert(&mut self, rq: &Request, requests: &Requests, now: u64) -> bool;

    /// Hands out the request to be given to the device next and takes it out. `queue`: the hardware queue that asks;
    /// who keeps requests [by queue](SchedulerRules::by_queue) gives one of its own. `force`: whatever there is, without
    /// idling; used to empty the queues ahead of a barrier.
    fn dispatch(&mut self, queue: u16, requests: &Requests, now: u64, force: bool) -> Option<RequestId>;

    /// Whether it has a short cut for a request that waits alone, [`Elevator::pass`], and no timers.
    fn passes(&self) -> bool {
        false
    }

    /// Does at once what `insert` and then `dispatch` would do with a request while no other waits; false, with nothing
    /// done, where that one would not be handed out. Asked only if it `passes`.
    fn pass(&mut self, _rq: &Request) -> bool {
        false
    }

    /// A request handed out earlier has ended.
    fn completed(&mut self, rq: &Request, now: u64);

    /// The waiting request that `bio` could be put in front of; by default front merges are not looked for.
    fn front_merge(&self, _bio: &Bio) -> Option<RequestId> {
        None
    }

    /// The latest requests of a hardware queue that `bio` may be merged with, newest first; asked with
    /// [`MergeIndex::Latest`] only.
    fn latest(&self, _queue: u16, _bio: &Bio) -> Vec<RequestId> {
        Vec::new()
    }

    /// Whether `bio` may become part of the waiting request `rq`.
    fn allow_merge(&self, _rq: &Request, _bio: &Bio) -> bool {
        true
    }

    /// A waiting request has grown at its front and begins elsewhere now.
    fn moved(&mut self, _rq: &Request) {}

    /// The request before a waiting one, in the order in which requests are coalesced.
    fn former(&self, _rq: &Request) -> Option<RequestId> {
        None
    }

    /// The request behind a waiting one, in the order in which requests are coalesced.
    fn latter(&self, _rq: &Request) -> Option<RequestId> {
        None
    }

    /// The waiting `absorbed` has become part of the waiting `survivor`, and is no longer a request. Never called where
    /// no neighbours (`former`, `latter`) are proposed.
    fn merged(&mut self, _survivor: &Request, absorbed: &Request, _requests: &Requests) {
        unreachable!("no neighbours are proposed, so {:?} cannot be merged with one", absorbed.id)
    }

    /// Whether `bio` gets a request beyond the limit.
    fn must_queue(&self, _bio: &Bio) -> bool {
        false
    }

    /// How many of the `nr_requests` of the modern frame may be in use when a request is allocated for `bio`.
    fn depth(&self, _bio: &Bio, nr_requests: u32) -> u32 {
        nr_requests
    }

    /// When the timer expires, in nanoseconds: the caller then calls [`Elevator::on_timer`].
    fn timer_ns(&self) -> Option<u64> {
        None
    }

    /// The timer has expired.
    fn on_timer(&mut self, _now: u64) {}
}

/// What a scheduler may know of the device.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Whether it has moving parts.
    pub rotational: bool,
    /// Requests of the modern frame's pool.
    pub nr_requests: u32,
    /// Hardware queues; the processors of the host are as many.
    pub queues: u16,
}

/// A registered scheduler; its parameters are the kernel's tunables.
pub type SchedulerInfo = Info<SchedulerRules>;

/// Properties of a scheduler, and its constructor.
#[derive(Debug)]
pub struct SchedulerRules {
    /// The frame it belongs to; both run any scheduler.
    pub frame: Frame,
    /// How the block layer finds the request that a bio is merged with.
    pub merge_index: MergeIndex,
    /// True if each hardware queue has its own requests; otherwise the device has one set.
    pub by_queue: bool,
    /// True if a device with a free slot never waits while a request does.
    pub work_conserving: bool,
    /// True if requests drained ahead of a barrier are sorted by sector (`elv_dispatch_sort`; schedulers that use
    /// `elv_dispatch_add_tail` keep their order).
    pub sorted_drain: bool,
    /// True if no request can be passed for ever by others of its priority class.
    pub bounded_wait: bool,
    /// True if decisions depend on the process that a request comes from.
    pub by_process: bool,
    /// True if decisions depend on whether writes are synchronous.
    pub by_sync: bool,
    /// Name of the tunable, in sectors, that must not exceed the device.
    part_of_device: Option<&'static str>,
    /// Builds it from its tunables.
    build: fn(&Settings, &Device) -> Result<Box<dyn Elevator>, TunableError>,
}

/// Returns the tunables of a scheduler, with changes to their defaults.
fn tunables(info: &SchedulerInfo, changes: &[(String, u64)]) -> Result<Settings, ParameterError> {
    let owner = Owner { kind: "scheduler", name: info.name, parameter: "tunable" };
    Settings::new(owner, info.parameters, changes)
}

/// Checks `changes` to the defaults of a scheduler's tunables from the numbers alone.
///
/// # Errors
/// If a tunable does not exist, is out of range or exceeds the device.
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

/// Builds a scheduler with `changes` to the defaults of its tunables.
///
/// # Errors
/// See [`check_tunables`].
pub fn build_scheduler(
    info: &SchedulerInfo,
    changes: &[(String, u64)],
    device: &Device,
) -> Result<Box<dyn Elevator>, TunableError> {
    (info.role.build)(&check_tunables(info, changes, device)?, device)
}

/// Every scheduler.
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
