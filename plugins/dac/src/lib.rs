//! DAC (dynamic data clustering): each page belongs to a region, from cold to hot; pages of a region share open blocks.
//!
//! ```text
//! host page:       first write: region 0;  later: one region hotter, up to the hottest region
//!                  with `age`: only if the page was written at most `age` host pages ago, else its region stays
//! relocated page:  one region colder, down to 0
//! ```
//! Source: Chiang, Lee, Chang, "Using data clustering to improve cleaning performance for flash memory", Software:
//! Practice and Experience 29(3), 1999; the form without ages follows SepBIT's simulator (FAST 2022).

use ssdlab::placement::{self, ByPage, Placement, PlacementInfo, PlacementRules, WriteContext};
use ssdlab::{Archive, Archived, Lpn, NameTaken, Parameter, Settings, Unit};

/// Adds the policy to ssdlab. The setting `ftl.page.survivors=dac` then selects it.
///
/// # Errors
/// Fails if another placement policy already has this name.
pub fn register() -> Result<(), NameTaken> {
    placement::register(&DAC)
}

const REGIONS: Parameter =
    Parameter::new("regions", Unit::Count("regions"), 6, [2, 15], "Number of regions, each with an open block.")
        .example(4);

const AGE: Parameter = Parameter::new(
    "age",
    Unit::Count("pages"),
    0,
    [0, u32::MAX as u64],
    "A page becomes hotter only if its previous write was at most this many host page writes ago; 0 sets no limit.",
)
.example(10_000);

/// Registry entry of this placement policy.
static DAC: PlacementInfo = PlacementInfo {
    name: "dac",
    help: "regions from cold to hot: a write makes a page hotter, a relocation makes it colder",
    source: "Chiang et al., Software: Practice and Experience 1999",
    parameters: &[REGIONS, AGE],
    role: PlacementRules {
        own_gc_block: false,
        by_page: Some(ByPage {
            open_blocks: &|settings| settings.get(REGIONS.name) as u8,
            build: &|settings, logical_pages| Box::new(Dac::new(settings, logical_pages)),
        }),
    },
};

/// Region number assigned to pages that were never written.
const NEW: u8 = u8::MAX;

/// State of the DAC policy; `region` has the region number of each page.
struct Dac {
    hottest: u8,
    age: u32,
    region: Vec<u8>,
    /// For each page, the number of host page writes before the latest write of this page, modulo 2^32. Empty if `age`
    /// is 0.
    written: Vec<u32>,
}

impl Dac {
    fn new(settings: &Settings, logical_pages: u32) -> Self {
        let age = settings.get(AGE.name) as u32;
        Self {
            hottest: settings.get(REGIONS.name) as u8 - 1,
            age,
            region: vec![NEW; logical_pages as usize],
            written: vec![0; if age > 0 { logical_pages as usize } else { 0 }],
        }
    }
}

impl Placement for Dac {
    fn written(&mut self, lpn: Lpn, _context: WriteContext, now: u64) -> u8 {
        let is_young = match self.written.get_mut(lpn.index()) {
            Some(written) => (now as u32).wrapping_sub(std::mem::replace(written, now as u32)) <= self.age,
            None => true,
        };
        let region = &mut self.region[lpn.index()];
        *region = match *region {
            NEW => 0,
            region if is_young => self.hottest.min(region + 1),
            region => region,
        };
        *region
    }

    fn relocated(&mut self, lpn: Lpn, _now: u64) -> u8 {
        let region = &mut self.region[lpn.index()];
        *region = if *region == NEW { 0 } else { region.saturating_sub(1) };
        *region
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { hottest: _, age: _, region, written } = self;
        archive.value(region)?;
        archive.array(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab::simulate;

    fn dac(regions: u64, age: u64) -> Dac {
        Dac::new(&Settings::with(&[REGIONS, AGE], &[regions, age]), 4)
    }

    #[test]
    fn pages_move_up_when_written_and_down_when_relocated() {
        let mut dac = dac(3, 0);
        let write = |dac: &mut Dac, lpn| dac.written(Lpn(lpn), WriteContext::default(), 0);
        assert_eq!([0, 0, 0, 0].map(|lpn| write(&mut dac, lpn)), [0, 1, 2, 2]);
        assert_eq!([0, 0, 0, 0].map(|lpn| dac.relocated(Lpn(lpn), 0)), [1, 0, 0, 0]);
        assert_eq!(write(&mut dac, 0), 1);
        assert_eq!(write(&mut dac, 1), 0);
        // A page that was written before a power loss has lost its region.
        assert_eq!(dac.relocated(Lpn(2), 0), 0);
    }

    #[test]
    fn only_young_pages_become_hotter() {
        let mut dac = dac(3, 10);
        let regions = [0, 10, 21, 31].map(|now| dac.written(Lpn(0), WriteContext::default(), now));
        assert_eq!(regions, [0, 1, 1, 2]);
    }

    /// Checks that regions reduce the number of copies, compared with one open block for the host and one for garbage
    /// collection. The simulation checks every operation and every page read.
    #[test]
    fn regions_copy_less_under_skew() {
        register().unwrap();
        let drive = ["device.capacity=64MiB", "nand.pages_per_block=32", "device.op=20%", "workload.requests=60000"];
        let amplification = |policy: &str| {
            let settings = [&drive[..], &["workload.pattern=zipf", "workload.reads=10%", policy]].concat();
            let summary = simulate(&settings).unwrap();
            assert!(summary.check.unwrap().page_reads_checked > 0);
            summary.write_amplification.unwrap()
        };
        assert!(amplification("ftl.page.survivors=dac") < amplification("ftl.page.survivors=own"));
    }
}

#[cfg(test)]
mod conformance {
    ssdlab_conformance::placement!(super::DAC);
}
