//! Decisions of a live kernel, replayed: how many of them a scheduler takes as well.
//!
//! All captures in the folder `scheduler-oracle-linux6.18` of the directory named by `SSDLAB_TRACES`, and in its folder
//! `loaded`, are replayed; excerpts of them, in `tests/data`, always.
//!
//! A decision is a dispatch. The model is asked when the kernel asked its own, and told what that did if it says
//! something else: a race of two processors, of which the capture knows only one order, costs one decision.

#![cfg(test)]

mod capture;
mod tests;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Elevator;
use crate::bio::{Bio, Direction};
use crate::request::{RequestId, Requests};
use capture::{Capture, Event, What};
pub(super) use capture::{JIFFY_NS, Raised};

/// What a scheduler would dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    pub id: RequestId,
    /// What it has to know to carry that out, when requests may have come since.
    pub state: [u64; 3],
}

/// How like a raised weight is to the kernel's.
pub(super) enum Likeness {
    Same,
    /// As high, but raised a jiffy before or after: one of two times fell on the other side of a tick.
    JiffyApart,
    Other,
}

/// A scheduler that can be told what the kernel did.
pub(super) trait Replayed: Elevator {
    /// What it would dispatch now.
    fn propose(&mut self, requests: &Requests, now: u64) -> Option<Proposal>;

    /// Dispatches `id`, which waits, as the kernel did, whatever it proposed.
    fn follow(&mut self, id: RequestId, proposal: Option<Proposal>, requests: &Requests, now: u64);

    /// How like the kernel's the raised weight is of the queue of `id`, which is about to be dispatched; then it is the
    /// same.
    fn raise_as(&mut self, _id: RequestId, _told: Raised, _requests: &Requests) -> Likeness {
        Likeness::Same
    }

    /// Counts time in jiffies that begin with `phase_ns`; whether it counts in jiffies at all.
    fn tick(&mut self, _phase_ns: u64) -> bool {
        false
    }

    /// Until the next call the clock says this, whatever the time is.
    fn stop_clock(&mut self, _clock: Option<u64>) {}

    /// A process has a group of its own.
    fn group(&mut self, _pid: u32, _weight: u64) {}

    /// A tunable is set while it runs.
    fn tune(&mut self, name: &str, _value: u64) {
        panic!("{name} cannot be changed");
    }

    /// How many requests of a direction may be at the device.
    fn depth_of(&self, _direction: Direction) -> Option<u32> {
        None
    }

    /// Continues with so many.
    fn set_depth(&mut self, _direction: Direction, _depth: u32) {}
}

/// What a capture shows, and how a scheduler fares on it.
#[derive(Debug, Default)]
struct Findings {
    decisions: u64,
    /// Decisions that the scheduler takes as well.
    equal: u64,
    /// Decisions at which another request waited, and those that the scheduler takes as well.
    choices: u64,
    equal_choices: u64,
    /// Times the kernel gave nothing, and times the scheduler did so too.
    nothing: u64,
    equal_nothing: u64,
    /// Times the kernel told how far the weight of the queue in service is raised, those at which the scheduler has it
    /// raised likewise, and those of them that are a jiffy apart.
    raised: u64,
    equal_raised: u64,
    jiffy_apart: u64,
    /// Changes of depths by the kernel, by the scheduler, and by both alike.
    depths: u64,
    own_depths: u64,
    equal_depths: u64,
}

/// How far from its time a timer fires at most, with those before it that the kernel did not tell of.
const LATE_NS: u64 = 50_000_000;

/// Where a request begins, and which way its data moves: how captures name it.
type Key = (u64, Direction);

/// A replay under way.
struct Replay<'a> {
    model: &'a mut dyn Replayed,
    /// When timers of the kernel fired, as far as it told.
    fired: &'a [u64],
    /// Processes in the order of their first requests, and the weights of their groups in that order.
    processes: Vec<u32>,
    weights: &'a [u64],
    requests: Requests,
    /// Requests that wait. Where two are alike, the older one goes first.
    queued: FxHashMap<Key, VecDeque<RequestId>>,
    /// Ends of requests that wait.
    ends: FxHashMap<Key, RequestId>,
    waiting: usize,
    at_device: FxHashMap<Key, VecDeque<RequestId>>,
    in_flight: usize,
    /// What the model said when the device became full: the kernel chose then, and held the request back.
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

    /// Lets timers fire that are due.
    fn fire(&mut self, now: u64) {
        while let Some(time) = self.model.timer_ns().map(|time| self.fired(time)).filter(|&time| time <= now) {
            let depths = self.depths();
            self.model.on_timer(time);
            let changed = depths.iter().zip(self.depths()).filter(|&(before, after)| *before != after);
            self.findings.own_depths += changed.count() as u64;
        }
    }

    /// When a timer of the kernel fired that is due. It is late by a jiffy as often as not; sometimes the kernel tells.
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

    /// Lets a waiting request grow. Of one that is in the plug of its task nothing is known yet.
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
        // What was inserted before the capture began is unknown.
        let Some(id) = self.queued.get_mut(&key).and_then(VecDeque::pop_front) else { return };
        let direction = key.1;
        let proposed = self.chosen_ahead.take().or_else(|| self.model.propose(&self.requests, now));
        let equal = u64::from(proposed.is_some_and(|proposed| proposed.id == id));
        let others = u64::from(self.waiting > 1);
        self.findings.decisions += 1;
        self.findings.equal += equal;
        self.findings.choices += others;
        self.findings.equal_choices += others * equal;
        if let Some(raised) = raised.filter(|_| equal > 0) {
            let likeness = self.model.raise_as(id, raised, &self.requests);
            self.findings.raised += 1;
            self.findings.equal_raised += u64::from(!matches!(likeness, Likeness::Other));
            self.findings.jiffy_apart += u64::from(matches!(likeness, Likeness::JiffyApart));
        }
        self.model.follow(id, proposed, &self.requests, now);
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

    fn happen(&mut self, event: &Event, depth: usize) {
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

/// Replays a capture, of a scheduler that was told when jiffies begin.
fn replay(model: &mut dyn Replayed, capture: &Capture) -> Findings {
    let mut replay = Replay::new(model, capture);
    for event in &capture.events {
        replay.happen(event, capture.depth);
    }
    replay.findings
}
