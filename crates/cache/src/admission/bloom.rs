//! Newcomers come in when they are asked for the second time, as far as two Bloom filters remember.
//!
//! ```text
//! miss(x):  x in A or B: it comes in;  else: put x in A;  after `remembered` of these: B = A, A is emptied
//! ```
//! Source: Maggs, Sitaraman, "Algorithmic nuggets in content delivery", ACM SIGCOMM CCR 45(3), 2015, section 4: cache
//! on second hit. The two filters that take turns are the way it says to forget; sixteen bits and six probes for each
//! item let one in a thousand in by mistake. libCacheSim's admission of this name remembers every object for ever, in a
//! table.

use ssdlab_core::{Parameter, Unit};

use super::{AdmissionInfo, AdmissionRules, Door, guarded};
use crate::Access;
use crate::sketch::mix;

pub(super) static INFO: AdmissionInfo = AdmissionInfo {
    name: "bloom",
    help: "Lets in what was asked for before, as far as two Bloom filters remember.",
    source: "Maggs, Sitaraman 2015",
    parameters: &[Parameter {
        name: "remembered",
        unit: Unit::Count("items"),
        default: 1 << 20,
        min: 1,
        max: 1 << 32,
        example: None,
        help: "New items after which the older filter is emptied.",
    }],
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
    /// The one that is filled, and the one before.
    filters: [Vec<u64>; 2],
    /// Items put into the first.
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

impl Door for Bloom {
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
