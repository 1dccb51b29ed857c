//! A cache of whole map segments.
//!
//! ```text
//! look_up(lpn):  segment = lpn / entries of a segment;  cached: a hit
//!                else: the policy's victim gives way; if it is dirty, its map page is written back, with all dirty
//!                segments of that page, which are clean then;  the segment is loaded: that part of its map page is read
//! moved(lpn):    cached: the segment is dirty;  else its map page is rewritten
//! ```
//! A segment is a part of a map page, or all of it. A map page of which the cache knows only parts is read before it is
//! written. The *map of the map*, which says where each segment is, is in RAM, 4 bytes for each.
//!
//! Source: the map-cache document (slides), which fixes segment sizes, the map of the map and what a miss costs; dirty
//! segments and garbage collection are not in it.

use super::cache::{self, CacheChoice, CachePolicy};
use super::{Lookup, MapModel};

/// Options of the segment cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentOptions {
    /// Bytes of RAM for segments, a multiple of `segment_bytes`.
    pub cache_bytes: u64,
    /// Bytes of a segment, a power of two, at most a page.
    pub segment_bytes: u32,
    /// Bytes of an entry, a power of two.
    pub entry_bytes: u32,
    /// Which segment gives way.
    pub policy: CacheChoice,
    /// Whether the cache is filled from the start of the map before the first request.
    pub preload: bool,
}

impl SegmentOptions {
    /// Map pages of a device with `logical_pages` pages of `page_bytes`.
    pub const fn map_pages(&self, logical_pages: u32, page_bytes: u32) -> u32 {
        logical_pages.div_ceil(page_bytes / self.entry_bytes)
    }
}

/// Segments, the cached ones among them.
pub struct SegmentCache {
    options: SegmentOptions,
    /// Log2 of the entries of a segment.
    segment_shift: u32,
    /// Log2 of the segments of a map page.
    page_shift: u32,
    segments: u32,
    capacity: u32,
    state: Vec<State>,
    policy: Box<dyn CachePolicy>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Flash,
    Clean,
    Dirty,
}

impl SegmentCache {
    /// An empty cache.
    ///
    /// # Errors
    /// If sizes are not powers of two that divide each other, or the cache holds no segment.
    pub fn new(logical_pages: u32, page_bytes: u32, options: SegmentOptions) -> Result<Self, String> {
        let SegmentOptions { cache_bytes, segment_bytes, entry_bytes, policy, .. } = options;
        let powers = segment_bytes.is_power_of_two() && entry_bytes.is_power_of_two() && page_bytes.is_power_of_two();
        if !powers || entry_bytes > segment_bytes || segment_bytes > page_bytes {
            return Err(format!(
                "entries of {entry_bytes} bytes, segments of {segment_bytes} and pages of {page_bytes} must be powers of \
                 two, each at most the next"
            ));
        }
        let entries = segment_bytes / entry_bytes;
        let segments = logical_pages.div_ceil(entries);
        let capacity = u32::try_from(cache_bytes / u64::from(segment_bytes)).unwrap_or(u32::MAX).min(segments);
        if capacity == 0 {
            return Err(format!("a cache of {cache_bytes} bytes holds no segment of {segment_bytes}"));
        }
        Ok(Self {
            options,
            segment_shift: entries.ilog2(),
            page_shift: (page_bytes / segment_bytes).ilog2(),
            segments,
            capacity,
            state: vec![State::Flash; segments as usize],
            policy: cache::policy(policy, segments, capacity),
        })
    }

    fn page_of(&self, segment: u32) -> u32 {
        segment >> self.page_shift
    }

    #[cold]
    fn miss(&mut self, segment: u32, changes: bool) -> Lookup {
        let mut write_back = None;
        if let Some(victim) = self.policy.admit(segment) {
            if self.state[victim as usize] == State::Dirty {
                let page = self.page_of(victim);
                write_back = Some(page);
                self.written(page);
            }
            self.state[victim as usize] = State::Flash;
        }
        self.state[segment as usize] = if changes { State::Dirty } else { State::Clean };
        Lookup { hit: false, write_back, load: Some(self.page_of(segment)) }
    }
}

impl MapModel for SegmentCache {
    const CHARGED: bool = true;

    fn pages(&self) -> u32 {
        self.segments.div_ceil(1 << self.page_shift)
    }

    #[inline]
    fn look_up(&mut self, lpn: u32, changes: bool) -> Lookup {
        let segment = lpn >> self.segment_shift;
        match &mut self.state[segment as usize] {
            State::Flash => self.miss(segment, changes),
            state => {
                if changes {
                    *state = State::Dirty;
                }
                self.policy.hit(segment);
                Lookup::HIT
            }
        }
    }

    fn moved(&mut self, lpn: u32) -> Option<u32> {
        let segment = lpn >> self.segment_shift;
        if self.state[segment as usize] == State::Flash {
            return Some(self.page_of(segment));
        }
        self.state[segment as usize] = State::Dirty;
        None
    }

    fn written(&mut self, page: u32) {
        let first = page << self.page_shift;
        let after = (first + (1 << self.page_shift)).min(self.segments);
        for state in &mut self.state[first as usize..after as usize] {
            if *state == State::Dirty {
                *state = State::Clean;
            }
        }
    }

    fn load_bytes(&self) -> u32 {
        self.options.segment_bytes
    }

    fn knows_whole_pages(&self) -> bool {
        self.page_shift == 0
    }

    fn preload(&self) -> u32 {
        if self.options.preload { self.capacity.saturating_mul(1 << self.segment_shift) } else { 0 }
    }

    /// The cache, and 4 bytes for each segment in the map of the map.
    fn ram_bytes(&self) -> u64 {
        self.options.cache_bytes + 4 * u64::from(self.segments)
    }

    fn memory_bytes(&self) -> u64 {
        // Two links and a flag for each segment, whatever the policy.
        u64::from(self.segments) * (size_of::<State>() + ssdlab_core::list::Queue::BYTES_PER_ITEM) as u64
    }

    fn check(&self) -> Result<(), String> {
        let cached = self.state.iter().filter(|&&state| state != State::Flash).count();
        if cached > self.capacity as usize {
            return Err(format!("{cached} segments are cached in room for {}", self.capacity));
        }
        Ok(())
    }
}
