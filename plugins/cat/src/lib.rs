//! Two victim policies that consider wear: CAT and the victim rule of Rejuvenator.
//!
//! **CAT** (cost, age, times) is cost-benefit divided by the number of erases of the block:
//!
//! ```text
//! u(b) = valid(b) / pages per block;  age(b) = 1 + host pages written since b was closed
//! victim = argmax over closed b of (1 - u) * age / (u * max(erases, 1)); lowest block number on ties
//! ```
//! Source: Chiang, Lee, Chang, "Using data clustering to improve cleaning performance for flash memory", Software:
//! Practice and Experience 29(3), 1999.
//!
//! **Rejuvenator** collects the block with the fewest valid pages, but avoids worn blocks:
//!
//! ```text
//! worn(b) = erases(b) >= minimum erases of a closed block + window
//! victim = the closed block with the fewest valid pages among those that are not worn
//! at every `every`-th collection, if the block with the fewest valid pages is worn:
//!     collect all blocks with the fewest erases, one by one, so that their pages move to worn blocks
//! ```
//! A worn block is collected if the other blocks have no invalid pages. Source: Murugan, Du, "Rejuvenator: a static
//! wear leveling algorithm for NAND flash memory with minimized overhead", MSST 2011.

use std::collections::BTreeSet;

use ssdlab::victim::{self, PlaneView, VictimInfo, VictimPolicy};
use ssdlab::{Archive, Archived, BlockId, NameTaken, Parameter, Unit};

/// Adds the policies to ssdlab. The settings `ftl.page.gc=cat` and `ftl.page.gc=rejuvenator` then select them.
///
/// # Errors
/// Fails if another victim policy already has one of these names.
pub fn register() -> Result<(), NameTaken> {
    victim::register(&CAT)?;
    victim::register(&REJUVENATOR)
}

static CAT: VictimInfo = VictimInfo {
    name: "cat",
    help: "The block with the highest (1 - u) * age / (u * erases), where u is the share of valid pages.",
    source: "Chiang et al., Software: Practice and Experience 1999",
    parameters: &[],
    role: &|_, _| Box::new(Cat),
};

const WINDOW: Parameter = Parameter::new(
    "window",
    Unit::Count("erases"),
    20,
    [1, 1_000_000],
    "A block is worn if it has at least this many more erases than the block with the fewest erases.",
)
.example(5);

const EVERY: Parameter = Parameter::new(
    "every",
    Unit::Count("collections"),
    100,
    [1, 1_000_000],
    "The policy considers collecting the least worn blocks once in this many collections.",
)
.example(10);

static REJUVENATOR: VictimInfo = VictimInfo {
    name: "rejuvenator",
    help: "The block with the fewest valid pages among blocks that are not worn.",
    source: "Murugan and Du, MSST 2011",
    parameters: &[WINDOW, EVERY],
    role: &|settings, _| {
        Box::new(Rejuvenator {
            window: settings.get(WINDOW.name) as u32,
            every: settings.get(EVERY.name),
            collections: 0,
            due: BTreeSet::new(),
        })
    },
};

fn closed_blocks(plane: PlaneView<'_>) -> impl Iterator<Item = BlockId> {
    plane.blocks().map(BlockId).filter(move |&block| plane.is_closed(block))
}

fn erases(plane: PlaneView<'_>, block: BlockId) -> u32 {
    plane.erase_counts()[(block.0 - plane.blocks().start) as usize]
}

/// The policy CAT (cost, age, times).
struct Cat;

/// Returns the CAT score of a block; `u` is its share of valid pages. The block with the highest score is collected.
fn score(u: f64, age: f64, erases: u32) -> f64 {
    (1.0 - u) * age / (u * f64::from(erases.max(1)))
}

impl VictimPolicy for Cat {
    fn choose(&mut self, plane: PlaneView<'_>, now: u64) -> Option<BlockId> {
        let mut best = None;
        let mut best_score = f64::NEG_INFINITY;
        for block in closed_blocks(plane) {
            let u = f64::from(plane.valid(block)) / f64::from(plane.pages_per_block());
            if u == 0.0 {
                return Some(block); // A block without valid pages costs nothing to collect.
            }
            let score = score(u, (now - plane.closed_at(block) + 1) as f64, erases(plane, block));
            if score > best_score {
                best_score = score;
                best = Some(block);
            }
        }
        best
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}

/// The victim policy of Rejuvenator.
struct Rejuvenator {
    window: u32,
    every: u64,
    collections: u64,
    /// Blocks, on any plane, that are due for collection because they were the least worn of their plane.
    due: BTreeSet<u32>,
}

impl VictimPolicy for Rejuvenator {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        let best = plane.least_valid()?;
        self.collections += 1;
        let least = closed_blocks(plane).map(|block| erases(plane, block)).min()?;
        let is_worn = |block: BlockId| erases(plane, block) >= least + self.window;
        if is_worn(best) && self.collections.is_multiple_of(self.every) {
            self.due.extend(closed_blocks(plane).filter(|&block| erases(plane, block) == least).map(|block| block.0));
        }
        while let Some(&block) = self.due.range(plane.blocks()).next() {
            self.due.remove(&block);
            if plane.is_closed(BlockId(block)) {
                return Some(BlockId(block));
            }
        }
        let spared = closed_blocks(plane).filter(|&block| !is_worn(block)).min_by_key(|&block| plane.valid(block));
        spared.filter(|&block| plane.valid(block) < plane.pages_per_block()).or(Some(best))
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { window: _, every: _, collections, due } = self;
        archive.value(collections)?;
        archive.value(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab::simulate;
    use ssdlab::victim::{Allocation, ClosedBlocks};

    const PAGES: u32 = 4;

    /// Returns a plane of closed blocks. Each block is given by its erases, valid pages and closing time.
    fn plane(blocks: &[(u32, u32, u64)]) -> ClosedBlocks {
        let mut table = ClosedBlocks::new(blocks.len() as u32, 1, PAGES, Allocation::Fifo);
        for (block, &(erases, ..)) in (0..).map(BlockId).zip(blocks) {
            let mut left = erases;
            while left > 0 {
                let taken = table.take(0);
                if taken == block {
                    table.release(taken);
                    left -= 1;
                } else {
                    table.give_back(taken);
                }
            }
        }
        for _ in blocks {
            let block = table.open(0);
            let (_, valid, closed_at) = blocks[block.index()];
            (valid..PAGES).for_each(|page| table.invalidate(block.0 * PAGES + page, block, 0));
            table.close(block, closed_at);
        }
        table
    }

    /// Tests three blocks with valid shares of 1/4, 1/2 and 3/4, ages 10, 40 and 200, and 1, 2 and 5 erases. Their
    /// cost-benefit scores, (1 - u) age / 2u, are 15, 20 and 33.33.
    #[test]
    fn cat_prefers_blocks_with_few_erases() {
        let scores = [(0.25, 10.0, 1), (0.5, 40.0, 2), (0.75, 200.0, 5)].map(|(u, age, erases)| score(u, age, erases));
        assert_eq!(scores.map(|score| (score * 100.0).round() / 100.0), [30.0, 20.0, 13.33]);
        // With `now` at 200, a block closed at 191 has the age 10.
        let table = plane(&[(1, 1, 191), (2, 2, 161), (5, 3, 1)]);
        assert_eq!(Cat.choose(table.plane(0), 200), Some(BlockId(0)));
        // With 5 erases each, the oldest block has the highest score.
        let table = plane(&[(5, 1, 191), (5, 2, 161), (5, 3, 1)]);
        assert_eq!(Cat.choose(table.plane(0), 200), Some(BlockId(2)));
    }

    #[test]
    fn a_block_without_valid_pages_comes_first() {
        let table = plane(&[(0, 1, 0), (9, 0, 199)]);
        assert_eq!(Cat.choose(table.plane(0), 200), Some(BlockId(1)));
    }

    /// Block 0 has the fewest valid pages, but has 5 erases more than the least worn block. Every second collection
    /// instead empties the blocks with the fewest erases.
    #[test]
    fn rejuvenator_spares_worn_blocks() {
        let policy = |window, every| Rejuvenator { window, every, collections: 0, due: BTreeSet::new() };
        let table = plane(&[(5, 1, 0), (1, 3, 0), (0, 4, 0), (0, 4, 0)]);
        let mut worn = policy(5, 2);
        let chosen: Vec<u32> = (0..4).filter_map(|_| worn.choose(table.plane(0), 0)).map(|block| block.0).collect();
        assert_eq!(chosen, [1, 2, 3, 2]);
        assert_eq!(policy(6, 2).choose(table.plane(0), 0), Some(BlockId(0)));
        // The other blocks have no invalid pages.
        assert_eq!(policy(5, 100).choose(plane(&[(5, 1, 0), (0, 4, 0)]).plane(0), 0), Some(BlockId(0)));
    }

    /// Simulates skewed writes; the simulation checks every operation and every page read.
    #[test]
    fn skewed_writes_lose_nothing() {
        register().unwrap();
        let drive = ["device.capacity=32MiB", "nand.pages_per_block=64", "workload.requests=20000"];
        for policy in ["ftl.page.gc=cat", "ftl.page.gc.rejuvenator.window=2"] {
            let settings = [&drive[..], &["workload.pattern=zipf", "workload.reads=30%", policy]].concat();
            let summary = simulate(&settings).unwrap();
            assert!(summary.check.unwrap().page_reads_checked > 0);
        }
    }
}

#[cfg(test)]
mod conformance {
    mod cat {
        ssdlab_conformance::victim!(crate::CAT);
    }
    mod rejuvenator {
        ssdlab_conformance::victim!(crate::REJUVENATOR);
    }
}
