//! When the device is kept idle for the next request of a queue that has run empty.

use std::collections::BTreeMap;

use super::Bfq;
use crate::MS;

/// How long the device is kept idle for a process whose requests lie far apart, where that is enough.
pub(super) const SHORT_IDLE_NS: u64 = 2 * MS;
/// And at least for one whose weight is raised.
const RAISED_IDLE_NS: u64 = 20 * MS;
/// More requests at a time show that the device takes several; looks at it that make a verdict.
const DEVICE_THRESHOLD: u32 = 3;
const DEVICE_SAMPLES: u32 = 32;
/// A raised queue that is empty is waited for if so many requests of others are at the device.
const OTHERS_AT_DEVICE: u32 = 4;

/// What is known of the device.
#[derive(Debug)]
pub(super) struct DeviceQueue {
    pub rotational: bool,
    /// Whether it takes several requests at a time; not known at first, and no longer asked once it has.
    pub several: Option<bool>,
    samples: u32,
    /// Most requests at it lately.
    pub peak: u32,
    /// Whether it has no moving parts and takes several requests, which is believed until it is known.
    pub parallel: bool,
}

impl DeviceQueue {
    pub fn new(rotational: bool) -> Self {
        Self { rotational, several: None, samples: 0, peak: 0, parallel: !rotational }
    }
}

/// Busy queues that are not raised, by weight.
pub(super) type Weights = BTreeMap<u64, u32>;

impl Bfq {
    /// Counts a queue among those that make a scenario asymmetric if weights differ.
    pub(super) fn count_weight(&mut self, queue: usize) {
        let entity = &mut self.queues[queue].entity;
        if entity.counted.is_none() {
            entity.counted = Some(entity.weight);
            *self.weights.entry(entity.weight).or_default() += 1;
        }
    }

    pub(super) fn uncount_weight(&mut self, queue: usize) {
        let Some(weight) = self.queues[queue].entity.counted.take() else { return };
        let queues = self.weights.get_mut(&weight).expect("the weight was counted");
        *queues -= 1;
        if *queues == 0 {
            self.weights.remove(&weight);
        }
    }

    /// Whether some queue is due more than another, so that the device must not decide.
    pub(super) fn is_asymmetric(&self, queue: usize) -> bool {
        let least = self.queues[queue].entity.counted;
        let is_least = least.is_some() && least == self.weights.first_key_value().map(|(&weight, _)| weight);
        let classes = self.busy.iter().filter(|&&queues| queues > 0).count();
        #[cfg(test)]
        if self.groups.len() > 1 && self.busy_queues() > 1 {
            return true;
        }
        (!is_least && self.weights.len() > 1) || classes > 1
    }

    /// Whether idling makes the device faster.
    pub(super) fn idling_helps(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        if q.processes == 0 {
            return false;
        }
        let several = self.device.several != Some(false);
        let sequential = !q.is_seeky() && q.think.io_bound && q.think.short;
        let rotational = self.device.rotational;
        let helps = (rotational && !several) || ((rotational || !several) && sequential);
        helps && self.raised_busy == 0
    }

    /// Whether a queue gets what it is due only if it is waited for.
    pub(super) fn idling_is_fair(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        if q.processes == 0 {
            return false;
        }
        let busy = self.busy_queues();
        let crowded = self.in_driver >= q.dispatched + OTHERS_AT_DEVICE;
        (q.is_raised() && (self.raised_busy < busy || crowded)) || self.is_asymmetric(queue) || busy == 1
    }

    pub(super) fn better_to_idle(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        if q.processes == 0 {
            return false;
        }
        let may_idle = self.slice_idle > 0 && q.sync && !q.is_idle_class();
        self.strict || (may_idle && (self.idling_helps(queue) || self.idling_is_fair(queue)))
    }

    pub(super) fn must_idle(&self, queue: usize) -> bool {
        self.queues[queue].requests.is_empty() && self.better_to_idle(queue)
    }

    /// Begins to keep the device idle for the queue in service.
    pub(super) fn begin_idling(&mut self, queue: usize) {
        let q = &self.queues[queue];
        let idle_ns = if q.is_seeky() && !q.is_raised() && !self.is_asymmetric(queue) {
            self.slice_idle.min(SHORT_IDLE_NS)
        } else if q.is_raised() {
            self.slice_idle.max(RAISED_IDLE_NS)
        } else {
            self.slice_idle
        };
        self.queues[queue].waited_for = true;
        self.idling_since = self.now;
        self.idling_since_jiffy = self.jiffy;
        self.idle_until = Some(self.now + idle_ns);
    }

    pub(super) fn end_idling(&mut self, queue: usize) {
        self.queues[queue].waited_for = false;
        self.idle_until = None;
    }

    /// Finds out whether the device takes several requests at a time; called before a completed request is taken off.
    pub(super) fn look_at_device(&mut self) {
        let device = &mut self.device;
        device.peak = device.peak.max(self.in_driver);
        if device.several == Some(true) || self.in_driver + self.queued <= DEVICE_THRESHOLD {
            return;
        }
        // A queue that is waited for may keep the device from showing what it can.
        if let Some(queue) = self.in_service {
            let q = &self.queues[queue];
            let few = q.dispatched + q.queued < DEVICE_THRESHOLD && self.in_driver < DEVICE_THRESHOLD;
            if q.think.short && few {
                return;
            }
        }
        device.samples += 1;
        if device.samples > DEVICE_SAMPLES {
            device.several = Some(device.peak > DEVICE_THRESHOLD);
            device.parallel = !device.rotational && device.several == Some(true);
            (device.samples, device.peak) = (0, 0);
        }
    }
}
