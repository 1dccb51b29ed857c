//! A workload pattern: decides which addresses a generated workload requests.

use ssdlab::workload::{self, Addresses, PatternInfo, PatternRules, RequestTarget, Space};
use ssdlab::{NameTaken, Parameter, Rng, Settings, Unit};

/// Adds the pattern to ssdlab. The setting `workload.pattern=mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    workload::register(&MINE)
}

/// Registry entry of the pattern: name, help text, parameters and generator.
static MINE: PatternInfo = PatternInfo {
    name: "mine",
    help: "Every `stride`-th address, wrapping around at the end.",
    // The paper that describes the pattern.
    source: "",
    // Each parameter is a setting: `workload.pattern.mine.stride=10`.
    parameters: &[Parameter::new(
        "stride",
        Unit::Count("slots"),
        7,
        [1, 1 << 40],
        "Distance between consecutive addresses, in slots.",
    )],
    role: PatternRules::of::<Mine>(),
};

/// State of the pattern.
#[derive(Debug)]
struct Mine {
    space: Space,
    stride: u64,
    next: u64,
}

impl Addresses for Mine {
    /// Starts the pattern. A random pattern draws its numbers from `_rng`.
    fn new(settings: &Settings, space: Space, _rng: &mut Rng) -> Self {
        Self { space, stride: settings.get("stride"), next: 0 }
    }

    /// Returns address, size and stream of the next request. `space.starts()` is the number of slots at which a request
    /// may start.
    fn next(&mut self, bytes: u32, _rng: &mut Rng) -> RequestTarget {
        let offset = self.next * self.space.align;
        self.next = (self.next + self.stride) % self.space.starts();
        RequestTarget { offset, bytes, stream: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::register;
    use ssdlab::simulate;

    #[test]
    fn the_pattern_writes_to_the_drive() {
        register().unwrap();
        let settings = [
            "workload.pattern=mine",
            "device.capacity=32MiB",
            "nand.pages_per_block=64",
            "workload.requests=5000",
            "workload.reads=0%",
        ];
        assert_eq!(simulate(&settings).unwrap().host.write_requests, 5000);
    }
}

/// Runs the pattern on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::workload!(super::MINE);
}
