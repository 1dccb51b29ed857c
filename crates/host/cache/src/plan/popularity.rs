//! Distribution of requests over pages: the share of requests that the most popular pages receive.

use std::str::FromStr;

use super::PlanError;

/// Number of leading (most popular) Zipf ranks that are summed exactly. The sum over the remaining ranks is
/// approximated by an integral.
const EXACT_RANKS: f64 = 64.0;

/// Distribution of requests over pages. `80/20` sends 80 % of the requests to the most popular 20 % of the pages.
///
/// Text forms: `even`, `80/20`, `pareto`, `zipf:THETA`.
#[derive(Clone, Debug, PartialEq)]
pub enum Popularity {
    /// Piecewise linear curve through points (share of the pages, share of the requests), from the origin to (1, 1).
    Lines(Vec<(f64, f64)>),
    /// Lorenz curve of the Pareto distribution: the share of the pages raised to the power `exponent`.
    Pareto {
        /// Exponent of the power law, from 0 (one page receives all requests) to 1 (uniform).
        exponent: f64,
    },
    /// The page of rank k receives requests in proportion to `1 / k^theta`.
    Zipf {
        /// Exponent theta, from 0 (uniform) to [`Popularity::THETA_MAX`].
        theta: f64,
    },
}

impl Popularity {
    /// Largest exponent of Zipf's law. Above it, the first page receives nearly all requests.
    pub const THETA_MAX: f64 = 5.0;

    /// Uniform requests: the "even" distribution of Harper 2018, figures 1, 10, 12a and 12b.
    pub fn even() -> Self {
        Self::Lines(vec![(0.0, 0.0), (1.0, 1.0)])
    }

    /// The "Pareto" distribution of Harper 2018, figures 1, 10, 12c, 12d and 13: 20 % of the pages receive 80 % of the
    /// requests, uniformly within each part.
    ///
    /// The curve has a kink at 20 %: beyond it, the hit ratio rises with the cache size only a sixteenth as fast. This
    /// explains why Harper's section "Objective #1" finds a ratio of 2.68 instead of the expected 2.97, and asks for
    /// further research.
    pub fn eighty_twenty() -> Self {
        Self::Lines(vec![(0.0, 0.0), (0.2, 0.8), (1.0, 1.0)])
    }

    /// The Pareto distribution in which 20 % of the pages receive 80 % of the requests, 4 % receive 64 %, and so on.
    /// The curve has no kink, so small caches hit far more often than with [`Self::eighty_twenty`].
    pub fn pareto() -> Self {
        Self::Pareto { exponent: libm::log(0.8) / libm::log(0.2) }
    }

    /// Creates a distribution from a measured curve: points (share of the pages cached, hit ratio) in ascending order.
    /// Adds the origin as the first point. Adds a last point for a cache that holds all pages, with the hit ratio of
    /// the previous point.
    ///
    /// # Errors
    /// Fails if a coordinate is not between 0 and 1, or decreases from one point to the next.
    pub fn measured(points: &[(f64, f64)]) -> Result<Self, PlanError> {
        let mut lines = vec![(0.0, 0.0)];
        for &(pages, hits) in points {
            let (before_pages, before_hits) = lines[lines.len() - 1];
            if !(pages >= before_pages && pages <= 1.0 && hits >= before_hits && hits <= 1.0) {
                return Err(PlanError::new(
                    "a point of the miss-ratio curve",
                    format!("{pages}, {hits}"),
                    "have values from 0 to 1, none of them lower than in the previous point",
                ));
            }
            lines.push((pages, hits));
        }
        lines.push((1.0, lines[lines.len() - 1].1));
        Ok(Self::Lines(lines))
    }

    /// Returns the hit ratio of a cache that holds the most popular `share` of `pages` pages.
    pub fn hit_ratio(&self, share: f64, pages: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        match self {
            Self::Lines(points) => {
                let after = points.iter().position(|point| point.0 >= share).unwrap_or(points.len() - 1).max(1);
                let ((x0, y0), (x1, y1)) = (points[after - 1], points[after]);
                if x1 > x0 { y0 + (share - x0) / (x1 - x0) * (y1 - y0) } else { y0 }
            }
            Self::Pareto { exponent } => libm::pow(share, *exponent),
            Self::Zipf { theta } => zipf_sum(share * pages, *theta) / zipf_sum(pages, *theta),
        }
    }
}

impl FromStr for Popularity {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let name = text.trim().to_lowercase();
        let theta = name.strip_prefix("zipf:").map(|theta| theta.parse().unwrap_or(f64::NAN));
        match (name.as_str(), theta) {
            ("even", _) => Ok(Self::even()),
            ("80/20", _) => Ok(Self::eighty_twenty()),
            ("pareto", _) => Ok(Self::pareto()),
            (_, Some(theta)) if (0.0..=Self::THETA_MAX).contains(&theta) => Ok(Self::Zipf { theta }),
            _ => Err(PlanError::new(
                "the distribution",
                text,
                "be even, 80/20, pareto or zipf:THETA with THETA from 0 to 5",
            )),
        }
    }
}

/// Returns the sum of `1 / k^theta` for ranks up to `count`, which may be fractional. Uses the Euler-Maclaurin formula;
/// its first omitted term is below 1e-9 of the sum.
fn zipf_sum(count: f64, theta: f64) -> f64 {
    let term = |x: f64| libm::pow(x, -theta);
    let whole = count.min(EXACT_RANKS).floor();
    let exact: f64 = (1..=whole as u32).map(|rank| term(f64::from(rank))).sum();
    if count <= EXACT_RANKS {
        return exact + (count - whole) * term(whole + 1.0);
    }
    let (first, log) = (EXACT_RANKS, libm::log(count / EXACT_RANKS));
    let exponent = 1.0 - theta;
    let stretch = if (exponent * log).abs() > 1e-9 { libm::expm1(exponent * log) / exponent } else { log };
    let integral = first * term(first) * stretch;
    let slope = theta * (term(first) / first - term(count) / count) / 12.0;
    exact + integral + (term(count) - term(first)) / 2.0 + slope
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_twenty_has_a_kink_and_pareto_has_none() {
        let (kinked, smooth) = (Popularity::eighty_twenty(), Popularity::pareto());
        for (share, hits) in [(0.0, 0.0), (0.075, 0.3), (0.2, 0.8), (0.6, 0.9), (1.0, 1.0), (1.5, 1.0)] {
            assert!((kinked.hit_ratio(share, 1e6) - hits).abs() < 1e-12, "{share}");
        }
        for (share, hits) in [(0.0, 0.0), (0.2, 0.8), (0.04, 0.64), (0.008, 0.512), (1.0, 1.0)] {
            assert!((smooth.hit_ratio(share, 1e6) - hits).abs() < 1e-12, "{share}");
        }
    }

    #[test]
    fn zipf_hit_ratios_match_the_exact_sum() {
        for theta in [0.0, 0.3, 0.99, 1.0, 1.0 + 1e-12, 1.5, 5.0] {
            let sum = |count: u32| (1..=count).map(|k| f64::from(k).powf(-theta)).sum::<f64>();
            for cached in [1, 10, 64, 65, 1_000, 20_000] {
                let hits = Popularity::Zipf { theta }.hit_ratio(f64::from(cached) / 20_000.0, 20_000.0);
                let exact = sum(cached) / sum(20_000);
                assert!((hits / exact - 1.0).abs() < 1e-8, "{theta} {cached}: {hits} {exact}");
            }
        }
    }

    #[test]
    fn a_measured_curve_is_piecewise_linear_and_flat_at_the_end() {
        let curve = Popularity::measured(&[(0.1, 0.5), (0.1, 0.6), (0.5, 0.8)]).expect("a curve");
        for (share, hits) in [(0.05, 0.25), (0.3, 0.7), (0.5, 0.8), (0.9, 0.8)] {
            assert!((curve.hit_ratio(share, 1.0) - hits).abs() < 1e-12, "{share}");
        }
        for wrong in
            [[(0.5, 0.5), (0.4, 0.6)], [(0.5, 0.5), (0.6, 0.4)], [(0.5, 0.5), (1.1, 0.6)], [(f64::NAN, 0.0); 2]]
        {
            assert!(Popularity::measured(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn invalid_distributions_are_rejected() {
        assert_eq!("ZIPF:0.9".parse(), Ok(Popularity::Zipf { theta: 0.9 }));
        for text in ["", "zipf", "zipf:-1", "zipf:x", "zipf:9", "90/10"] {
            assert!(text.parse::<Popularity>().is_err(), "{text}");
        }
    }
}
