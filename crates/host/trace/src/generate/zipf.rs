//! Generates Zipf-distributed addresses that are scattered over the span. Draws exact Zipf ranks in O(1) time and
//! memory.
//!
//! Rejection-inversion (Hormann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 1996): invert the integral of a continuous hat function and reject points outside the
//! histogram. Works for every exponent above 0, including 1, with fewer than 1.1 draws per sample on average.
//! Logarithms come from `libm`, so ranks are the same on every platform.

use ssdlab_core::parameter::decimal;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::scatter::Scatter;
use super::space::{RequestTarget, Space};

/// Exponent of the distribution. Far above 10, nearly all requests go to rank 1 and the computation fails.
const THETA: Parameter =
    Parameter::new("theta", Unit::Decimal, decimal(0.99), [decimal(0.01), decimal(10.0)], "Skew; YCSB uses 0.99.")
        .example(decimal(0.8));

pub(super) static INFO: PatternInfo = Info {
    name: "zipf",
    help: "the probability of the k-th most popular address is proportional to 1 / k^`theta`",
    source: "",
    parameters: &[THETA],
    role: PatternRules::of::<Popular>(),
};

#[derive(Debug)]
struct Popular {
    align: u64,
    zipf: Zipf,
    scatter: Scatter,
}

impl Addresses for Popular {
    fn new(settings: &Settings, space: Space, rng: &mut Rng) -> Self {
        let slots = space.starts();
        let (zipf, scatter) = (Zipf::new(slots, settings.decimal(THETA.name)), Scatter::new(slots, rng));
        Self { align: space.align, zipf, scatter }
    }

    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget {
        let slot = self.scatter.apply(self.zipf.sample(rng) - 1);
        RequestTarget { offset: slot * self.align, bytes, stream: 0 }
    }
}

/// Distribution over ranks 1 to n; the probability of rank k is proportional to `1 / k^theta`.
#[derive(Debug)]
struct Zipf {
    count: f64,
    theta: f64,
    first: f64,
    last: f64,
    /// If rounding `x` up to a rank adds at most this much, the rank is accepted without computing the density.
    sure: f64,
}

/// Computes `ln(1 + x) / x` accurately, also near 0.
fn log_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x * (0.5 - x * (1.0 / 3.0 - 0.25 * x)) }
}

/// Computes `(e^x - 1) / x` accurately, also near 0.
fn exp_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0 * (1.0 + 0.25 * x)) }
}

impl Zipf {
    /// Creates a distribution over `count` ranks, 1 to 2^53; the exponent `theta` is above 0 and at most 50.
    fn new(count: u64, theta: f64) -> Self {
        let mut zipf = Self { count: count as f64, theta, first: 0.0, last: 0.0, sure: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Returns the integral of the hat function from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        exp_ratio((1.0 - self.theta) * log) * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.theta)).max(-1.0);
        libm::exp(log_ratio(t) * area)
    }

    /// Draws a rank, at least 1, from the distribution.
    fn sample(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.last + rng.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.count);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the samples follow the Zipf law. Method: compares their counts with exact frequencies in a chi-square
    /// test.
    #[test]
    fn frequencies_follow_the_law() {
        for theta in [0.2, 0.8, 0.99, 1.0, 1.3, 3.0] {
            let (count, samples) = (50_u64, 400_000);
            let zipf = Zipf::new(count, theta);
            let mut rng = Rng::named(1, "zipf");
            let mut seen = vec![0_u32; count as usize];
            for _ in 0..samples {
                seen[zipf.sample(&mut rng) as usize - 1] += 1;
            }
            let norm: f64 = (1..=count).map(|k| (k as f64).powf(-theta)).sum();
            let (mut chi_square, mut cells, mut rest) = (0.0, 0, (0.0, 0.0));
            for (index, &n) in seen.iter().enumerate() {
                let expected = f64::from(samples) * ((index + 1) as f64).powf(-theta) / norm;
                if expected < 10.0 {
                    rest = (rest.0 + expected, rest.1 + f64::from(n));
                    continue;
                }
                chi_square += (f64::from(n) - expected).powi(2) / expected;
                cells += 1;
            }
            if rest.0 > 10.0 {
                chi_square += (rest.1 - rest.0).powi(2) / rest.0;
            }
            // The mean of the chi-square statistic is its number of degrees of freedom, and its variance is twice that
            // number. The bound is five standard deviations above the mean.
            let bound = f64::from(cells) + 5.0 * (2.0 * f64::from(cells)).sqrt();
            assert!(chi_square < bound, "theta {theta}: chi-square {chi_square} of {cells} cells");
        }
    }

    #[test]
    fn the_most_popular_rank_of_a_large_space_has_its_share() {
        let (count, theta) = (1_u64 << 40, 0.99);
        let zipf = Zipf::new(count, theta);
        let mut rng = Rng::named(3, "zipf");
        let hits = (0..200_000).filter(|_| zipf.sample(&mut rng) == 1).count() as f64 / 200_000.0;
        // The sum approximates a generalized harmonic number by the Euler-Maclaurin formula.
        let n = count as f64;
        let zeta_099 = -99.423_512_9; // zeta(0.99) = -1/(1-0.99) + Euler's constant + O(0.01)
        let expected = 1.0 / (n.powf(1.0 - theta) / (1.0 - theta) + zeta_099);
        assert!((hits / expected - 1.0).abs() < 0.02, "{hits} against {expected}");
    }

    #[test]
    fn extreme_parameters_stay_in_range() {
        for count in [1, 2, 1 << 53] {
            for theta in [1e-300, 1e-9, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 20.0, 50.0] {
                let zipf = Zipf::new(count, theta);
                let mut rng = Rng::named(1, "extreme");
                assert!(
                    (0..1000).all(|_| (1..=count).contains(&zipf.sample(&mut rng))),
                    "{count} ranks, theta {theta}"
                );
            }
        }
    }
}
