//! Thermal throttling: a first-order model of the drive's temperature.
//!
//! ```text
//! a request:       T += energy x resistance / time constant
//! between events:  T  = ambient + (T - ambient) x exp(-elapsed / time constant)
//! ```
//! This is a thermal resistance to ambient, parallel to a heat capacity of `time constant / resistance`. Under a
//! constant load of P watts, T tends to `ambient + P x resistance`. `libm` computes the same bits on every machine.

use crate::setup::drive::Thermal;
use ssdlab_trace::Op;

/// Temperature and throttling state of a drive.
#[derive(Debug)]
pub(super) struct Throttle {
    options: Thermal,
    /// Temperature above ambient at `at_ns`, in kelvin.
    above_ambient: f64,
    at_ns: u64,
    is_throttled: bool,
    /// Highest temperature so far, in degrees Celsius.
    pub highest: f64,
    /// Number of times that throttling began.
    pub throttles: u64,
    pub throttled_requests: u64,
}

impl Throttle {
    pub fn new(options: Thermal) -> Self {
        Self {
            options,
            above_ambient: 0.0,
            at_ns: 0,
            is_throttled: false,
            highest: options.ambient,
            throttles: 0,
            throttled_requests: 0,
        }
    }

    pub fn start_measuring(&mut self) {
        (self.highest, self.throttles, self.throttled_requests) = (self.temperature(), 0, 0);
    }

    fn temperature(&self) -> f64 {
        self.options.ambient + self.above_ambient
    }

    /// Adds the heat of a request that took `served_ns`. Returns the delay that throttling adds to the request, in
    /// nanoseconds.
    pub fn request_served(&mut self, op: Op, bytes: u32, served_ns: u64, now_ns: u64) -> u64 {
        let Thermal { threshold, release, resistance, time_constant, read_energy, write_energy, factor, .. } =
            self.options;
        self.above_ambient *= libm::exp(-((now_ns - self.at_ns) as f64) / time_constant.0 as f64);
        self.at_ns = now_ns;
        if self.temperature() < release {
            self.is_throttled = false;
        }
        let joules_per_byte = match op {
            Op::Read => read_energy * 1e-9,
            Op::Write => write_energy * 1e-9,
            Op::Trim | Op::Flush => 0.0,
        };
        self.above_ambient += joules_per_byte * f64::from(bytes) * resistance / (time_constant.0 as f64 * 1e-9);
        self.highest = self.highest.max(self.temperature());
        if !self.is_throttled && self.temperature() > threshold {
            self.is_throttled = true;
            self.throttles += 1;
        }
        self.throttled_requests += u64::from(self.is_throttled);
        if self.is_throttled { (served_ns as f64 * (factor - 1.0)) as u64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Nanos;

    /// 10 nJ per byte and 1 K/W over 1 ms: 100 bytes heat the drive by 1 uJ x 1 K/W / 1 ms = 0.001 K.
    const OPTIONS: Thermal = Thermal {
        ambient: 40.0,
        threshold: 80.0,
        release: 75.0,
        resistance: 1.0,
        time_constant: Nanos(1_000_000),
        read_energy: 10.0,
        write_energy: 20.0,
        factor: 3.0,
    };

    /// Equal requests at equal intervals: the temperature is a geometric series. Its limit is near power x thermal
    /// resistance.
    #[test]
    fn temperature_under_a_constant_load() {
        let mut throttle = Throttle::new(OPTIONS);
        let q = libm::exp(-0.01);
        for request in 1..=2_000_u64 {
            assert_eq!(throttle.request_served(Op::Read, 10_000, 500, request * 10_000), 0);
            let expected = 40.0 + 0.1 * (1.0 - q.powi(request as i32)) / (1.0 - q);
            assert!((throttle.temperature() - expected).abs() < 1e-9, "{request}");
        }
        // 10,000 bytes x 10 nJ / 10 us = 10 W.
        assert!((throttle.temperature() - 40.0 - 10.0).abs() < 0.06, "{}", throttle.temperature());
        // After one time constant without requests, 1/e of the difference to ambient is left.
        let before = throttle.above_ambient;
        throttle.request_served(Op::Flush, 0, 0, 20_000_000 + 1_000_000);
        assert!((throttle.above_ambient / before - libm::exp(-1.0)).abs() < 1e-12);
    }

    /// Writes of 1,950,000 and 100,000 bytes heat the drive to 79 and 81 degrees. Above 80 degrees, requests take three
    /// times as long, until the temperature is below 75 degrees.
    #[test]
    fn a_hot_drive_is_slow_until_it_has_cooled() {
        let mut throttle = Throttle::new(OPTIONS);
        assert_eq!(throttle.request_served(Op::Write, 1_950_000, 700, 0), 0);
        assert_eq!(throttle.request_served(Op::Write, 100_000, 700, 0), 1_400);
        assert!(throttle.throttles == 1 && (throttle.highest - 81.0).abs() < 1e-9);
        // 41 K above ambient fall to 35 K in 158,224 ns: 41 exp(-0.158224) = 35.
        assert_eq!(throttle.request_served(Op::Trim, 1, 700, 158_224), 1_400);
        assert_eq!(throttle.request_served(Op::Trim, 1, 700, 158_225), 0);
        assert_eq!((throttle.throttles, throttle.throttled_requests), (1, 2));
        throttle.start_measuring();
        assert_eq!((throttle.throttles, throttle.throttled_requests), (0, 0));
        assert!(throttle.highest < 75.0);
    }
}
