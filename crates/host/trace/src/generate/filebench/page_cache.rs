//! Page cache: pages in memory and their replacement.
//!
//! Two lists, as in mm/vmscan.c and mm/swap.c. A page enters the inactive list, is marked when read, and moves to the
//! active list when read again. The oldest inactive page is evicted. If the active list is longer, its oldest page
//! becomes inactive. Dirty pages are never evicted; they return to the head of their list. Refaults (mm/workingset.c)
//! are treated as first uses.

use ssdlab_core::list::{Link, List, Node};

/// Frame number that means "no frame".
pub(super) const NONE: u32 = u32::MAX;

const DIRTY: u8 = 1;
const REFERENCED: u8 = 2;
const ACTIVE: u8 = 4;

#[derive(Clone, Copy, Debug)]
struct Frame {
    file: u32,
    page: u32,
    link: Link,
    state: u8,
}

impl Node for Frame {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

#[derive(Clone, Debug)]
pub(super) struct PageCache {
    frames: Vec<Frame>,
    unused: Vec<u32>,
    /// Inactive and active list of frames, followed by the length of each list.
    lists: [List; 2],
    lens: [u32; 2],
    capacity: u32,
    dirty: u32,
}

impl PageCache {
    /// Creates an empty cache for `pages` pages; `pages` must be at least 1.
    pub fn new(pages: u32) -> Self {
        let (lists, lens) = ([List::EMPTY; 2], [0; 2]);
        Self { frames: Vec::new(), unused: Vec::new(), lists, lens, capacity: pages, dirty: 0 }
    }

    pub fn dirty(&self) -> u32 {
        self.dirty
    }

    pub fn is_dirty(&self, frame: u32) -> bool {
        self.frames[frame as usize].state & DIRTY != 0
    }

    /// Inserts a page. Returns its frame and the evicted page (file, page). If all pages are dirty, no page is evicted.
    pub fn insert(&mut self, file: u32, page: u32) -> (u32, Option<(u32, u32)>) {
        let gone = if self.lens[0] + self.lens[1] >= self.capacity { self.evict() } else { None };
        let content = Frame { file, page, link: Link::ALONE, state: 0 };
        let frame = match self.unused.pop() {
            Some(frame) => {
                self.frames[frame as usize] = content;
                frame
            }
            None => {
                self.frames.push(content);
                self.frames.len() as u32 - 1
            }
        };
        self.link(frame);
        (frame, gone)
    }

    /// Records a read of the cached page in a frame.
    pub fn touch(&mut self, frame: u32) {
        let state = self.frames[frame as usize].state;
        if state & (REFERENCED | ACTIVE) == REFERENCED {
            self.unlink(frame);
            self.frames[frame as usize].state = state & !REFERENCED | ACTIVE;
            self.link(frame);
        } else {
            self.frames[frame as usize].state |= REFERENCED;
        }
    }

    /// Marks the page in a frame dirty; returns false if the page was already dirty.
    pub fn dirty_page(&mut self, frame: u32) -> bool {
        let fresh = !self.is_dirty(frame);
        self.frames[frame as usize].state |= DIRTY;
        self.dirty += u32::from(fresh);
        fresh
    }

    pub fn clean_page(&mut self, frame: u32) {
        self.frames[frame as usize].state &= !DIRTY;
        self.dirty -= 1;
    }

    pub fn remove(&mut self, frame: u32) {
        self.dirty -= u32::from(self.is_dirty(frame));
        self.unlink(frame);
        self.unused.push(frame);
    }

    fn evict(&mut self) -> Option<(u32, u32)> {
        for _ in 0..self.frames.len() {
            if self.lens[1] > self.lens[0]
                && let Some(oldest) = self.lists[1].oldest()
            {
                self.unlink(oldest);
                self.frames[oldest as usize].state &= !(ACTIVE | REFERENCED);
                self.link(oldest);
            }
            let oldest = self.lists[0].oldest()?;
            if !self.is_dirty(oldest) {
                self.remove(oldest);
                let Frame { file, page, .. } = self.frames[oldest as usize];
                return Some((file, page));
            }
            self.unlink(oldest);
            self.link(oldest);
        }
        None
    }

    fn list(&self, frame: u32) -> usize {
        usize::from(self.frames[frame as usize].state & ACTIVE != 0)
    }

    /// Makes a frame the newest frame of its list.
    fn link(&mut self, frame: u32) {
        let list = self.list(frame);
        self.lists[list].push(&mut self.frames, frame);
        self.lens[list] += 1;
    }

    fn unlink(&mut self, frame: u32) {
        let list = self.list(frame);
        self.lists[list].remove(&mut self.frames, frame);
        self.lens[list] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_page_used_once_is_evicted_and_dirty_ones_stay() {
        let mut cache = PageCache::new(3);
        let frames = [0, 1, 2].map(|page| cache.insert(7, page).0);
        assert!(cache.dirty_page(frames[0]) && !cache.dirty_page(frames[0]));
        cache.touch(frames[1]);
        cache.touch(frames[1]);
        // Page 0 is dirty and page 1 is active, so page 2 is evicted.
        let (third, gone) = cache.insert(7, 3);
        assert_eq!((gone, cache.dirty()), (Some((7, 2)), 1));
        cache.clean_page(frames[0]);
        // Inserting page 3 moved page 0, which was dirty then, to the head of the list first. So page 0 is older than
        // page 3.
        assert_eq!((cache.insert(7, 4).1, cache.dirty()), (Some((7, 0)), 0));
        cache.remove(third);
        assert_eq!(cache.insert(8, 0).1, None);
    }

    #[test]
    fn a_longer_active_list_demotes_its_oldest_page() {
        let mut cache = PageCache::new(3);
        for page in 0..3 {
            let (frame, _) = cache.insert(0, page);
            cache.touch(frame);
            cache.touch(frame);
        }
        assert_eq!(cache.insert(0, 3).1, Some((0, 0)));
    }

    #[test]
    fn the_cache_grows_if_all_pages_are_dirty() {
        let mut cache = PageCache::new(2);
        for page in 0..4 {
            let (frame, gone) = cache.insert(0, page);
            assert_eq!(gone, None);
            cache.dirty_page(frame);
        }
        assert_eq!(cache.dirty(), 4);
    }
}
