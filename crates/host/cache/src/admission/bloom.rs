//! Admits items on their second access. Two Bloom filters remember which items have been accessed once.
//!
//! ```text
//! miss(x):  x in A or B: admit x;  else: put x in A;  after `remembered` insertions: B = A, clear A
//! ```
//! Source: Maggs, Sitaraman, "Algorithmic nuggets in content delivery", ACM SIGCOMM CCR 45(3), 2015, section 4: cache
//! on second hit. The paper suggests alternating filters to forget old items. Sixteen bits and six probes per item give
//! a false-positive rate of 0.1 %. libCacheSim's admission policy of this name remembers every object in a table.

use ssdlab_core::{Parameter, Unit};

use super::{Admission, AdmissionInfo, AdmissionRules, guarded};
use crate::Access;
use crate::sketch::mix;

pub(super) static INFO: AdmissionInfo = AdmissionInfo {
    name: "bloom",
    help: "Admits items on their second access; two Bloom filters record the first accesses.",
    source: "Maggs, Sitaraman 2015",
    parameters: &[Parameter::new(
        "remembered",
        Unit::Count("items"),
        1 << 20,
        [1, 1 << 32],
        "Number of items added to the current Bloom filter before the older filter is cleared.",
    )],
    role: AdmissionRules {
        sizes: true,
        guard: |settings, policy| {
            let remembered = settings.get("remembered");
            let words = (remembered * BITS_OF_ITEM / 64).next_power_of_two().max(1);
            let filters = [vec![0; words as usize], vec![0; words as usize]];
            guarded(Bloom { filters, noted: 0, remembered }, policy)
        },
    },
};

const BITS_OF_ITEM: u64 = 16;
const PROBES: u64 = 6;

#[derive(Debug)]
struct Bloom {
    /// Current and previous Bloom filter.
    filters: [Vec<u64>; 2],
    /// Number of items added to the current filter so far.
    noted: u64,
    remembered: u64,
}

impl Bloom {
    fn bits_of(&self, item: u32) -> impl Iterator<Item = u64> + use<> {
        let hash = mix(u64::from(item));
        let (first, step, mask) = (hash & 0xFFFF_FFFF, hash >> 32 | 1, self.filters[0].len() as u64 * 64 - 1);
        (0..PROBES).map(move |probe| (first + step * probe) & mask)
    }
}

impl Admission for Bloom {
    fn admits(&mut self, access: Access) -> bool {
        let has =
            |filter: &Vec<u64>| self.bits_of(access.item).all(|bit| filter[(bit / 64) as usize] >> (bit % 64) & 1 == 1);
        if self.filters.iter().any(has) {
            return true;
        }
        for bit in self.bits_of(access.item) {
            self.filters[0][(bit / 64) as usize] |= 1 << (bit % 64);
        }
        self.noted += 1;
        if self.noted == self.remembered {
            self.filters.swap(0, 1);
            self.filters[0].fill(0);
            self.noted = 0;
        }
        false
    }

    fn bytes(&self) -> usize {
        self.filters.iter().map(|filter| size_of_val(&filter[..])).sum()
    }
}
