//! Goal: maps in flash look up, load and write back what their descriptions say. Method: a slow twin of the caches,
//! made of lists that are searched from end to end, follows random requests on random devices. From the FTL it hears
//! what collection moves and when a map page is programmed; it says which look-up hits, what is loaded, what is written
//! back and what is rewritten, and that must be what the FTL does, in this order.

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
/// Entries of a map page.
const ENTRIES: u32 = PAGE_BYTES / ENTRY_BYTES;

/// What happens to a map, in the order in which it happens.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    LookedUp {
        hit: bool,
    },
    WrittenBack(u32),
    Loaded(u32),
    /// By collection.
    Rewritten(u32),
    /// A page of data, by collection.
    Moved(u32),
    /// A victim's block, after its map pages are rewritten.
    Erased,
    /// A page of the host, programmed.
    Written(u32),
}

impl Event {
    /// Whether it is the map's doing, not what it hears of.
    fn is_of_map(&self) -> bool {
        matches!(self, Self::LookedUp { .. } | Self::WrittenBack(_) | Self::Loaded(_) | Self::Rewritten(_))
    }
}

#[derive(Default)]
struct Log {
    events: Vec<Event>,
    logical_pages: u32,
    /// The map page that each flash page holds.
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

/// Which cached item gives way: lists of items, the next to give way first.
#[derive(Clone, Debug)]
enum Order {
    Lru(Vec<u32>),
    Fifo(Vec<u32>),
    /// Each with whether it was used since the hand passed; the hand is before the first.
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

/// Moves an item to the end of a list; false if it is not in it.
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
            other => panic!("write the slow twin of {other}"),
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

    /// A cached item is used.
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

    /// An item comes in; the one that gives way to it, if there are `capacity` already.
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

/// A map cache of items: parts of map pages that come and go together.
#[derive(Clone, Debug)]
struct Twin {
    order: Order,
    capacity: usize,
    /// Entries of an item.
    entries: u32,
    /// Whether a map page that is written back takes all its dirty items with it.
    together: bool,
    dirty: BTreeSet<u32>,
    /// Pages that hold data of the host.
    mapped: BTreeSet<u32>,
    /// Map pages that have been programmed.
    in_flash: BTreeSet<u32>,
    /// Map pages to be rewritten for the victim under way.
    outdated: BTreeSet<u32>,
    /// The map pages to be written back and, after that, loaded for the look-up under way.
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
            // Not before room is made for the program, in the course of which others may be rewritten.
            Some(victim) => self.to_write_back = Some(self.page_of(victim)),
            None => self.load(),
        }
    }

    /// A page that was never programmed has nothing to load.
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
        assert!(self.order.cached().contains(&item), "what changes was looked up");
        self.dirty.insert(item);
    }

    fn written(&mut self, lpn: u32) {
        self.mapped.insert(lpn);
        self.changed(lpn);
    }

    /// The entry of a page that is nowhere stays what it is.
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

    /// What the map does on these requests, given what it hears in `events`.
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

/// What the FTL does with its map on these requests, and what the twin says that it does.
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
    ftl.check().expect("sound books");
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
    fn dftl_does_what_its_slow_twin_does(
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
    fn segments_do_what_their_slow_twin_does(
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
