//! Generates uniformly distributed addresses.

use ssdlab_core::{Info, Rng, Settings};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::space::{RequestTarget, Space};

pub(super) static INFO: PatternInfo = Info {
    name: "uniform",
    help: "all addresses equally likely",
    source: "",
    parameters: &[],
    role: PatternRules::of::<Uniform>(),
};

#[derive(Debug)]
struct Uniform {
    align: u64,
    slots: u64,
}

impl Addresses for Uniform {
    fn new(_: &Settings, space: Space, _: &mut Rng) -> Self {
        Self { align: space.align, slots: space.starts() }
    }

    #[inline]
    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget {
        RequestTarget { offset: rng.below(self.slots) * self.align, bytes, stream: 0 }
    }
}
