//! Rejects large new items, each of which would evict many items.
//!
//! ```text
//! miss(x):  admit x if size(x) <= `largest`
//! ```
//! Source: Abrams, Standridge, Abdulla, Williams, Fox, "Caching proxies: limitations and potentials", WWW 1995:
//! LRU-Threshold.

use ssdlab_core::{Parameter, Unit};

use super::{Admission, AdmissionInfo, AdmissionRules, guarded};
use crate::Access;

pub(super) static INFO: AdmissionInfo = AdmissionInfo {
    name: "size",
    help: "Admits small items.",
    source: "Abrams et al., WWW 1995",
    parameters: &[Parameter::new(
        "largest",
        Unit::Count("units of the cache capacity"),
        1 << 20,
        [1, u32::MAX as u64],
        "Maximum size of an admitted item, in bytes; pages and other items without sizes have size 1.",
    )],
    role: AdmissionRules {
        sizes: true,
        guard: |settings, policy| guarded(Size { largest: settings.get("largest") }, policy),
    },
};

#[derive(Debug)]
struct Size {
    largest: u64,
}

impl Admission for Size {
    fn admits(&mut self, access: Access) -> bool {
        u64::from(access.size) <= self.largest
    }

    fn bytes(&self) -> usize {
        0
    }
}
