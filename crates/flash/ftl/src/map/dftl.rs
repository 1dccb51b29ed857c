//! DFTL: a map stored in translation pages in flash. Individual entries are cached in RAM.
//!
//! ```text
//! look_up(lpn):  entry in the CMT: a hit; move it from probation to protection, or to the new end there
//!                else: evict the oldest entry on probation; if it is dirty, read and write its translation page,
//!                together with (batch) all dirty entries of that page, which become clean; read the entry's
//!                translation page; put the entry on probation
//! changed(lpn):  the entry becomes dirty
//! moved(lpn):    in the CMT: changed only there (lazy copying);  else rewrite its translation page, once for all pages
//!                of a victim
//! ```
//! CMT is the cached mapping table, a segmented LRU. The global translation directory (GTD), 4 bytes per translation
//! page, is in RAM.
//!
//! Source: Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective caching of
//! page-level address mappings", ASPLOS 2009. Without batch update, this map evicts entries like the authors'
//! simulator.

use std::io;

use ssdlab_core::mem::prefetch;
use ssdlab_core::parameter::percent;
use ssdlab_core::{Archive, Archived, Entry, HugeVec, Lpn, Parameter, Settings, Unit};

use super::{CachedEntries, Lookup, MapInfo, MapModel, MapRules};

const NONE: u32 = u32::MAX;
/// Size of a cached entry in bytes: a logical and a physical page number.
const CACHED_BYTES: u64 = 8;

/// Registry entry of this map.
pub static INFO: MapInfo = MapInfo {
    name: "dftl",
    help: "DFTL: map in flash, with individual entries cached in RAM",
    source: "Gupta et al., ASPLOS 2009",
    parameters: &[CMT, PROTECTED, BATCH, ENTRY],
    role: MapRules { pages, problems: |_, _| Vec::new(), build: None },
};

/// The default is 64 KB, as in the authors' simulator.
const CMT: Parameter = Parameter::new(
    "cmt",
    Unit::Count("entries"),
    8192,
    [1, 1 << 30],
    "Number of entries in the cached mapping table, with 8 bytes of RAM each.",
)
.example(65_536);

/// The authors' simulator protects 6,552 of 8,192 entries, which is 80 %.
const PROTECTED: Parameter = Parameter::new(
    "protected",
    Unit::Share,
    percent(80),
    [0, percent(99)],
    "Maximum share of the cache for protected entries (entries used again after they were cached).",
)
.example(percent(50));

const BATCH: Parameter =
    Parameter::switch("batch", true, "Writes back all changed entries of a translation page together.").example(0);

/// The default is the value in the DFTL paper.
const ENTRY: Parameter = Parameter::new(
    "entry",
    Unit::Fixed("bytes of an entry in a translation page, a power of two"),
    4,
    [4, 64],
    "Size of an entry in a translation page.",
);

fn pages(settings: &Settings, logical_pages: u32, page_bytes: u32) -> u32 {
    logical_pages.div_ceil(page_bytes / settings.get(ENTRY.name) as u32)
}

/// Returns the maximum size of the protected segment, which leaves at least one entry for the probation segment.
pub fn protected(settings: &Settings) -> u32 {
    let entries = settings.get(CMT.name);
    let share = (entries as f64 * settings.fraction(PROTECTED.name)).round() as u64;
    share.min(entries - 1) as u32
}

/// The cached mapping table.
pub struct Dftl {
    entries: u32,
    /// Maximum number of entries in the protected segment.
    most_protected: u32,
    /// True if writing a translation page also writes back all dirty entries of this page (batch update).
    batch: bool,
    page_shift: u32,
    pages: u32,
    page_bytes: u32,
    /// For each logical page, the index of the slot that holds its entry.
    slot_of: HugeVec<Entry>,
    slots: HugeVec<Slot>,
    /// Number of slots that hold an entry. Slots never become free: an entry is only replaced by another entry.
    taken: u32,
    probation: Segment,
    protection: Segment,
    protected: u32,
    /// For each translation page, the index of the first slot with a dirty entry.
    dirty: Vec<u32>,
    /// Ring buffer of the logical pages that will be looked up soon; `turn` is the index of the next page to store.
    ahead: [u32; AHEAD],
    turn: usize,
}

/// Number of hints from the hint for a page to the prefetch of its slot, whose index entry is then in the CPU cache.
const AHEAD: usize = 8;

/// Largest index, in logical pages, that fits in the processor's caches. Prefetching entries of an index of at most
/// this size costs more than it saves.
const CACHED_ENTRIES: usize = 1 << 20;

/// Distance in the ring between the oldest slot and the slot to prefetch. Half of this distance suffices for a
/// prefetched slot to arrive in the processor's cache.
const FAR: u32 = 32;

/// A cached entry. All its data are stored together, because memory latency dominates the access to a large table.
#[derive(Clone, Copy)]
struct Slot {
    lpn: u32,
    place: u32,
    /// Next and previous slot in the list of dirty slots of the same translation page.
    next: u32,
    previous: u32,
    dirty: bool,
    protected: bool,
}

impl Slot {
    const EMPTY: Self = Self { lpn: NONE, place: 0, next: NONE, previous: NONE, dirty: false, protected: false };
}

/// Queue of a segment's slots, ordered by age. Using an entry appends its slot to the queue again, and the slot's
/// earlier position becomes stale. Unlike moving a node of a linked list, this does not touch neighbouring slots, which
/// are scattered in memory. The next victims are also known well in advance.
#[derive(Clone)]
struct Segment {
    protected: bool,
    /// Ring buffer of slot numbers, oldest first. A position is stale if its slot was used again later. The length is a
    /// power of two.
    places: HugeVec<u32>,
    /// Oldest position that may not be stale; `end` is one past the newest. Both are counters modulo 2^32.
    begin: u32,
    end: u32,
}

impl Segment {
    /// Creates a segment for `slots` slots, with room for at least `slots` stale positions.
    fn new(slots: u32, protected: bool) -> Self {
        let places = (slots as usize * 2).next_power_of_two().max(16);
        // The counters start shortly before they wrap around, so that every test covers the wrap-around.
        let first = u32::MAX - 100;
        Self { protected, places: HugeVec::zeros(places), begin: first, end: first }
    }

    fn slot_at(&self, place: u32) -> u32 {
        self.places[place as usize & (self.places.len() - 1)]
    }

    fn is_stale(&self, place: u32, slots: &[Slot]) -> bool {
        let slot = &slots[self.slot_at(place) as usize];
        slot.place != place || slot.protected != self.protected
    }

    /// Appends a slot to the segment; the slot's earlier position becomes stale.
    #[inline]
    fn push(&mut self, slots: &mut [Slot], slot: u32) {
        if self.end.wrapping_sub(self.begin) as usize == self.places.len() {
            self.close_up(slots);
        }
        let place = self.end;
        let at = place as usize & (self.places.len() - 1);
        self.places[at] = slot;
        (slots[slot as usize].place, slots[slot as usize].protected) = (place, self.protected);
        self.end = place.wrapping_add(1);
    }

    #[cold]
    fn close_up(&mut self, slots: &mut [Slot]) {
        let places = self.end.wrapping_sub(self.begin);
        self.end = self.begin;
        for step in 0..places {
            let place = self.begin.wrapping_add(step);
            prefetch(slots, self.slot_at(place.wrapping_add(FAR)) as usize);
            if !self.is_stale(place, slots) {
                let slot = self.slot_at(place);
                self.push(slots, slot);
            }
        }
    }

    #[inline]
    fn oldest(&mut self, slots: &[Slot], slot_of: &[Entry]) -> Option<u32> {
        while self.begin != self.end {
            let place = self.begin;
            // Prefetches the next victims and their index entries, which are needed soon.
            prefetch(slots, self.slot_at(place.wrapping_add(FAR)) as usize);
            if slot_of.len() > CACHED_ENTRIES {
                prefetch(slot_of, slots[self.slot_at(place.wrapping_add(FAR / 2)) as usize].lpn as usize);
            }
            if !self.is_stale(place, slots) {
                return Some(self.slot_at(place));
            }
            self.begin = place.wrapping_add(1);
        }
        None
    }

    fn iter<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = u32> + 'a {
        let places = (0..self.end.wrapping_sub(self.begin)).map(|step| self.begin.wrapping_add(step));
        places.filter(|&place| !self.is_stale(place, slots)).map(|place| self.slot_at(place))
    }
}

impl Dftl {
    /// Returns an empty cached mapping table. Fails if page size or entry size is not a power of two.
    pub fn new(logical_pages: u32, page_bytes: u32, settings: &Settings) -> Result<Self, String> {
        INFO.role.refuse(settings, page_bytes)?;
        let (room, entry_bytes) = (settings.get(CMT.name) as u32, settings.get(ENTRY.name) as u32);
        if !entry_bytes.is_power_of_two() || page_bytes < entry_bytes {
            return Err(format!(
                "the entry size ({entry_bytes} bytes) must be a power of two and at most the page size ({page_bytes} \
                 bytes)"
            ));
        }
        let entries = room.min(logical_pages);
        let pages = pages(settings, logical_pages, page_bytes);
        Ok(Self {
            entries: room,
            most_protected: protected(settings),
            batch: settings.is_set(BATCH.name),
            page_shift: (page_bytes / entry_bytes).ilog2(),
            pages,
            page_bytes,
            slot_of: HugeVec::zeros(logical_pages as usize),
            slots: HugeVec::filled(Slot::EMPTY, entries as usize),
            taken: 0,
            probation: Segment::new(entries, false),
            protection: Segment::new(entries, true),
            protected: 0,
            dirty: vec![NONE; pages as usize],
            ahead: [NONE; AHEAD],
            turn: 0,
        })
    }

    fn page_of(&self, lpn: u32) -> u32 {
        lpn >> self.page_shift
    }

    fn use_again(&mut self, slot: u32) {
        let Self { slots, slot_of, probation, protection, .. } = self;
        if self.most_protected == 0 {
            return probation.push(slots, slot);
        }
        self.protected += u32::from(!slots[slot as usize].protected);
        protection.push(slots, slot);
        if self.protected > self.most_protected
            && let Some(oldest) = protection.oldest(slots, slot_of)
        {
            probation.push(slots, oldest);
            self.protected -= 1;
        }
    }

    fn make_dirty(&mut self, slot: u32) {
        let Slot { lpn, dirty, .. } = self.slots[slot as usize];
        if dirty {
            return;
        }
        let page = self.page_of(lpn) as usize;
        let next = std::mem::replace(&mut self.dirty[page], slot);
        if next != NONE {
            self.slots[next as usize].previous = slot;
        }
        let entry = &mut self.slots[slot as usize];
        (entry.dirty, entry.next, entry.previous) = (true, next, NONE);
    }

    fn make_clean(&mut self, slot: u32) {
        let Slot { lpn, next, previous, .. } = self.slots[slot as usize];
        if next != NONE {
            self.slots[next as usize].previous = previous;
        }
        match previous {
            NONE => {
                let page = self.page_of(lpn) as usize;
                self.dirty[page] = next;
            }
            previous => self.slots[previous as usize].next = next,
        }
        self.slots[slot as usize].dirty = false;
    }

    #[inline]
    fn miss(&mut self, lpn: u32) -> Lookup {
        let mut write_back = None;
        let slot = if self.taken < self.slots.len() as u32 {
            self.taken += 1;
            self.taken - 1
        } else {
            let victim = self.probation.oldest(&self.slots, &self.slot_of).expect("the probationary list has an entry");
            let Slot { lpn, dirty, .. } = self.slots[victim as usize];
            if dirty {
                write_back = Some(self.page_of(lpn));
                self.make_clean(victim);
            }
            self.slot_of[lpn as usize] = Entry::NONE;
            victim
        };
        self.slots[slot as usize].lpn = lpn;
        self.slot_of[lpn as usize] = Entry::of(slot);
        self.probation.push(&mut self.slots, slot);
        Lookup { hit: false, write_back, load: Some(self.page_of(lpn)) }
    }

    /// Fills an empty cache with the entries of both segments. Returns None if the entries do not fit.
    fn refill(&mut self, segments: [Vec<(u32, bool)>; 2]) -> Option<()> {
        for (segment, entries) in segments.into_iter().enumerate() {
            for (lpn, dirty) in entries {
                let slot = self.taken;
                let at = self.slot_of.get_mut(lpn as usize).filter(|at| **at == Entry::NONE)?;
                self.slots.get_mut(slot as usize)?.lpn = lpn;
                *at = Entry::of(slot);
                self.taken += 1;
                [&mut self.probation, &mut self.protection][segment].push(&mut self.slots, slot);
                self.protected += segment as u32;
                if dirty {
                    self.make_dirty(slot);
                }
            }
        }
        Some(())
    }
}

impl MapModel for Dftl {
    const CHARGED: bool = true;

    fn pages(&self) -> u32 {
        self.pages
    }

    #[inline]
    fn look_up(&mut self, lpn: u32) -> Lookup {
        let slot = self.slot_of[lpn as usize].page();
        if slot == NONE {
            return self.miss(lpn);
        }
        self.use_again(slot);
        Lookup::HIT
    }

    #[inline]
    fn changed(&mut self, lpn: u32) {
        self.make_dirty(self.slot_of[lpn as usize].page());
    }

    #[inline]
    fn prefetch(&mut self, lpn: u32) {
        prefetch(&self.slot_of, lpn as usize);
        let before = std::mem::replace(&mut self.ahead[self.turn], lpn);
        self.turn = (self.turn + 1) % AHEAD;
        if let Some(slot) = self.slot_of.get(before as usize) {
            prefetch(&self.slots, slot.page() as usize);
        }
    }

    fn moved(&mut self, lpn: u32) -> Option<u32> {
        let slot = self.slot_of[lpn as usize].page();
        if slot == NONE {
            return Some(self.page_of(lpn));
        }
        self.make_dirty(slot);
        None
    }

    fn written(&mut self, page: u32) {
        while self.batch && self.dirty[page as usize] != NONE {
            self.make_clean(self.dirty[page as usize]);
        }
    }

    fn load_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn knows_whole_pages(&self) -> bool {
        false
    }

    /// Returns the size in bytes of the cached mapping table, and of the directory with 4 bytes per translation page.
    fn ram_bytes(&self) -> u64 {
        CACHED_BYTES * u64::from(self.entries) + 4 * u64::from(self.pages)
    }

    fn memory_bytes(&self) -> u64 {
        let places = size_of_val(&*self.probation.places) + size_of_val(&*self.protection.places);
        (size_of_val(&*self.slot_of) + size_of_val(&*self.slots) + places + size_of_val(&*self.dirty)) as u64
    }

    fn check(&self) -> Result<(), String> {
        let queued = self.probation.iter(&self.slots).count() + self.protection.iter(&self.slots).count();
        if queued != self.taken as usize {
            return Err(format!("the replacement lists have {queued} entries, but {} are cached", self.taken));
        }
        let mut dirty = 0;
        for (page, &first) in self.dirty.iter().enumerate() {
            let mut slot = first;
            while slot != NONE {
                let Slot { lpn, dirty: is_dirty, next, .. } = self.slots[slot as usize];
                if !is_dirty || self.page_of(lpn) as usize != page || self.slot_of[lpn as usize].page() != slot {
                    return Err(format!(
                        "the dirty list of translation page {page} wrongly contains the entry of page {lpn}"
                    ));
                }
                slot = next;
                dirty += 1;
            }
        }
        let cached = self.probation.iter(&self.slots).chain(self.protection.iter(&self.slots));
        let counted = cached.filter(|&slot| self.slots[slot as usize].dirty).count();
        if dirty != counted {
            return Err(format!("{counted} entries are dirty, but the dirty lists contain {dirty}"));
        }
        Ok(())
    }

    fn cached(&self) -> Vec<CachedEntries> {
        let entry = |slot: u32| {
            let Slot { lpn, dirty, protected, .. } = self.slots[slot as usize];
            CachedEntries { first: Lpn(lpn), count: 1, dirty, protected }
        };
        self.probation.iter(&self.slots).chain(self.protection.iter(&self.slots)).map(entry).collect()
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let entry = |slot: u32| (self.slots[slot as usize].lpn, self.slots[slot as usize].dirty);
        let mut segments =
            [&self.probation, &self.protection].map(|segment| segment.iter(&self.slots).map(entry).collect::<Vec<_>>());
        archive.value(&mut segments)?;
        match archive {
            Archive::Save(_) => Ok(()),
            Archive::Load(_) => self.refill(segments).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "the saved map cache has duplicate or too many entries")
            }),
        }
    }
}
