//! Generates the arrival times of requests.

use ssdlab_core::Rng;

use super::check::ensure;
use crate::{Arrival, TraceError};

/// Longest duration of a workload in ns: half the range of a 64-bit number, so that adding random gaps cannot overflow.
pub(super) const DURATION_MAX_NS: f64 = 9.0e18;

/// Checks the arrival rate given by the workload field `field`.
pub(super) fn check_rate(field: &'static str, per_second: f64) -> Result<(), TraceError> {
    let is_positive = per_second.is_finite() && per_second > 0.0;
    ensure!(is_positive, field, "the rate {per_second}/s is not above 0; set it to 1000/s");
    Ok(())
}

/// Checks that all requests arrive within the longest duration that can be represented.
pub(super) fn check(arrival: &Arrival, requests: u64) -> Result<(), TraceError> {
    let Some(per_second) = arrival.per_second() else { return Ok(()) };
    check_rate("per_second", per_second)?;
    let least = libm::ceil(requests as f64 * 1e9 / DURATION_MAX_NS);
    let why = format!("the rate {per_second}/s is too low: {requests} requests take more than 285 years");
    let is_enough = requests as f64 * (1e9 / per_second) <= DURATION_MAX_NS;
    ensure!(is_enough, "per_second", "{why}; raise it to {least}/s");
    Ok(())
}

/// Generator of arrival times in ns; the first arrival time is 0.
#[derive(Clone, Debug)]
pub struct Clock {
    arrival: Arrival,
    /// Mean time between two arrivals; 0 if all requests arrive at time 0.
    gap_ns: f64,
    /// Time of the next arrival of a Poisson process.
    now_ns: u64,
    /// Fraction of a nanosecond by which the exact time of the next arrival exceeds `now_ns`.
    fraction: f64,
    rng: Rng,
}

impl Clock {
    /// Creates the generator of an arrival process.
    pub fn new(arrival: &Arrival, rng: Rng) -> Self {
        let gap_ns = arrival.per_second().map_or(0.0, |per_second| 1e9 / per_second);
        Self { arrival: *arrival, gap_ns, now_ns: 0, fraction: 0.0, rng }
    }

    /// True if all requests arrive at time 0.
    pub(super) fn is_closed(&self) -> bool {
        self.arrival == Arrival::Closed
    }

    /// Returns the arrival time of request `index`; call once per request, in order.
    #[inline]
    pub fn tick(&mut self, index: u64) -> u64 {
        match self.arrival {
            Arrival::Closed => 0,
            Arrival::Fixed { .. } => libm::round(index as f64 * self.gap_ns) as u64,
            Arrival::Poisson { .. } => {
                let now_ns = self.now_ns;
                // Whole ns and the fraction of a ns are kept separately, so that long runs stay exact.
                self.fraction -= libm::log(1.0 - self.rng.unit()) * self.gap_ns;
                let whole = libm::floor(self.fraction);
                self.now_ns = now_ns.saturating_add(whole as u64);
                self.fraction -= whole;
                now_ns
            }
        }
    }
}
