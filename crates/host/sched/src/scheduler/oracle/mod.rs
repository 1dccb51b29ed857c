//! Replays decisions of a live kernel and counts how many a model reproduces.
//!
//! Excerpts in `tests/data` are always replayed; complete captures are replayed from `scheduler-oracle-linux6.18` and
//! `scheduler-oracle-linux6.18/loaded` in the directory named by `SSDLAB_TRACES`.
//!
//! A decision is a dispatch. At the time of each kernel decision, the model proposes a request. If its proposal
//! differs, the model must follow the kernel. A race between two CPUs, which a capture records in only one order,
//! therefore causes only one mismatch.

#![cfg(test)]

mod capture;
mod tests;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::IoScheduler;
use crate::bio::{Bio, Direction};
use crate::request::{RequestId, Requests};
use capture::{Capture, Event, What};
pub(super) use capture::{JIFFY_NS, Raised};

/// Request that a scheduler model would dispatch next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    pub id: RequestId,
    /// State that the model needs to dispatch this choice later, even if more requests have arrived by then.
    pub state: [u64; 3],
}

/// Result of comparing the raised weight of a queue in the model with the weight in the kernel.
pub(super) enum Agreement {
    Same,
    /// The weights are equal, but their raising times differ by one jiffy, because a timer tick fell between the two
    /// clock readings.
    JiffyApart,
    Other,
}

/// A scheduler model that can follow kernel decisions.
pub(super) trait Replayed: IoScheduler {
    /// Returns the request that the model would dispatch now.
    fn propose(&mut self, requests: &Requests, now: u64) -> Option<Proposal>;

    /// Dispatches the waiting request `id`, as the kernel did, regardless of the model's proposal.
    fn follow(&mut self, id: RequestId, proposal: Option<Proposal>, requests: &Requests, now: u64);

    /// Compares the raised weight of the queue of request `id`, which is about to be dispatched, with the kernel's
    /// weight. Then sets the model's weight to the kernel's.
    fn raise_as(&mut self, _id: RequestId, _kernel: Raised, _requests: &Requests) -> Agreement {
        Agreement::Same
    }

    /// Sets the phase of the jiffies: the time of a timer tick, modulo the duration of a jiffy. Returns false if the
    /// model does not use jiffies.
    fn tick(&mut self, _phase_ns: u64) -> bool {
        false
    }

    /// Stops the model's clock at this value until the next call of this method; `None` lets the clock run.
    fn stop_clock(&mut self, _clock: Option<u64>) {}

    /// Gives a process its own cgroup with the given weight.
    fn group(&mut self, _pid: u32, _weight: u64) {}

    /// Changes a tunable of the model at run time.
    fn tune(&mut self, name: &str, _value: u64) {
        panic!("tunable {name} cannot be changed at run time");
    }

    /// Returns the maximum number of requests of the given direction at the device.
    fn depth_of(&self, _direction: Direction) -> Option<u32> {
        None
    }

    /// Sets the maximum number of requests of the given direction at the device.
    fn set_depth(&mut self, _direction: Direction, _depth: u32) {}
}

/// Number of kernel decisions in a capture. The `equal_...` fields count the decisions that the model reproduces.
#[derive(Debug, Default)]
struct Findings {
    decisions: u64,
    equal: u64,
    /// Number of kernel decisions for which more than one request was waiting.
    choices: u64,
    equal_choices: u64,
    /// Number of times that the kernel was asked for a request but dispatched none.
    nothing: u64,
    equal_nothing: u64,
    /// Number of log lines that report the raised weight of the queue in service.
    raised: u64,
    equal_raised: u64,
    /// Number of reports in which the weights agree, but the weight-raising times differ by one jiffy.
    jiffy_apart: u64,
    /// Number of depth changes made by the kernel (`depths`), by the model (`own_depths`), and identically by both
    /// (`equal_depths`).
    depths: u64,
    own_depths: u64,
    equal_depths: u64,
}

/// Maximum delay between the time at which a timer is due and the logged time at which it fired.
const LATE_NS: u64 = 50_000_000;

/// First sector and direction, which identify a request in a capture.
type Key = (u64, Direction);

/// State of a replay of kernel decisions.
struct Replay<'a> {
    model: &'a mut dyn Replayed,
    /// Times at which the kernel's timers fired, if logged.
    fired: &'a [u64],
    /// Processes of the capture in the order of their first requests.
    processes: Vec<u32>,
    /// Weights of the processes' cgroups, in the order of `processes`.
    weights: &'a [u64],
    requests: Requests,
    /// Waiting requests, oldest first, by first sector and direction.
    queued: FxHashMap<Key, VecDeque<RequestId>>,
    /// Waiting requests by end sector and direction.
    ends: FxHashMap<Key, RequestId>,
    waiting: usize,
    at_device: FxHashMap<Key, VecDeque<RequestId>>,
    in_flight: usize,
    /// Request that the model chose when the device became full. The kernel also chooses a request then, but dispatches
    /// it later.
    chosen_ahead: Option<Proposal>,
    findings: Findings,
}

impl<'a> Replay<'a> {
    fn new(model: &'a mut dyn Replayed, capture: &'a Capture) -> Self {
        Self {
            model,
            fired: &capture.fired,
            processes: Vec::new(),
            weights: &capture.weights,
            requests: Requests::default(),
            queued: FxHashMap::default(),
            ends: FxHashMap::default(),
            waiting: 0,
            at_device: FxHashMap::default(),
            in_flight: 0,
            chosen_ahead: None,
            findings: Findings::default(),
        }
    }

    /// Fires due timers of the model.
    fn fire(&mut self, now: u64) {
        while let Some(time) = self.model.timer_ns().map(|time| self.fired(time)).filter(|&time| time <= now) {
            let depths = self.depths();
            self.model.on_timer(time);
            let changed = depths.iter().zip(self.depths()).filter(|&(before, after)| *before != after);
            self.findings.own_depths += changed.count() as u64;
        }
    }

    /// Returns the logged time at which a due timer fired in the kernel, often a jiffy late; without a log, the due
    /// time.
    fn fired(&self, due: u64) -> u64 {
        let at = self.fired.partition_point(|&time| time < due);
        let near = self.fired[at.saturating_sub(1)..].iter().take(2);
        let near = near.copied().filter(|time| time.abs_diff(due) < LATE_NS);
        near.min_by_key(|time| time.abs_diff(due)).unwrap_or(due)
    }

    fn depths(&self) -> [Option<u32>; 2] {
        Direction::BOTH.map(|direction| self.model.depth_of(direction))
    }

    fn insert(&mut self, bio: Bio, cpu: u16, now: u64) {
        if !self.processes.contains(&bio.pid) {
            if let Some(&weight) = self.weights.get(self.processes.len()) {
                self.model.group(bio.pid, weight);
            }
            self.processes.push(bio.pid);
        }
        let id = self.requests.allocate(bio, 1, cpu, now);
        self.model.insert(&self.requests[id], &self.requests, now);
        self.queued.entry((bio.start, bio.direction)).or_default().push_back(id);
        self.ends.insert((bio.end(), bio.direction), id);
        self.waiting += 1;
    }

    /// Merges a bio into a waiting request; ignored if the request is still in its task's plug.
    fn merge(&mut self, bio: Bio, front: bool) {
        let direction = bio.direction;
        if front {
            let Some(id) = self.queued.get_mut(&(bio.end(), direction)).and_then(VecDeque::pop_front) else { return };
            let rq = self.requests.get_mut(id);
            rq.start = bio.start;
            rq.sectors += bio.sectors;
            self.queued.entry((bio.start, direction)).or_default().push_back(id);
            self.model.moved(&self.requests[id]);
        } else if let Some(id) = self.ends.remove(&(bio.start, direction)) {
            self.requests.get_mut(id).sectors += bio.sectors;
            self.ends.insert((bio.end(), direction), id);
        }
    }

    fn dispatch(&mut self, key: Key, raised: Option<Raised>, depth: usize, now: u64) {
        // Requests inserted before the capture began are unknown.
        let Some(id) = self.queued.get_mut(&key).and_then(VecDeque::pop_front) else { return };
        let direction = key.1;
        let proposal = self.chosen_ahead.take().or_else(|| self.model.propose(&self.requests, now));
        let equal = u64::from(proposal.is_some_and(|proposal| proposal.id == id));
        let others = u64::from(self.waiting > 1);
        self.findings.decisions += 1;
        self.findings.equal += equal;
        self.findings.choices += others;
        self.findings.equal_choices += others * equal;
        if let Some(raised) = raised.filter(|_| equal > 0) {
            let agreement = self.model.raise_as(id, raised, &self.requests);
            self.findings.raised += 1;
            self.findings.equal_raised += u64::from(!matches!(agreement, Agreement::Other));
            self.findings.jiffy_apart += u64::from(matches!(agreement, Agreement::JiffyApart));
        }
        self.model.follow(id, proposal, &self.requests, now);
        let end = (self.requests[id].end(), direction);
        if self.ends.get(&end) == Some(&id) {
            self.ends.remove(&end);
        }
        self.waiting -= 1;
        self.at_device.entry(key).or_default().push_back(id);
        self.in_flight += 1;
        if self.in_flight >= depth {
            self.chosen_ahead = self.model.propose(&self.requests, now);
        }
    }

    fn apply(&mut self, event: &Event, depth: usize) {
        let now = event.now;
        self.fire(now);
        self.model.stop_clock(event.clock);
        match &event.what {
            What::Insert { bio, cpu } => self.insert(*bio, *cpu, now),
            What::Merge { bio, front } => self.merge(*bio, *front),
            What::Dispatch { start, direction, raised } => self.dispatch((*start, *direction), *raised, depth, now),
            What::Nothing => {
                self.findings.nothing += 1;
                self.findings.equal_nothing += u64::from(self.model.propose(&self.requests, now).is_none());
            }
            What::Complete { start, direction } => {
                let Some(id) = self.at_device.get_mut(&(*start, *direction)).and_then(VecDeque::pop_front) else {
                    return;
                };
                self.in_flight -= 1;
                self.model.completed(self.requests.free(id), now);
            }
            What::Tune { name, value } => self.model.tune(name, *value),
            What::Depth { direction, depth } => {
                let equal = self.model.depth_of(*direction) == Some(*depth);
                self.findings.depths += 1;
                self.findings.equal_depths += u64::from(equal);
                if !equal {
                    self.model.set_depth(*direction, *depth);
                }
            }
        }
        self.model.stop_clock(None);
    }
}

/// Replays a capture on a model. The phase of the model's jiffies must have been set.
fn replay(model: &mut dyn Replayed, capture: &Capture) -> Findings {
    let mut replay = Replay::new(model, capture);
    for event in &capture.events {
        replay.apply(event, capture.depth);
    }
    replay.findings
}
