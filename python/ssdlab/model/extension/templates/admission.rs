//! An admission policy: which items may enter a cache.

use ssdlab::admission::{self, Access, Admission, AdmissionInfo, AdmissionRules, guarded};
use ssdlab::{NameTaken, Parameter, Unit};

/// Adds the policy to ssdlab; `ssdlab cache sim --policy lru:admission=mine` then puts it in front of LRU.
pub fn register() -> Result<(), NameTaken> {
    admission::register(&MINE)
}

/// What lists and help say about the policy, and how it is built.
static MINE: AdmissionInfo = AdmissionInfo {
    name: "mine",
    help: "Admits an item when it is requested again soon.",
    // The paper that describes the policy.
    source: "",
    // Parameters follow the name of the cache policy: `lru:admission=mine:admission.slots=100`.
    parameters: &[Parameter::new("slots", Unit::Count("items"), 4096, [1, 1 << 24], "Items that are remembered.")],
    role: AdmissionRules {
        // True if items may have different sizes.
        sizes: true,
        guard: |settings, policy| guarded(Mine { recent: vec![None; settings.get("slots") as usize] }, policy),
    },
};

/// The items that were refused last: item `i` can only be in slot `i % slots`.
#[derive(Debug)]
struct Mine {
    recent: Vec<Option<u32>>,
}

impl Admission for Mine {
    /// Called for an item that is not cached; true admits it.
    fn admits(&mut self, access: Access) -> bool {
        let slot = access.item as usize % self.recent.len();
        self.recent[slot].replace(access.item) == Some(access.item)
    }

    /// Returns the memory that it uses.
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
        // By hand: items 0 and 2 share a slot, so item 2 displaces item 0.
        let admitted = [0, 0, 1, 2, 0, 1].map(|item| mine.admits(Access::new(item, 1)));
        assert_eq!(admitted, [false, true, false, false, false, true]);
    }
}

/// Random small worlds, in which a broken rule is shown with few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::admission!(super::MINE);
}
