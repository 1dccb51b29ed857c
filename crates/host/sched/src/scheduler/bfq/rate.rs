//! Estimate of the device's peak rate, from which the maximum budget is computed.

use super::Bfq;
use super::idle::SHORT_IDLE_NS;
use crate::MS;
use crate::request::Request;

/// Number of fractional bits of rates in fixed point; rates are in sectors per microsecond.
const SHIFT: u32 = 16;
/// Reference peak rates of a disk and of an SSD, each with the start-up time of a large application on that device.
const REFERENCE: [(u64, u64); 2] = [(14_000, 7_000 * MS), (33_000, 2_500 * MS)];
/// Minimum number of samples and minimum duration of an observation interval that can update the estimate.
const MIN_SAMPLES: u64 = 32;
const MIN_INTERVAL_NS: u64 = 300 * MS;
/// Maximum duration of an observation interval.
const INTERVAL_NS: u64 = 1_000 * MS;
/// Device idle time that ends an observation interval.
const REST_NS: u64 = 100 * MS;
/// Highest plausible peak rate, in sectors per microsecond.
const FASTEST: u64 = 20;

/// Estimate of the device's peak rate, from the requests dispatched in the current observation interval.
#[derive(Debug, Default)]
pub(super) struct Rate {
    reference: (u64, u64),
    /// Estimated peak rate of the device, in sectors per microsecond (fixed point).
    peak: u64,
    samples: u64,
    sequential: u64,
    sectors: u64,
    /// Size of the largest recent request, in sectors.
    largest: u64,
    first_dispatch: u64,
    last_dispatch: u64,
    interval_ns: u64,
    pub last_completion: u64,
}

impl Rate {
    pub fn new(rotational: bool) -> Self {
        let reference = REFERENCE[usize::from(!rotational)];
        Self { reference, peak: reference.0 * 2 / 3, ..Self::default() }
    }

    /// Returns the number of sectors transferred in `ms` milliseconds at the peak rate.
    pub fn transfers(&self, ms: u64) -> u64 {
        (self.peak * 1_000 * ms) >> SHIFT
    }

    /// Returns the start-up time of a large application on this device.
    pub fn start_ns(&self) -> u64 {
        let (rate, time_ns) = self.reference;
        (u128::from(rate) * u128::from(time_ns) / u128::from(self.peak)) as u64
    }

    /// Begins an observation interval. It starts with a request of `sectors` sectors that is dispatched now, or with
    /// the next request if `sectors` is `None`.
    fn restart(&mut self, sectors: Option<u64>, now: u64) {
        self.samples = 0;
        if let Some(sectors) = sectors {
            (self.first_dispatch, self.last_dispatch) = (now, now);
            (self.samples, self.sequential) = (1, 0);
            (self.sectors, self.largest) = (sectors, sectors);
        }
    }

    /// Ends an observation interval; returns true if the estimated rate was updated.
    fn evaluate(&mut self) -> bool {
        if self.samples < MIN_SAMPLES || self.interval_ns < MIN_INTERVAL_NS {
            return false;
        }
        self.interval_ns = self.interval_ns.max(self.last_completion.saturating_sub(self.first_dispatch));
        let rate = (self.sectors << SHIFT) / (self.interval_ns / 1_000);
        let random = self.sequential < (3 * self.samples) >> 2;
        if (random && rate <= self.peak) || rate > FASTEST << SHIFT {
            return false;
        }
        // Updates the estimate to a weighted average of itself and the new rate. The weight of the new rate is a tenth
        // to a half; it grows with the share of sequential requests and with the duration of the interval.
        let weight = 9 * self.sequential / self.samples;
        let weight = (weight.wrapping_mul(self.interval_ns) / INTERVAL_NS).min(8);
        let divisor = 10 - weight;
        self.peak = (self.peak * (divisor - 1) / divisor + rate / divisor).max(1);
        true
    }
}

impl Bfq {
    fn end_interval(&mut self, sectors: Option<u64>) {
        if self.rate.evaluate() && !self.tunables.fixed_budget {
            self.max_budget = self.rate.transfers(self.tunables.timeout_ns / MS);
        }
        self.rate.restart(sectors, self.clock.now);
    }

    /// Adds a dispatched request to the observation interval.
    pub(super) fn sample_rate(&mut self, rq: &Request, in_service: bool) {
        let (now, sectors) = (self.clock.now, u64::from(rq.sectors));
        if self.rate.samples == 0 {
            self.rate.restart(Some(sectors), now);
        } else if now.wrapping_sub(self.rate.last_dispatch) > REST_NS && self.load.in_driver == 0 {
            self.end_interval(Some(sectors));
        } else {
            let busy = self.load.in_driver > 0 || now.wrapping_sub(self.rate.last_completion) < SHORT_IDLE_NS;
            let sequential = busy && !self.is_far(self.last_position, rq);
            let rate = &mut self.rate;
            rate.samples += 1;
            rate.sequential += u64::from(sequential);
            rate.sectors += sectors;
            rate.largest = if rate.samples.is_multiple_of(32) { sectors } else { rate.largest.max(sectors) };
            rate.interval_ns = now.wrapping_sub(rate.first_dispatch);
            if rate.interval_ns >= INTERVAL_NS {
                self.end_interval(Some(sectors));
            }
        }
        self.last_position = rq.end();
        if in_service {
            self.last_position_in_turn = self.last_position;
        }
        self.rate.last_dispatch = now;
    }

    /// Records the completion of a request. If the gap since the previous completion is long and the rate is
    /// implausibly low, the device must have been idle, so the observation interval ends.
    pub(super) fn sample_completion(&mut self) {
        let us = self.clock.now.wrapping_sub(self.rate.last_completion) / 1_000;
        if us > SHORT_IDLE_NS / 1_000 && (self.rate.largest << SHIFT) / us < 1 << (SHIFT - 10) {
            self.end_interval(None);
        }
        self.rate.last_completion = self.clock.now;
    }
}
