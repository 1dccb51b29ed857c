//! Newcomers are let in by chance: what is asked for often comes in sooner or later.
//!
//! ```text
//! miss(x):  x comes in with the chance `percent`
//! ```
//! Source: Zhou, Wang, Shi, Feng, "Demystifying cache policies for photo stores at scale", ICS 2018, has it as the
//! simple alternative that admissions are compared with; so does libCacheSim, with a chance of one half.

use ssdlab_core::{Parameter, Rng, Unit};

use super::{AdmissionInfo, AdmissionRules, Door, guarded};
use crate::Access;

pub(super) static INFO: AdmissionInfo = AdmissionInfo {
    name: "probability",
    help: "Lets a newcomer in by chance.",
    source: "Zhou et al., ICS 2018",
    parameters: &[
        Parameter::share("percent", 50, "The chance."),
        Parameter {
            name: "seed",
            unit: Unit::Count("number"),
            default: 1,
            min: 0,
            max: u64::MAX,
            example: None,
            help: "Seed of the random numbers.",
        },
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

impl Door for Probability {
    fn admits(&mut self, _: Access) -> bool {
        self.rng.below(100) < self.percent
    }

    fn bytes(&self) -> usize {
        0
    }
}
