//! Generates addresses in a hot and a cold part of the span, uniformly distributed within each part.

use ssdlab_core::parameter::percent;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::check::{ensure, in_percent, share_of, up, wrong};
use super::scatter::Scatter;
use super::space::{RequestTarget, Space};
use crate::TraceError;

const REQUESTS: Parameter = Parameter::new(
    "hot_requests",
    Unit::Share,
    percent(80),
    [0, percent(100)],
    "Share of the requests to hot addresses.",
)
.example(percent(90));
/// Share of the span that is hot, from 0.01 % to 99.99 %.
const SPACE: Parameter = Parameter::new(
    "hot_space",
    Unit::Share,
    percent(20),
    [percent(1) / 100, percent(100) - percent(1) / 100],
    "Share of the span that the hot addresses occupy.",
)
.example(percent(10));
const PLACEMENT: Parameter = Parameter::one_of(
    "placement",
    || vec![("together", "at the start of the span"), ("scattered", "scattered over the whole span")],
    "Location of the hot addresses.",
)
.example(1);

pub(super) static INFO: PatternInfo = Info {
    name: "hot_cold",
    help: "hot addresses occupy the share `hot_space` of the span and receive the share `hot_requests` of the requests",
    source: "",
    parameters: &[REQUESTS, SPACE, PLACEMENT],
    role: PatternRules::of::<HotCold>(),
};

#[derive(Debug)]
struct HotCold {
    align: u64,
    hot_requests: f64,
    hot_slots: u64,
    cold_slots: u64,
    /// Permutation of the slots that puts the hot slots first; `None` if the hot slots are adjacent.
    scatter: Option<Scatter>,
}

impl Addresses for HotCold {
    /// Checks that the hot and the cold class each contain at least one slot. A class that receives no requests may be
    /// empty.
    fn check(settings: &Settings, space: Space) -> Result<(), TraceError> {
        let [hot_requests, hot_space] = [REQUESTS, SPACE].map(|share| settings.fraction(share.name));
        let slots = space.starts();
        let (hot_slots, least) = (share_of(slots, hot_space), up(1.0 / slots as f64));
        let (part, none, remedy) = if hot_slots == 0 && hot_requests > 0.0 {
            ("hot", "lower it to 0%", format!("raise it to {}", in_percent(least)))
        } else if hot_slots == slots && hot_requests < 1.0 {
            ("cold", "raise it to 100%", format!("lower it to {}", in_percent(1.0 - least)))
        } else {
            return Ok(());
        };
        let why = "the hot share of the requests must be 0% or 100%, because the span has only one address";
        ensure!(slots > 1, "hot_requests", "{why}; {none}");
        let why = format!("a hot share of {} leaves none of the {slots} addresses {part}", in_percent(hot_space));
        wrong("hot_space", format!("{why}; {remedy}"))
    }

    fn new(settings: &Settings, space: Space, rng: &mut Rng) -> Self {
        let slots = space.starts();
        let hot_slots = share_of(slots, settings.fraction(SPACE.name));
        Self {
            align: space.align,
            hot_requests: settings.fraction(REQUESTS.name),
            hot_slots,
            cold_slots: slots - hot_slots,
            scatter: settings.is_set(PLACEMENT.name).then(|| Scatter::new(slots, rng)),
        }
    }

    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget {
        let hot = rng.unit() < self.hot_requests;
        let slot = if hot { rng.below(self.hot_slots) } else { self.hot_slots + rng.below(self.cold_slots) };
        let slot = self.scatter.as_ref().map_or(slot, |scatter| scatter.apply(slot));
        RequestTarget { offset: slot * self.align, bytes, stream: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;
    use crate::testing::{generate, refusal, workload};

    #[test]
    fn hot_requests_go_to_the_hot_space() {
        let requests = generate(&workload("hot_cold", &[]));
        let limit = (64 << 20) / 5;
        let hot = requests.iter().filter(|r| r.offset < limit).count() as f64 / 1e5;
        assert!((hot - 0.8).abs() < 0.01, "{hot}");
    }

    /// Goal: scattering moves the hot slots without changing how many requests they get. Method: checks that the number
    /// and share of the most requested slots match the settings, and that every part of the span has hot slots.
    #[test]
    fn scattered_hot_slots_cover_the_span() {
        let (hot_requests, hot_space) = (percent(90), percent(10));
        let changes = [("hot_requests", hot_requests), ("hot_space", hot_space), ("placement", 1)];
        let mut workload = workload("hot_cold", &changes);
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

    /// With 10 slots, a hot share of 99.99 % is rounded to 10 slots and leaves no cold slot; 0.01 % leaves no hot slot.
    #[test]
    fn classes_without_an_address_are_rejected() {
        let refused = |space| {
            let tiny = workload("hot_cold", &[("hot_space", space)]);
            refusal(&Workload { sizes: vec![(4096, 1.0)], span_bytes: 10 * 4096, ..tiny })
        };
        assert!(
            refused(SPACE.max).ends_with("a hot share of 99.99% leaves none of the 10 addresses cold; lower it to 90%")
        );
        assert!(
            refused(SPACE.min).ends_with("a hot share of 0.01% leaves none of the 10 addresses hot; raise it to 10%")
        );
    }
}
