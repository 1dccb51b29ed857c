//! Goal: the spare areas identify the newest copy of each page, for every FTL. Method: flash that stores only spare
//! areas and trims. A scan by the rule of `SpareArea` must find the pages that the FTL looks up.

use proptest::prelude::*;
use ssdlab_core::{Lpn, Ppn};
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::{FlashOp, Role, Source, SpareArea};
use ssdlab_sim::Setup;
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_testkit::visit;
use ssdlab_trace::{Op, Request};

/// Contents of the spare area of a programmed page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Spare {
    lpn: u32,
    version: u64,
    sequence: u64,
    role: Role,
}

struct SpareAreas {
    pages: Vec<Option<Spare>>,
    pages_per_block: u32,
    /// Trims: first page, number of pages, sequence number.
    trims: Vec<(u32, u32, u64)>,
}

impl SpareAreas {
    fn take(&mut self, operations: impl Iterator<Item = FlashOp>) {
        for operation in operations {
            match operation {
                FlashOp::Program(ppn, oob, Source::Copy(from), _) | FlashOp::Copy(from, ppn, oob, _) => {
                    let version = self.pages[from.index()].expect("only programmed pages are copied").version;
                    self.program(ppn, oob, version);
                }
                FlashOp::Program(ppn, oob, Source::Host(_) | Source::Map | Source::Padding, _) => {
                    self.program(ppn, oob, oob.sequence)
                }
                FlashOp::Erase(block, _) => {
                    let first = block.index() * self.pages_per_block as usize;
                    self.pages[first..first + self.pages_per_block as usize].fill(None);
                }
                FlashOp::Trimmed(lpn, count, sequence) => self.trims.push((lpn.0, count, sequence)),
                _ => {}
            }
        }
    }

    fn program(&mut self, ppn: Ppn, SpareArea { lpn, sequence, role }: SpareArea, version: u64) {
        self.pages[ppn.index()] = Some(Spare { lpn: lpn.0, version, sequence, role });
    }

    /// Returns the newest copy of each logical page; `None` if the page was trimmed later.
    fn scan(&self, logical_pages: u32) -> Vec<Option<Ppn>> {
        let mut newest: Vec<Option<(u64, u64, Ppn)>> = vec![None; logical_pages as usize];
        for (ppn, spare) in (0..).map(Ppn).zip(&self.pages) {
            if let Some(spare) = spare.filter(|spare| spare.lpn < logical_pages) {
                let best = &mut newest[spare.lpn as usize];
                *best = (*best).max(Some((spare.version, spare.sequence, ppn)));
            }
        }
        for &(first, count, sequence) in &self.trims {
            for best in &mut newest[first as usize..(first + count) as usize] {
                *best = best.filter(|&(version, ..)| version > sequence);
            }
        }
        newest.into_iter().map(|best| best.map(|(.., ppn)| ppn)).collect()
    }
}

struct ScanAfterEach<'a> {
    setup: &'a Setup,
    requests: &'a [Request],
}

impl Visitor for ScanAfterEach<'_> {
    type Output = Result<(), String>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Result<(), String> {
        let Setup { geometry, logical_pages, .. } = *self.setup;
        let pages = vec![None; geometry.pages() as usize];
        let mut flash = SpareAreas { pages, pages_per_block: geometry.pages_per_block, trims: Vec::new() };
        let mut log: Vec<FlashOp> = Vec::new();
        for request in self.requests {
            let first = (request.offset / u64::from(geometry.page_bytes)) as u32 % logical_pages;
            let count = (request.bytes / geometry.page_bytes).clamp(1, logical_pages - first);
            match request.op {
                Op::Write => ftl.write(Lpn(first), count, WriteContext::default(), &mut log),
                Op::Trim => ftl.trim(Lpn(first), count, &mut log),
                _ => {
                    ftl.background(first % geometry.parallelism.planes(), 3, count, &mut log);
                }
            }
            flash.take(log.drain(..));
            let found = flash.scan(logical_pages);
            for (lpn, &found) in (0..).zip(&found) {
                let kept = ftl.lookup(Lpn(lpn));
                if found != kept {
                    return Err(format!("page {lpn}: {found:?} by the spare areas, but {kept:?} by the FTL"));
                }
                if let Some(spare) = kept.and_then(|ppn| flash.pages[ppn.index()])
                    && spare.role == Role::Map
                {
                    return Err(format!("page {lpn} is in a flash page with role {:?}", spare.role));
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(2_000))]

    #[test]
    fn the_newest_copy_is_known_from_spare_areas_alone(setup in setups(), requests in requests(200)) {
        prop_assert_eq!(visit(&setup, ScanAfterEach { setup: &setup, requests: &requests }), Ok(()));
    }
}
