//! Generates hot and cold addresses, each uniformly distributed.

use ssdlab_core::Rng;

use super::check::{ensure, percent, share, share_of, up, wrong};
use super::scatter::Scatter;
use crate::{Placement, TraceError};

/// Checks that each class (hot and cold) that gets requests has at least one of the `slots`.
pub(super) fn check(hot_requests: f64, hot_space: f64, slots: u64) -> Result<(), TraceError> {
    share("hot_requests", hot_requests)?;
    share("hot_space", hot_space)?;
    let hot_slots = share_of(slots, hot_space);
    let (part, remedy) = if hot_slots == 0 && hot_requests > 0.0 {
        ("hot", format!("raise it to {}", percent(up(1.0 / slots as f64))))
    } else if hot_slots == slots && hot_requests < 1.0 {
        ("cold", format!("lower it to {}", percent(1.0 - up(1.0 / slots as f64))))
    } else {
        return Ok(());
    };
    let all = if part == "hot" { "lower it to 0%" } else { "raise it to 100%" };
    let why = "the span has only one address, which cannot be both hot and cold";
    ensure!(slots > 1, "hot_requests", "{why}; {all}");
    wrong("hot_space", format!("{} of {slots} addresses leaves no {part} address; {remedy}", percent(hot_space)))
}

#[derive(Clone, Debug)]
pub(super) struct HotCold {
    hot_requests: f64,
    hot_slots: u64,
    cold_slots: u64,
    /// Permutation of the slots whose first part is hot; `None` if hot slots lie together.
    scatter: Option<Scatter>,
}

impl HotCold {
    pub fn new(hot_requests: f64, hot_space: f64, placement: Placement, slots: u64, rng: &mut Rng) -> Self {
        let hot_slots = share_of(slots, hot_space);
        let scatter = (placement == Placement::Scattered).then(|| Scatter::new(slots, rng));
        Self { hot_requests, hot_slots, cold_slots: slots - hot_slots, scatter }
    }

    /// Draws the slot of the next request.
    pub fn next(&self, rng: &mut Rng) -> u64 {
        let hot = rng.unit() < self.hot_requests;
        let slot = if hot { rng.below(self.hot_slots) } else { self.hot_slots + rng.below(self.cold_slots) };
        self.scatter.as_ref().map_or(slot, |scatter| scatter.apply(slot))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{generate, workload};
    use crate::{Pattern, Placement};

    #[test]
    fn hot_requests_go_to_the_hot_space() {
        let pattern = Pattern::HotCold { hot_requests: 0.8, hot_space: 0.2, placement: Placement::Together };
        let requests = generate(&workload(pattern));
        let limit = (64 << 20) / 5;
        let hot = requests.iter().filter(|r| r.offset < limit).count() as f64 / 1e5;
        assert!((hot - 0.8).abs() < 0.01, "{hot}");
    }

    /// Goal: scattering moves the hot slots and keeps their share. Method: the number and share of the most requested
    /// slots match the settings, and every part of the span has hot slots.
    #[test]
    fn scattered_hot_slots_cover_the_span() {
        let pattern = Pattern::HotCold { hot_requests: 0.9, hot_space: 0.1, placement: Placement::Scattered };
        let mut workload = workload(pattern);
        workload.sizes = vec![(4096, 1.0)];
        workload.span_bytes = 1000 * 4096;
        let mut counts = vec![0_u32; 1000];
        for request in generate(&workload) {
            counts[request.offset as usize / 4096] += 1;
        }
        // On average, a hot slot gets 900 requests and a cold slot 11.
        let hot: Vec<usize> = (0..1000).filter(|&slot| counts[slot] > 300).collect();
        assert_eq!(hot.len(), 100);
        let share = hot.iter().map(|&slot| f64::from(counts[slot])).sum::<f64>() / 1e5;
        assert!((share - 0.9).abs() < 0.01, "{share}");
        let thirds = [0, 1, 2].map(|third| hot.iter().filter(|&slot| slot * 3 / 1000 == third).count());
        assert!(thirds.iter().all(|&n| n > 15), "{thirds:?}");
    }
}
