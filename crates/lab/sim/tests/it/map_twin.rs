//! Goal: maps in flash look up, load and write back as documented. Method: a slow twin of the map caches, made of plain
//! lists, follows random requests on random devices. The FTL reports to the twin the pages that collection moves and
//! the programs of map pages. The twin predicts the hits, loads, write-backs and rewrites, which must equal those of
//! the FTL in the same order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ssdlab_core::parameter::percent;
use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::map::cache::POLICIES;
use ssdlab_ftl::map::{Dftl, MapChoice, MapModel, SegmentCache, dftl, segments};
use ssdlab_ftl::page::{PageFtl, PageOptions};
use ssdlab_ftl::{Ftl, Shape, WriteContext};
use ssdlab_nand::{Cause, FlashSink, Note, ProgramOrder, Source, SpareArea};
use ssdlab_testkit::strategies::page_options;

const PAGE_BYTES: u32 = 64;
const ENTRY_BYTES: u32 = 4;
/// Number of entries per map page.
const ENTRIES: u32 = PAGE_BYTES / ENTRY_BYTES;

/// Event of a map.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    LookedUp {
        hit: bool,
    },
    WrittenBack(u32),
    Loaded(u32),
    /// Garbage collection rewrote the map page.
    Rewritten(u32),
    /// Garbage collection moved the data page.
    Moved(u32),
    /// The block of a victim was erased, after its map pages were rewritten.
    Erased,
    /// A page written by the host was programmed.
    Written(u32),
}

impl Event {
    /// True if the map causes this event; false if the FTL reports the event to the map.
    fn is_of_map(&self) -> bool {
        matches!(self, Self::LookedUp { .. } | Self::WrittenBack(_) | Self::Loaded(_) | Self::Rewritten(_))
    }
}

#[derive(Default)]
struct Log {
    events: Vec<Event>,
    logical_pages: u32,
    /// Map page in each flash page.
    map_pages: BTreeMap<Ppn, u32>,
}

impl FlashSink for Log {
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    fn read_part(&mut self, ppn: Ppn, _bytes: u32, cause: Cause) {
        if cause == Cause::MapLoad {
            self.events.push(Event::Loaded(self.map_pages[&ppn]));
        }
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, _source: Source, cause: Cause) {
        let map_page = oob.lpn.0.wrapping_sub(self.logical_pages);
        match cause {
            Cause::Host => self.events.push(Event::Written(oob.lpn.0)),
            Cause::Gc => self.events.push(Event::Moved(oob.lpn.0)),
            Cause::MapWriteBack => self.events.push(Event::WrittenBack(map_page)),
            Cause::MapUpdate => self.events.push(Event::Rewritten(map_page)),
            Cause::MapGc => {}
            other => panic!("page mapping does not program for {other:?}"),
        }
        if oob.lpn.0 >= self.logical_pages {
            self.map_pages.insert(ppn, map_page);
        }
    }

    fn erase(&mut self, _block: BlockId, cause: Cause) {
        if cause == Cause::Gc {
            self.events.push(Event::Erased);
        }
    }

    fn note(&mut self, note: Note) {
        if let Note::LookedUp { hit, .. } = note {
            self.events.push(Event::LookedUp { hit });
        }
    }
}

/// Replacement order of cached items: lists of items, the next victim first.
#[derive(Clone, Debug)]
enum Order {
    Lru(Vec<u32>),
    Fifo(Vec<u32>),
    /// Items, each with a flag: true if it was used since the hand passed. The hand points to the first item.
    Clock(Vec<(u32, bool)>),
    TwoQ {
        newcomers: Vec<u32>,
        remembered: Vec<u32>,
        main: Vec<u32>,
    },
    /// DFTL's segmented LRU.
    Segmented {
        probation: Vec<u32>,
        protected: Vec<u32>,
        most_protected: usize,
    },
}

/// Moves an item to the end of a list; returns false if the list lacks the item.
fn renew(list: &mut Vec<u32>, item: u32) -> bool {
    let before = list.len();
    list.retain(|&one| one != item);
    let found = list.len() < before;
    if found {
        list.push(item);
    }
    found
}

impl Order {
    fn named(policy: &str) -> Self {
        match policy {
            "lru" => Self::Lru(Vec::new()),
            "fifo" => Self::Fifo(Vec::new()),
            "clock" => Self::Clock(Vec::new()),
            "two_q" => Self::TwoQ { newcomers: Vec::new(), remembered: Vec::new(), main: Vec::new() },
            other => panic!("the policy {other} has no slow twin; add one"),
        }
    }

    fn cached(&self) -> Vec<u32> {
        match self {
            Self::Lru(items) | Self::Fifo(items) => items.clone(),
            Self::Clock(items) => items.iter().map(|&(item, _)| item).collect(),
            Self::TwoQ { newcomers, main, .. } => [newcomers.as_slice(), main].concat(),
            Self::Segmented { probation, protected, .. } => [probation.as_slice(), protected].concat(),
        }
    }

    /// Records a use of a cached item.
    fn hit(&mut self, item: u32) {
        match self {
            Self::Fifo(_) => {}
            Self::Lru(items) => assert!(renew(items, item)),
            Self::Clock(items) => items.iter_mut().filter(|one| one.0 == item).for_each(|one| one.1 = true),
            Self::TwoQ { main, .. } => drop(renew(main, item)),
            Self::Segmented { probation, protected, most_protected } => {
                if *most_protected == 0 {
                    assert!(renew(probation, item));
                } else if !renew(protected, item) {
                    probation.retain(|&one| one != item);
                    protected.push(item);
                    if protected.len() > *most_protected {
                        probation.push(protected.remove(0));
                    }
                }
            }
        }
    }

    /// Inserts an item. Returns the victim, if the cache already holds `capacity` items.
    fn admit(&mut self, item: u32, capacity: usize) -> Option<u32> {
        let full = self.cached().len() == capacity;
        match self {
            Self::Lru(items) | Self::Fifo(items) | Self::Segmented { probation: items, .. } => {
                let victim = full.then(|| items.remove(0));
                items.push(item);
                victim
            }
            Self::Clock(items) => {
                while full && items[0].1 {
                    let spared = items.remove(0).0;
                    items.push((spared, false));
                }
                let victim = full.then(|| items.remove(0).0);
                items.push((item, false));
                victim
            }
            Self::TwoQ { newcomers, remembered, main } => {
                let came_back = remembered.contains(&item);
                let victim = full.then(|| {
                    if newcomers.len() > (capacity / 4).max(1) || main.is_empty() {
                        let victim = newcomers.remove(0);
                        remembered.push(victim);
                        if remembered.len() > (capacity / 2).max(1) {
                            remembered.remove(0);
                        }
                        victim
                    } else {
                        main.remove(0)
                    }
                });
                remembered.retain(|&one| one != item);
                if came_back {
                    main.push(item)
                } else {
                    newcomers.push(item)
                };
                victim
            }
        }
    }
}

/// A map cache of items. An item is a part of a map page that is cached as a whole.
#[derive(Clone, Debug)]
struct Twin {
    order: Order,
    capacity: usize,
    /// Number of entries per item.
    entries: u32,
    /// True if the write-back of a map page cleans all its dirty items.
    together: bool,
    dirty: BTreeSet<u32>,
    /// Logical pages that hold data.
    mapped: BTreeSet<u32>,
    /// Map pages that have been programmed.
    in_flash: BTreeSet<u32>,
    /// Map pages to rewrite for the current victim.
    outdated: BTreeSet<u32>,
    /// Map page to write back for the current look-up; `to_load` is the map page to load afterwards.
    to_write_back: Option<u32>,
    to_load: Option<u32>,
    expected: Vec<Event>,
}

impl Twin {
    fn new(order: Order, capacity: usize, entries: u32, together: bool) -> Self {
        let (dirty, mapped, in_flash, outdated) = Default::default();
        let (to_write_back, to_load, expected) = (None, None, Vec::new());
        Self { order, capacity, entries, together, dirty, mapped, in_flash, outdated, to_write_back, to_load, expected }
    }

    fn page_of(&self, item: u32) -> u32 {
        item * self.entries / ENTRIES
    }

    fn look_up(&mut self, lpn: u32) {
        let item = lpn / self.entries;
        let hit = self.order.cached().contains(&item);
        self.expected.push(Event::LookedUp { hit });
        if hit {
            return self.order.hit(item);
        }
        self.to_load = Some(self.page_of(item));
        match self.order.admit(item, self.capacity).filter(|victim| self.dirty.remove(victim)) {
            // The write-back waits until the FTL has made room for the program, which may rewrite other map pages.
            Some(victim) => self.to_write_back = Some(self.page_of(victim)),
            None => self.load(),
        }
    }

    /// Loads the map page; a map page that was never programmed needs no load.
    fn load(&mut self) {
        let page = self.to_load.take();
        self.expected.extend(page.filter(|page| self.in_flash.contains(page)).map(Event::Loaded));
    }

    fn write_back(&mut self) {
        if let Some(page) = self.to_write_back.take() {
            self.expected.push(Event::WrittenBack(page));
            self.programmed(page);
            self.load();
        }
    }

    fn changed(&mut self, lpn: u32) {
        let item = lpn / self.entries;
        assert!(self.order.cached().contains(&item), "only an entry that was looked up changes");
        self.dirty.insert(item);
    }

    fn written(&mut self, lpn: u32) {
        self.mapped.insert(lpn);
        self.changed(lpn);
    }

    /// Records a trim; the entry of an unmapped page does not change.
    fn trimmed(&mut self, lpn: u32) {
        if self.mapped.remove(&lpn) {
            self.changed(lpn);
        }
    }

    fn programmed(&mut self, page: u32) {
        self.in_flash.insert(page);
        if self.together {
            let (entries, all) = (self.entries, std::mem::take(&mut self.dirty));
            self.dirty = all.into_iter().filter(|item| item * entries / ENTRIES != page).collect();
        }
    }

    fn moved(&mut self, lpn: u32) {
        let item = lpn / self.entries;
        if self.order.cached().contains(&item) {
            self.dirty.insert(item);
        } else {
            self.outdated.insert(self.page_of(item));
        }
    }

    /// Returns the events that the map must cause for the accesses `uses`, given the `events` of the FTL.
    fn follow(mut self, uses: &[(u32, Use)], events: &[Event]) -> Vec<Event> {
        let mut uses = uses.iter().copied();
        let mut trimmed = None;
        for event in events {
            match *event {
                Event::LookedUp { .. } => {
                    self.write_back();
                    trimmed.into_iter().for_each(|lpn| self.trimmed(lpn));
                    let Some((lpn, kind)) = uses.next() else { return self.expected };
                    self.look_up(lpn);
                    trimmed = (kind == Use::Trim).then_some(lpn);
                }
                Event::WrittenBack(_) => self.write_back(),
                Event::Moved(lpn) => self.moved(lpn),
                Event::Erased => {
                    for page in std::mem::take(&mut self.outdated) {
                        self.expected.push(Event::Rewritten(page));
                        self.programmed(page);
                    }
                }
                Event::Written(lpn) => self.written(lpn),
                Event::Loaded(_) | Event::Rewritten(_) => {}
            }
        }
        self.write_back();
        assert_eq!(uses.next(), None, "every page is looked up");
        self.expected
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Use {
    Read,
    Write,
    Trim,
}

/// Returns the map events of the FTL for these requests, and the events that the twin predicts.
fn both<M: MapModel>(
    map: M,
    twin: Twin,
    (options, pages_per_block, data_blocks, spare_blocks): (PageOptions, u32, u32, u32),
    requests: &[(u32, u32, Use)],
) -> (Vec<Event>, Vec<Event>) {
    let logical_pages = data_blocks * pages_per_block;
    let blocks = data_blocks + spare_blocks + options.device_reserve_blocks(1, map.pages(), pages_per_block);
    let (order, planes) = (ProgramOrder::Ascending, 1);
    let shape =
        Shape { logical_pages, page_bytes: PAGE_BYTES, blocks, pages_per_block, order, planes, program_unit: 1 };
    let preloaded = map.preload().min(logical_pages);
    let mut ftl = PageFtl::with_map(shape, options, map, 1).expect("large enough");
    let mut log = Log { logical_pages, ..Log::default() };
    let mut uses: Vec<(u32, Use)> = (0..preloaded).map(|lpn| (lpn, Use::Read)).collect();
    ftl.preload(&mut log);
    for &(page, count, kind) in requests {
        let lpn = page % logical_pages;
        let count = count.min(logical_pages - lpn);
        uses.extend((lpn..lpn + count).map(|lpn| (lpn, kind)));
        match kind {
            Use::Read => drop(ftl.read(Lpn(lpn), count, Cause::Host, &mut log)),
            Use::Write => ftl.write(Lpn(lpn), count, WriteContext::default(), &mut log),
            Use::Trim => ftl.trim(Lpn(lpn), count, &mut log),
        }
    }
    ftl.check().expect("consistent state");
    let expected = twin.follow(&uses, &log.events);
    (log.events.into_iter().filter(Event::is_of_map).collect(), expected)
}

fn dftl_choice(entries: u64, protected: u64, batch: bool) -> (MapChoice, Twin) {
    let changes = [("cmt", entries), ("protected", protected), ("batch", batch.into())];
    let choice = dftl::INFO.set(&changes).expect("in range");
    let most_protected = dftl::protected(&choice) as usize;
    let order = Order::Segmented { probation: Vec::new(), protected: Vec::new(), most_protected };
    (choice, Twin::new(order, entries as usize, 1, batch))
}

fn segment_choice(segment_entries: u32, count: u64, policy: usize, preload: bool) -> (MapChoice, Twin) {
    let bytes = u64::from(segment_entries * ENTRY_BYTES);
    let changes =
        [("cache", bytes * count), ("segment", bytes), ("policy", policy as u64), ("preload", preload.into())];
    let choice = segments::INFO.set(&changes).expect("in range");
    (choice, Twin::new(Order::named(POLICIES[policy].name), count as usize, segment_entries, true))
}

fn worlds() -> impl Strategy<Value = (PageOptions, u32, u32, u32)> {
    (page_options(), 2_u32..9, 1_u32..13, 0_u32..3)
}

fn requests() -> impl Strategy<Value = Vec<(u32, u32, Use)>> {
    let kind = prop_oneof![4 => Just(Use::Write), 3 => Just(Use::Read), 1 => Just(Use::Trim)];
    proptest::collection::vec((prop_oneof![0_u32..100, 0_u32..12], 1_u32..4, kind), 1..300)
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(300))]

    #[test]
    fn dftl_equals_its_slow_twin(
        world in worlds(),
        entries in 1_u64..24,
        protected in 0_u64..100,
        batch in any::<bool>(),
        requests in requests(),
    ) {
        let (choice, twin) = dftl_choice(entries, percent(protected), batch);
        let map = Dftl::new(world.1 * world.2, PAGE_BYTES, &choice).expect("a sound table");
        let (done, expected) = both(map, twin, world, &requests);
        prop_assert_eq!(done, expected);
    }

    #[test]
    fn segment_caches_equal_their_slow_twin(
        world in worlds(),
        shift in 0_u32..5,
        count in 1_u64..12,
        policy in 0..POLICIES.len(),
        preload in any::<bool>(),
        requests in requests(),
    ) {
        let (choice, twin) = segment_choice(1 << shift, count, policy, preload);
        let map = SegmentCache::new(world.1 * world.2, PAGE_BYTES, &choice).expect("a sound cache");
        let (done, expected) = both(map, twin, world, &requests);
        prop_assert_eq!(done, expected);
    }
}
