//! An admission policy: decides which items may enter a cache.

use ssdlab::admission::{self, Access, Admission, AdmissionInfo, AdmissionRules, guarded};
use ssdlab::{NameTaken, Parameter, Unit};

/// Adds the policy to ssdlab; `ssdlab cache sim --policy lru:admission=mine` then puts it in front of LRU.
pub fn register() -> Result<(), NameTaken> {
    admission::register(&MINE)
}

/// Registry entry of the policy: name, help text, parameters and constructor.
static MINE: AdmissionInfo = AdmissionInfo {
    name: "mine",
    help: "Admits an item if it is requested again soon after it was refused.",
    // The paper that describes the policy.
    source: "",
    // Parameters follow the name of the cache policy: `lru:admission=mine:admission.slots=100`.
    parameters: &[Parameter::new(
        "slots",
        Unit::Count("items"),
        4096,
        [1, 1 << 24],
        "Number of slots that remember refused items.",
    )],
    role: AdmissionRules {
        // True if items may have different sizes.
        sizes: true,
        guard: |settings, policy| guarded(Mine { recent: vec![None; settings.get("slots") as usize] }, policy),
    },
};

/// Recently refused items. Item `i` can only be in slot `i % slots`.
#[derive(Debug)]
struct Mine {
    recent: Vec<Option<u32>>,
}

impl Admission for Mine {
    /// Returns true to admit an item that is not cached.
    fn admits(&mut self, access: Access) -> bool {
        let slot = access.item as usize % self.recent.len();
        self.recent[slot].replace(access.item) == Some(access.item)
    }

    /// Returns the memory that the policy uses, in bytes.
    fn bytes(&self) -> usize {
        size_of_val(&self.recent[..])
    }
}

#[cfg(test)]
mod tests {
    use super::Mine;
    use ssdlab::admission::{Access, Admission};

    #[test]
    fn an_item_is_admitted_at_its_second_request() {
        let mut mine = Mine { recent: vec![None; 2] };
        // Computed by hand: items 0 and 2 share a slot, so item 2 displaces item 0.
        let admitted = [0, 0, 1, 2, 0, 1].map(|item| mine.admits(Access::new(item, 1)));
        assert_eq!(admitted, [false, true, false, false, false, true]);
    }
}

/// Runs the policy on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::admission!(super::MINE);
}
