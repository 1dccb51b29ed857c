//! Goal: a victim policy sees the true state of the blocks, and its list of changed blocks misses none. Method: random
//! requests; the policy compares its view with a slow model of the flash, and with copies that it updates for changed
//! blocks only.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ssdlab_core::{Archive, Archived, BlockId, Lpn, Ppn, Rng};
use ssdlab_ftl::blocks::{PlaneView, Uses};
use ssdlab_ftl::gc::{VictimInfo, VictimPolicy, greedy};
use ssdlab_ftl::map::{dftl, ram};
use ssdlab_ftl::page::{PageOptions, Trigger};
use ssdlab_ftl::placement::{PLACEMENTS, PlacementInfo, own};
use ssdlab_ftl::{DynFtl, FtlChoice, Shape, WriteContext};
use ssdlab_nand::{Cause, FlashSink, ProgramOrder, Role, Source, SpareArea};

/// Blocks of the flash as its operations leave them.
#[derive(Default)]
struct Model {
    pages_per_block: u32,
    /// Stream of the current request.
    writer: u16,
    /// Flash page with the newest copy of each logical page or map page.
    places: BTreeMap<u32, u32>,
    owners: BTreeMap<u32, u16>,
    roles: BTreeMap<u32, Role>,
    erases: BTreeMap<u32, u32>,
    /// Number of choices of a victim, number of blocks that were seen with another owner than 0 or with map pages, and
    /// number of choices after which some blocks had not changed.
    seen: [usize; 4],
}

impl FlashSink for Model {
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, _cause: Cause) {
        let block = ppn.0 / self.pages_per_block;
        self.places.insert(oob.lpn.0, ppn.0);
        if ppn.0.is_multiple_of(self.pages_per_block) {
            let owner = match source {
                Source::Host(_) => self.writer,
                Source::Copy(from) => self.owners[&(from.0 / self.pages_per_block)],
                Source::Map | Source::Padding => 0,
            };
            self.owners.insert(block, owner);
            self.roles.insert(block, oob.role);
        }
    }

    fn erase(&mut self, block: BlockId, _cause: Cause) {
        *self.erases.entry(block.0).or_default() += 1;
    }
}

thread_local! {
    static MODEL: RefCell<Model> = RefCell::default();
}

/// Passes operations to the model of this thread.
struct ToModel;

impl FlashSink for ToModel {
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        MODEL.with_borrow_mut(|model| model.program(ppn, oob, source, cause));
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        MODEL.with_borrow_mut(|model| model.erase(block, cause));
    }
}

/// Every property of a block.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    /// Number of valid pages; None if the block is not closed.
    valid: Option<u32>,
    pages: Vec<bool>,
    closed_at: u64,
    invalidated_at: u64,
    erases: u32,
    owner: u16,
    holds_map: bool,
}

fn seen(plane: PlaneView<'_>, block: u32) -> Seen {
    let at = (block - plane.blocks().start) as usize;
    let is_valid = |page| plane.valid_among(BlockId(block), page, 1) == 1;
    Seen {
        valid: plane.is_closed(BlockId(block)).then(|| plane.valid(BlockId(block))),
        pages: (0..plane.pages_per_block()).map(is_valid).collect(),
        closed_at: plane.closed_at(BlockId(block)),
        invalidated_at: plane.invalidation_times().expect("the policy uses them")[at],
        erases: plane.erase_counts()[at],
        owner: plane.owners().expect("the policy uses them")[at],
        holds_map: plane.holds_map(BlockId(block)),
    }
}

/// Compares what it sees, and chooses blocks at random.
struct Comparing {
    copies: BTreeMap<usize, Vec<Seen>>,
    rng: Rng,
}

impl VictimPolicy for Comparing {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        let all: Vec<Seen> = plane.blocks().map(|block| seen(plane, block)).collect();
        let changes = plane.changes().expect("the policy uses them");
        let copies = self.copies.entry(plane.number()).or_insert_with(|| all.clone());
        let mut unique = changes.to_vec();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), changes.len(), "{changes:?}");
        for &block in changes {
            copies[(block - plane.blocks().start) as usize] = seen(plane, block);
        }
        assert_eq!(*copies, all);
        MODEL.with_borrow_mut(|model| {
            model.compare(plane, &all);
            model.seen[3] += usize::from(changes.len() < all.len());
        });
        let gains = |&block: &BlockId| plane.is_closed(block) && plane.valid(block) < plane.pages_per_block();
        let good: Vec<BlockId> = plane.blocks().map(BlockId).filter(gains).collect();
        match good.len() as u64 {
            0 => plane.least_valid(),
            count => Some(good[self.rng.below(count) as usize]),
        }
    }

    fn uses(&self) -> Uses {
        Uses { invalidation_times: true, owners: true, changes: true }
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}

impl Model {
    fn compare(&mut self, plane: PlaneView<'_>, all: &[Seen]) {
        self.seen[0] += 1;
        let valid: BTreeSet<u32> = self.places.values().copied().collect();
        for (block, seen) in plane.blocks().zip(all) {
            assert_eq!(seen.erases, self.erases.get(&block).copied().unwrap_or(0), "block {block}");
            if seen.valid.is_none() {
                assert!(!seen.holds_map, "block {block}");
                continue;
            }
            let first = block * self.pages_per_block;
            let pages: Vec<bool> = (first..first + self.pages_per_block).map(|page| valid.contains(&page)).collect();
            assert_eq!(seen.pages, pages, "block {block}");
            assert_eq!(seen.valid, Some(pages.iter().filter(|&&valid| valid).count() as u32), "block {block}");
            assert_eq!(seen.owner, self.owners[&block], "block {block}");
            assert_eq!(seen.holds_map, self.roles[&block] == Role::Map, "block {block}");
            self.seen[1] += usize::from(seen.owner > 0);
            self.seen[2] += usize::from(seen.holds_map);
        }
    }
}

static COMPARING: VictimInfo = VictimInfo {
    name: "comparing",
    help: "",
    source: "",
    parameters: &[],
    role: &|_, seed| Box::new(Comparing { copies: BTreeMap::new(), rng: Rng::named(seed, "victims") }),
};

const LOGICAL_PAGES: u32 = 120;

fn device(
    planes: u32,
    placement: &'static PlacementInfo,
    trigger: Trigger,
    in_flash: bool,
) -> Result<Box<dyn DynFtl>, String> {
    let options = PageOptions {
        gc: COMPARING.defaults(),
        placement: placement.defaults(),
        trigger,
        ..PageOptions::new(greedy::INFO.defaults(), &own::INFO)
    };
    let map = if in_flash { dftl::INFO.set(&[("cmt", 8)]).expect("in range") } else { ram::INFO.defaults() };
    let choice = FtlChoice::Page(options, map);
    let shape = Shape {
        logical_pages: LOGICAL_PAGES,
        page_bytes: 64,
        blocks: 0,
        pages_per_block: 8,
        order: ProgramOrder::Ascending,
        planes,
        program_unit: 1,
    };
    let reserve = options.device_reserve_blocks(planes, choice.map_pages(LOGICAL_PAGES, 64), 8);
    let blocks = (LOGICAL_PAGES.div_ceil(8) + 3 + reserve).next_multiple_of(planes);
    choice.build_dyn(Shape { blocks, ..shape }, 1)
}

fn triggers() -> impl Strategy<Value = Trigger> {
    prop_oneof![
        Just(Trigger::Victim),
        Just(Trigger::Batch { low: 2, high: 4 }),
        Just(Trigger::Partial { low: 3, step: 2, every: 1 }),
    ]
}

/// Serves requests; returns [`Model::seen`].
fn serve(ftl: &mut dyn DynFtl, requests: &[(u8, u32, u32)]) -> [usize; 4] {
    MODEL.set(Model { pages_per_block: 8, ..Model::default() });
    for &(kind, first, pages) in requests {
        let count = (1 + pages).min(LOGICAL_PAGES - first);
        let stream = (first % 4) as u16;
        MODEL.with_borrow_mut(|model| model.writer = stream);
        match kind {
            // The map may collect garbage before the page is trimmed, but not after.
            0 => {
                ftl.trim_dyn(Lpn(first), 1, &mut ToModel);
                MODEL.with_borrow_mut(|model| model.places.remove(&first));
            }
            1 => drop(ftl.background_dyn(first % 2, 4, count, &mut ToModel)),
            _ => ftl.write_dyn(Lpn(first), count, WriteContext { stream, ..WriteContext::default() }, &mut ToModel),
        }
    }
    MODEL.with_borrow(|model| model.seen)
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(64))]

    #[test]
    fn views_are_true_and_changes_complete(
        planes in 1_u32..4,
        placement in prop::sample::select(PLACEMENTS.iter().copied().collect::<Vec<_>>()),
        trigger in triggers(),
        in_flash: bool,
        requests in prop::collection::vec((0_u8..12, 0..LOGICAL_PAGES, 0_u32..20), 0..400),
    ) {
        let mut ftl = device(planes, placement, trigger, in_flash).expect("large enough");
        serve(&mut *ftl, &requests.iter().map(|&(kind, first, pages)| {
            // Background work names a plane.
            if kind == 1 && planes < 2 { (2, first, pages) } else { (kind, first, pages) }
        }).collect::<Vec<_>>());
        prop_assert_eq!(ftl.check(), Ok(()));
    }
}

/// The comparisons above see what they compare: choices, owners and blocks of map pages.
#[test]
fn the_model_sees_every_property() {
    let mut rng = Rng::named(1, "requests");
    let mut request = || (2, rng.below(u64::from(LOGICAL_PAGES)) as u32, 0);
    let requests: Vec<_> = (0..2_000).map(|_| request()).collect();
    let mut ftl = device(2, &own::INFO, Trigger::Victim, true).expect("large enough");
    assert!(serve(&mut *ftl, &requests).iter().all(|&count| count > 100));
}

/// After loading a saved state, all blocks have changed: copies made before are out of date.
#[test]
fn a_loaded_state_keeps_owners_and_changes_all_blocks() {
    let mut rng = Rng::named(2, "requests");
    let mut requests = || (0..1_000).map(|_| (2, rng.below(u64::from(LOGICAL_PAGES)) as u32, 0)).collect::<Vec<_>>();
    let mut ftl = device(1, &own::INFO, Trigger::Victim, false).expect("large enough");
    serve(&mut *ftl, &requests());
    let mut state = Vec::new();
    ftl.archive(&mut Archive::Save(&mut state)).expect("it can be saved");
    let model = MODEL.take();
    let mut other = device(1, &own::INFO, Trigger::Victim, false).expect("large enough");
    serve(&mut *other, &requests());
    other.archive(&mut Archive::Load(&mut &state[..])).expect("it can be loaded");
    MODEL.set(model);
    for (_, page, _) in requests() {
        MODEL.with_borrow_mut(|model| model.writer = 5);
        other.write_dyn(Lpn(page), 1, WriteContext { stream: 5, ..WriteContext::default() }, &mut ToModel);
    }
    assert_eq!(other.check(), Ok(()));
}
