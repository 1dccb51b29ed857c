//! Admits new items at random. Items that are accessed often are therefore admitted sooner or later.
//!
//! ```text
//! miss(x):  admit x with probability `percent`
//! ```
//! Source: Zhou, Wang, Shi, Feng, "Demystifying cache policies for photo stores at scale", ICS 2018, which uses random
//! admission as the baseline. libCacheSim does so too, with a probability of one half.

use ssdlab_core::{Parameter, Rng, Unit};

use super::{Admission, AdmissionInfo, AdmissionRules, guarded};
use crate::Access;

pub(super) static INFO: AdmissionInfo = AdmissionInfo {
    name: "probability",
    help: "Admits new items at random.",
    source: "Zhou et al., ICS 2018",
    parameters: &[
        Parameter::share("percent", 50, "Probability of admission."),
        Parameter::new("seed", Unit::Count("number"), 1, [0, u64::MAX], "Seed of the random numbers."),
    ],
    role: AdmissionRules {
        sizes: true,
        guard: |settings, policy| {
            let rng = Rng::named(settings.get("seed"), "admission");
            guarded(Probability { percent: settings.get("percent"), rng }, policy)
        },
    },
};

#[derive(Debug)]
struct Probability {
    percent: u64,
    rng: Rng,
}

impl Admission for Probability {
    fn admits(&mut self, _: Access) -> bool {
        self.rng.below(100) < self.percent
    }

    fn bytes(&self) -> usize {
        0
    }
}
