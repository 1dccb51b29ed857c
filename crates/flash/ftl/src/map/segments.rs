//! A map that is kept in flash, with a cache of its segments in RAM.
//!
//! ```text
//! look_up(lpn):  segment = lpn / entries per segment;  cached: a hit
//!                else: evict the policy's victim; if it is dirty, write its map page back, with all dirty segments of
//!                that page, which become clean
//!                load the segment: read that part of its map page
//! changed(lpn):  the segment becomes dirty
//! moved(lpn):    cached: the segment becomes dirty;  else rewrite its map page
//! ```
//! A segment is a map page or a part of one. If only parts of a map page are cached, the page is read before it is
//! written. The *map of the map*, with the location of each segment, is in RAM and takes 4 bytes per segment.
//!
//! Source: the map-cache document (slides), which defines segment sizes, the map of the map and the cost of a miss. The
//! document does not describe dirty segments and garbage collection.

use super::cache::{CachePolicy, POLICIES};
use super::{CachedEntries, Lookup, MapInfo, MapModel, MapRules};
use crate::Problem;
use serde::{Deserialize, Serialize};
use ssdlab_core::units::write_bytes;
use ssdlab_core::{Archive, Archived, Lpn, Parameter, Settings, Unit};

/// Registry entry of this map.
pub static INFO: MapInfo = MapInfo {
    name: "segments",
    help: "map in flash, with segments cached in RAM",
    source: "map-cache slides",
    parameters: &[CACHE, SEGMENT, ENTRY, POLICY, PRELOAD],
    role: MapRules { pages, problems, build: None },
};

const CACHE: Parameter =
    Parameter::new("cache", Unit::Bytes, 64 << 10, [1, 1 << 40], "RAM for cached segments.").example(512 << 10);

const SEGMENT: Parameter = Parameter::new(
    "segment",
    Unit::Bytes,
    2 << 10,
    [4, 1 << 20],
    "Segment size: the part of the map loaded at once; a power of two, at most the page size.",
)
.example(1 << 10);

const ENTRY: Parameter =
    Parameter::new("entry", Unit::Bytes, 4, [1, 64], "Size of a map entry; a power of two.").example(8);

const POLICY: Parameter =
    Parameter::one_of("policy", || POLICIES.choices(), "Policy that selects the cached segment to evict.").example(2);

const PRELOAD: Parameter =
    Parameter::switch("preload", false, "Fills the cache from the start of the map before the first request.")
        .example(1);

fn pages(settings: &Settings, logical_pages: u32, page_bytes: u32) -> u32 {
    logical_pages.div_ceil(page_bytes / settings.get(ENTRY.name) as u32)
}

fn problems(settings: &Settings, page_bytes: u32) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |parameter: Parameter, message| problems.push(Problem::new(parameter.name, message));
    let page = u64::from(page_bytes);
    let [cache, mut segment, mut entry] = [CACHE, SEGMENT, ENTRY].map(|parameter| settings.get(parameter.name));
    for (parameter, bytes) in [(SEGMENT, &mut segment), (ENTRY, &mut entry)] {
        if !bytes.is_power_of_two() {
            let above = bytes.next_power_of_two();
            let below = write_bytes(above / 2);
            report(parameter, format!("{} is not a power of two; lower it to {below}", write_bytes(*bytes)));
            // Replaces the invalid value with a valid one, to avoid follow-up errors.
            *bytes = above.min(page);
        }
    }
    if segment > page {
        report(
            SEGMENT,
            format!(
                "{} exceeds the page size {page}; lower it to {page}",
                write_bytes(segment),
                page = write_bytes(page)
            ),
        );
        segment = page;
    }
    if entry > segment {
        let segment = write_bytes(segment);
        report(ENTRY, format!("{} exceeds the segment size {segment}; lower it to {segment}", write_bytes(entry)));
    }
    if !cache.is_multiple_of(segment) {
        let nearest = write_bytes((cache / segment * segment).max(segment));
        let (cache, segment) = (write_bytes(cache), write_bytes(segment));
        report(CACHE, format!("{cache} is not a multiple of the segment size {segment}; set it to {nearest}"));
    }
    problems
}

/// A cache of map segments in RAM.
pub struct SegmentCache {
    cache_bytes: u64,
    segment_bytes: u32,
    /// True if the cache is filled from the start of the map before the first request.
    preload: bool,
    /// Log2 of the number of entries per segment.
    segment_shift: u32,
    /// Log2 of the number of segments per map page.
    page_shift: u32,
    segments: u32,
    capacity: u32,
    state: Vec<SegmentState>,
    policy: Box<dyn CachePolicy>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum SegmentState {
    Flash,
    Clean,
    Dirty,
}

impl SegmentCache {
    /// Returns an empty segment cache. Fails if the size of a segment or of a map entry is not a power of two, if a
    /// segment is larger than a page, or if the cache size is not a multiple of the segment size.
    pub fn new(logical_pages: u32, page_bytes: u32, settings: &Settings) -> Result<Self, String> {
        INFO.role.refuse(settings, page_bytes)?;
        let cache_bytes = settings.get(CACHE.name);
        // The cast is safe, because both sizes are at most a page.
        let [segment_bytes, entry_bytes] = [SEGMENT, ENTRY].map(|parameter| settings.get(parameter.name) as u32);
        let entries = segment_bytes / entry_bytes;
        let segments = logical_pages.div_ceil(entries);
        let capacity = u32::try_from(cache_bytes / u64::from(segment_bytes)).unwrap_or(u32::MAX).min(segments);
        Ok(Self {
            cache_bytes,
            segment_bytes,
            preload: settings.is_set(PRELOAD.name),
            segment_shift: entries.ilog2(),
            page_shift: (page_bytes / segment_bytes).ilog2(),
            segments,
            capacity,
            state: vec![SegmentState::Flash; segments as usize],
            policy: (POLICIES[settings.get(POLICY.name) as usize].role)(segments, capacity),
        })
    }

    fn page_of(&self, segment: u32) -> u32 {
        segment >> self.page_shift
    }

    #[cold]
    fn miss(&mut self, segment: u32) -> Lookup {
        let mut write_back = None;
        if let Some(victim) = self.policy.admit(segment) {
            if self.state[victim as usize] == SegmentState::Dirty {
                write_back = Some(self.page_of(victim));
            }
            self.state[victim as usize] = SegmentState::Flash;
        }
        self.state[segment as usize] = SegmentState::Clean;
        Lookup { hit: false, write_back, load: Some(self.page_of(segment)) }
    }
}

impl MapModel for SegmentCache {
    const CHARGED: bool = true;

    fn pages(&self) -> u32 {
        self.segments.div_ceil(1 << self.page_shift)
    }

    #[inline]
    fn look_up(&mut self, lpn: u32) -> Lookup {
        let segment = lpn >> self.segment_shift;
        if self.state[segment as usize] == SegmentState::Flash {
            return self.miss(segment);
        }
        self.policy.hit(segment);
        Lookup::HIT
    }

    #[inline]
    fn changed(&mut self, lpn: u32) {
        self.state[(lpn >> self.segment_shift) as usize] = SegmentState::Dirty;
    }

    fn moved(&mut self, lpn: u32) -> Option<u32> {
        let segment = lpn >> self.segment_shift;
        if self.state[segment as usize] == SegmentState::Flash {
            return Some(self.page_of(segment));
        }
        self.state[segment as usize] = SegmentState::Dirty;
        None
    }

    fn written(&mut self, page: u32) {
        let first = page << self.page_shift;
        let after = (first + (1 << self.page_shift)).min(self.segments);
        for state in &mut self.state[first as usize..after as usize] {
            if *state == SegmentState::Dirty {
                *state = SegmentState::Clean;
            }
        }
    }

    fn load_bytes(&self) -> u32 {
        self.segment_bytes
    }

    fn knows_whole_pages(&self) -> bool {
        self.page_shift == 0
    }

    fn preload(&self) -> u32 {
        if self.preload { self.capacity.saturating_mul(1 << self.segment_shift) } else { 0 }
    }

    /// Returns the RAM size in bytes of the cached segments and of the map of the map, which has 4 bytes per segment.
    fn ram_bytes(&self) -> u64 {
        self.cache_bytes + 4 * u64::from(self.segments)
    }

    fn memory_bytes(&self) -> u64 {
        // Counts two list links and a flag per segment, whichever replacement policy is used.
        u64::from(self.segments) * (size_of::<SegmentState>() + ssdlab_core::list::Queue::BYTES_PER_ITEM) as u64
    }

    fn check(&self) -> Result<(), String> {
        let cached = self.state.iter().filter(|&&state| state != SegmentState::Flash).count();
        if cached > self.capacity as usize {
            return Err(format!("{cached} segments are cached, but the cache has room for {}", self.capacity));
        }
        Ok(())
    }

    /// Returns the entries in the order of segment numbers, because policies do not expose their eviction order.
    fn cached(&self) -> Vec<CachedEntries> {
        let cached = (0..).zip(&self.state).filter(|&(_, &state)| state != SegmentState::Flash);
        let entries = |(segment, &state): (u32, &SegmentState)| CachedEntries {
            first: Lpn(segment << self.segment_shift),
            count: 1 << self.segment_shift,
            dirty: state == SegmentState::Dirty,
            protected: false,
        };
        cached.map(entries).collect()
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self {
            state,
            policy,
            cache_bytes: _,
            segment_bytes: _,
            preload: _,
            segment_shift: _,
            page_shift: _,
            segments: _,
            capacity: _,
        } = self;
        archive.value(state)?;
        policy.archive(archive)
    }
}
