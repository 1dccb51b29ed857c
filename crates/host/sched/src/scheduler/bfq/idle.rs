//! Idling: keeping the device free for the next request of an empty queue in service.

use std::collections::BTreeMap;

use super::Bfq;
use crate::MS;

/// Maximum idling time for a seeky queue without a raised weight.
pub(super) const SHORT_IDLE_NS: u64 = 2 * MS;
/// Minimum idling time for a queue with a raised weight.
const RAISED_IDLE_NS: u64 = 20 * MS;
/// Number of requests at the device above which the device is assumed to queue commands. This is decided after
/// `DEVICE_SAMPLES` samples.
const DEVICE_THRESHOLD: u32 = 3;
const DEVICE_SAMPLES: u32 = 32;
/// The device idles for a queue with a raised weight if at least this many requests of other queues are at the device.
const OTHERS_AT_DEVICE: u32 = 4;

/// Observed properties of the device's command queue.
#[derive(Debug, Default)]
pub(super) struct DeviceQueue {
    pub rotational: bool,
    /// True if the device accepts several requests at once; `None` until this is known. Once true, the value does not
    /// change.
    pub hw_tag: Option<bool>,
    samples: u32,
    /// Maximum number of requests at the device in the current sampling period.
    pub peak: u32,
    /// True if the device is not rotational and accepts several requests at once; assumed for SSDs until known.
    pub parallel: bool,
}

impl DeviceQueue {
    pub fn new(rotational: bool) -> Self {
        Self { rotational, parallel: !rotational, ..Self::default() }
    }
}

/// Number of busy queues without raised weight, by weight.
pub(super) type Weights = BTreeMap<u64, u32>;

impl Bfq {
    /// Counts a busy queue under its weight, for `is_asymmetric`.
    pub(super) fn count_weight(&mut self, queue: usize) {
        let entity = &mut self.queues[queue].entity;
        if entity.counted.is_none() {
            entity.counted = Some(entity.weight);
            *self.weights.entry(entity.weight).or_default() += 1;
        }
    }

    pub(super) fn uncount_weight(&mut self, queue: usize) {
        let Some(weight) = self.queues[queue].entity.counted.take() else { return };
        let queues = self.weights.get_mut(&weight).expect("`weights` must contain every counted weight");
        *queues -= 1;
        if *queues == 0 {
            self.weights.remove(&weight);
        }
    }

    /// True if busy queues differ in weight or class. Then it would be unfair to let the device choose the order.
    pub(super) fn is_asymmetric(&self, queue: usize) -> bool {
        let weight = self.queues[queue].entity.counted;
        let is_least = weight.is_some() && weight == self.weights.first_key_value().map(|(&least, _)| least);
        let classes = self.load.busy.iter().filter(|&&queues| queues > 0).count();
        #[cfg(test)]
        if self.groups.len() > 1 && self.busy_queues() > 1 {
            return true;
        }
        (!is_least && self.weights.len() > 1) || classes > 1
    }

    /// True if idling for the queue increases throughput.
    pub(super) fn idling_helps(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        let hw_tag = self.device.hw_tag != Some(false);
        let sequential = !q.is_seeky() && q.think.io_bound && q.think.short;
        let rotational = self.device.rotational;
        let helps = (rotational && !hw_tag) || ((rotational || !hw_tag) && sequential);
        helps && self.load.raised == 0 && q.processes > 0
    }

    /// True if the queue gets its share of service only if the device idles for it.
    pub(super) fn idling_is_fair(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        let busy = self.busy_queues();
        let crowded = self.load.in_driver >= q.dispatched + OTHERS_AT_DEVICE;
        let raised_among_others = q.is_raised() && (self.load.raised < busy || crowded);
        q.processes > 0 && (raised_among_others || self.is_asymmetric(queue) || busy == 1)
    }

    pub(super) fn better_to_idle(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        let may_idle = self.tunables.slice_idle > 0 && q.sync && !q.is_idle_class();
        let pays = may_idle && (self.idling_helps(queue) || self.idling_is_fair(queue));
        q.processes > 0 && (self.tunables.strict || pays)
    }

    pub(super) fn must_idle(&self, queue: usize) -> bool {
        self.queues[queue].requests.is_empty() && self.better_to_idle(queue)
    }

    pub(super) fn begin_idling(&mut self, queue: usize) {
        let q = &self.queues[queue];
        let idle_ns = if q.is_seeky() && !q.is_raised() && !self.is_asymmetric(queue) {
            self.tunables.slice_idle.min(SHORT_IDLE_NS)
        } else if q.is_raised() {
            self.tunables.slice_idle.max(RAISED_IDLE_NS)
        } else {
            self.tunables.slice_idle
        };
        self.queues[queue].waited_for = true;
        self.idling.since = self.clock.now;
        self.idling.since_jiffy = self.clock.jiffy;
        self.idling.until = Some(self.clock.now + idle_ns);
    }

    pub(super) fn end_idling(&mut self, queue: usize) {
        self.queues[queue].waited_for = false;
        self.idling.until = None;
    }

    /// Records a sample to find out if the device accepts several requests at once. Must be called before `in_driver`
    /// is decremented.
    pub(super) fn detect_queueing(&mut self) {
        let device = &mut self.device;
        device.peak = device.peak.max(self.load.in_driver);
        if device.hw_tag == Some(true) || self.load.in_driver + self.load.queued <= DEVICE_THRESHOLD {
            return;
        }
        // If the process has a short think time and few requests, it keeps the device lightly loaded. A sample would
        // then say nothing about the device's command queue.
        if let Some(queue) = self.in_service {
            let q = &self.queues[queue];
            let few = q.dispatched + q.queued < DEVICE_THRESHOLD && self.load.in_driver < DEVICE_THRESHOLD;
            if q.think.short && few {
                return;
            }
        }
        device.samples += 1;
        if device.samples > DEVICE_SAMPLES {
            device.hw_tag = Some(device.peak > DEVICE_THRESHOLD);
            device.parallel = !device.rotational && device.hw_tag == Some(true);
            (device.samples, device.peak) = (0, 0);
        }
    }
}
