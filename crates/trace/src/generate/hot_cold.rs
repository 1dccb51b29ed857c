//! Two classes of addresses, each uniform.

use ssdlab_core::Rng;

use super::{percent, share, share_of, wrong};
use crate::scatter::Scatter;
use crate::{Placement, TraceError};

#[derive(Clone, Debug)]
pub(super) struct HotCold {
    hot_requests: f64,
    hot_slots: u64,
    cold_slots: u64,
    /// Where the slots go whose first are hot; as they are if they lie together.
    scatter: Option<Scatter>,
}

impl HotCold {
    pub fn new(
        hot_requests: f64,
        hot_space: f64,
        placement: Placement,
        slots: u64,
        rng: &mut Rng,
    ) -> Result<Self, TraceError> {
        share("hot_requests", hot_requests)?;
        share("hot_space", hot_space)?;
        let hot_slots = share_of(slots, hot_space);
        let cold_slots = slots - hot_slots;
        if (hot_slots == 0 && hot_requests > 0.0) || (cold_slots == 0 && hot_requests < 1.0) {
            let part = if hot_slots == 0 { "hot" } else { "cold" };
            // In steps that a percentage is written in; of one address no share leaves both.
            let least = libm::ceil(1e6 / slots as f64) / 1e6;
            let remedy = match part {
                _ if slots < 2 => String::new(),
                "hot" => format!("raise it to {} or ", percent(least)),
                _ => format!("lower it to {} or ", percent(1.0 - least)),
            };
            let why =
                format!("{} of {slots} addresses leaves none {part}; {remedy}enlarge the span", percent(hot_space));
            return wrong("hot_space", why);
        }
        let scatter = (placement == Placement::Scattered).then(|| Scatter::new(slots, rng));
        Ok(Self { hot_requests, hot_slots, cold_slots, scatter })
    }

    /// The next slot.
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

    /// Goal: scattering moves the hot slots and keeps their share. Method: the slots asked for most are as many as
    /// configured, take the configured share, and leave no part of the span without one.
    #[test]
    fn scattered_hot_slots_lie_all_over_the_span() {
        let pattern = Pattern::HotCold { hot_requests: 0.9, hot_space: 0.1, placement: Placement::Scattered };
        let mut workload = workload(pattern);
        workload.sizes = vec![(4096, 1.0)];
        workload.span_bytes = 1000 * 4096;
        let mut counts = vec![0_u32; 1000];
        for request in generate(&workload) {
            counts[request.offset as usize / 4096] += 1;
        }
        // 900 requests of a hot slot and 11 of a cold one, on average.
        let hot: Vec<usize> = (0..1000).filter(|&slot| counts[slot] > 300).collect();
        assert_eq!(hot.len(), 100);
        let share = hot.iter().map(|&slot| f64::from(counts[slot])).sum::<f64>() / 1e5;
        assert!((share - 0.9).abs() < 0.01, "{share}");
        let thirds = [0, 1, 2].map(|third| hot.iter().filter(|&slot| slot * 3 / 1000 == third).count());
        assert!(thirds.iter().all(|&n| n > 15), "{thirds:?}");
    }
}
