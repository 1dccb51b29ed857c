//! File system: files, their cached pages, and their blocks. Blocks are allocated on write-back.

use std::collections::{BTreeSet, VecDeque};

use super::allocator::{Allocator, Extent};
use super::directories::Directories;
use super::journal::Journal;
use super::layout::{BLOCK, DiskLayout, GROUP_BLOCKS};
use super::page_cache::{NONE, PageCache};
use crate::{Op, flag};

/// Resolution of mtime: one tick of the kernel's 250 Hz clock. A second overwrite within a tick does not change the
/// inode.
const TICK_NS: u64 = 4_000_000;
/// Minimum time in ns before a deleted inode is reused (fs/ext4/ialloc.c, RECENTCY_MIN).
const INODE_REST_NS: u64 = 60_000_000_000;
/// Open files of up to this many blocks get their blocks from the shared preallocated range (fs/ext4/mballoc.h,
/// MB_DEFAULT_STREAM_THRESHOLD).
const SMALL_BLOCKS: u32 = 16;
/// Length of the shared preallocated range in blocks (MB_DEFAULT_GROUP_PREALLOC).
const STRETCH_BLOCKS: u32 = 512;

/// Request from the file system to the device; a flush has no blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bio {
    pub op: Op,
    pub block: u32,
    pub blocks: u32,
    pub flags: u8,
}

impl Bio {
    pub const FLUSH: Self = Self { op: Op::Flush, block: 0, blocks: 0, flags: flag::SYNC | flag::PREFLUSH };

    pub fn write(block: u32, flags: u8) -> Self {
        Self { op: Op::Write, block, blocks: 1, flags }
    }
}

/// Error: the file system has too few free blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Full;

#[derive(Clone, Copy, Debug)]
struct Page {
    /// Block of the page on the device; `NONE` before the page is first written back.
    block: u32,
    frame: u32,
}

impl Page {
    const NEW: Self = Self { block: NONE, frame: NONE };
}

/// A file, identified by its number in [`FileSystem`].
#[derive(Clone, Debug, Default)]
struct File {
    bytes: u64,
    pages: Vec<Page>,
    inode: u32,
    dirty: u32,
    /// First page of the dirty range, which contains all dirty pages of the file but may also contain clean pages.
    dirty_first: u32,
    dirty_end: u32,
    dirty_since_ns: u64,
    /// Transaction that last changed the file's inode.
    transaction: u32,
    tick: Option<u64>,
}

/// Selection of a file's dirty pages for write-back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pages {
    /// At most this many dirty pages of the file.
    UpTo(u32),
    One(u32),
    /// All dirty pages of the file that already have a block on the device.
    Placed,
}

/// Numbers of pages that became dirty, of dirty pages written, and of dirty pages dropped because their file was
/// deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Fate {
    pub dirtied: u64,
    pub written: u64,
    pub deleted: u64,
}

#[derive(Clone, Debug)]
pub(super) struct FileSystem {
    layout: DiskLayout,
    allocator: Allocator,
    pub cache: PageCache,
    pub journal: Journal,
    files: Vec<File>,
    /// Dirty files, each with the time when it became dirty, oldest first. An entry is stale if its file was written
    /// back or deleted since then.
    dirty: VecDeque<(u64, u32)>,
    next_inode: u32,
    free_inodes: BTreeSet<u32>,
    deleted_inodes: VecDeque<(u64, u32)>,
    directories: Directories,
    max_bio_blocks: u32,
    /// Unused rest of the preallocated range that small open files share. (The kernel has one range per CPU.)
    stretch: Extent,
    extents: Vec<Extent>,
    pub fate: Fate,
}

impl FileSystem {
    /// Returns the number of free blocks that remain after storing the directories for `files` files, with `files_each`
    /// files per directory; `None` if the directories do not fit.
    pub fn room(layout: &DiskLayout, files: u32, files_each: u32) -> Option<u64> {
        let directories = Directories::new(files, files_each);
        let has_inodes = u64::from(directories.count()) + u64::from(files) <= layout.inodes().into();
        layout.free_blocks().checked_sub(directories.blocks_needed().into()).filter(|_| has_inodes)
    }

    /// Creates an empty file system of `bytes` bytes. The caller must check with [`Self::room`] that the directories of
    /// the files fit.
    pub fn new(bytes: u64, cache_pages: u32, files: u32, files_each: u32, max_bio_blocks: u32) -> Self {
        let layout = DiskLayout::new(bytes);
        let journal = layout.journal();
        let mut allocator = Allocator::new(layout.blocks(), layout.metadata().chain([journal.clone()]));
        let mut directories = Directories::new(files, files_each);
        let mut extents = Vec::new();
        allocator.allocate(directories.blocks_needed(), None, 0, &mut extents);
        directories.place(extents.drain(..).flat_map(|extent| extent.start..extent.start + extent.blocks));
        Self {
            layout,
            allocator,
            cache: PageCache::new(cache_pages),
            journal: Journal::new(journal),
            files: vec![File::default(); files as usize],
            dirty: VecDeque::new(),
            next_inode: directories.count(),
            free_inodes: BTreeSet::new(),
            deleted_inodes: VecDeque::new(),
            directories,
            max_bio_blocks,
            stretch: Extent { start: 0, blocks: 0 },
            extents,
            fate: Fate::default(),
        }
    }

    #[cfg(test)]
    pub fn free_blocks(&self) -> u64 {
        self.allocator.free_blocks()
    }

    pub fn len(&self, file: u32) -> u64 {
        self.files[file as usize].bytes
    }

    pub fn pages(&self, file: u32) -> u32 {
        self.files[file as usize].pages.len() as u32
    }

    pub fn transaction(&self, file: u32) -> u32 {
        self.files[file as usize].transaction
    }

    pub fn create(&mut self, file: u32, now_ns: u64) {
        while let Some(&(deleted_ns, inode)) = self.deleted_inodes.front()
            && deleted_ns + INODE_REST_NS <= now_ns
        {
            self.deleted_inodes.pop_front();
            self.free_inodes.insert(inode);
        }
        // Allocates the lowest free inode. If no inode is free, reuses a recently deleted inode, as the kernel does.
        let inode = self.free_inodes.pop_first().unwrap_or_else(|| {
            if self.next_inode == self.layout.inodes()
                && let Some((_, inode)) = self.deleted_inodes.pop_front()
            {
                return inode;
            }
            self.next_inode += 1;
            self.next_inode - 1
        });
        self.files[file as usize].inode = inode;
        for directory in self.directories.make(file) {
            let (blocks, parent) = self.directories.made(directory);
            for block in blocks {
                self.change_bitmap(block);
                self.journal.change(block);
            }
            let group = self.layout.inode_group(directory);
            let inode = [
                self.layout.inode_bitmap(directory),
                self.layout.descriptors(group),
                self.layout.inode_block(directory),
            ];
            inode.into_iter().chain(parent).for_each(|block| self.journal.change(block));
        }
        self.change_entry(file);
    }

    /// Journals the metadata that creating or deleting a file changes: inode, inode bitmap, descriptors, directory and
    /// the directory's inode.
    fn change_entry(&mut self, file: u32) {
        let inode = self.files[file as usize].inode;
        let blocks = [
            self.layout.inode_bitmap(inode),
            self.layout.descriptors(self.layout.inode_group(inode)),
            self.directories.entry(file),
            self.layout.inode_block(self.directories.of(file)),
        ];
        blocks.into_iter().for_each(|block| self.journal.change(block));
        self.change_inode(file);
    }

    fn change_inode(&mut self, file: u32) {
        let file = &mut self.files[file as usize];
        self.journal.change(self.layout.inode_block(file.inode));
        file.transaction = self.journal.number();
    }

    /// Deletes a file: drops its pages, dirty or clean; its blocks are free after the next commit.
    pub fn delete(&mut self, file: u32, now_ns: u64) {
        self.change_entry(file);
        self.journal.change(DiskLayout::SUPERBLOCK);
        let old = std::mem::take(&mut self.files[file as usize]);
        self.fate.deleted += u64::from(old.dirty);
        for page in old.pages.iter().filter(|page| page.frame != NONE) {
            self.cache.remove(page.frame);
        }
        let blocks: Vec<u32> = old.pages.iter().map(|page| page.block).filter(|&block| block != NONE).collect();
        for run in blocks.chunk_by(|&block, &next| next == block + 1 && !next.is_multiple_of(GROUP_BLOCKS)) {
            self.change_bitmap(run[0]);
            self.journal.free(Extent { start: run[0], blocks: run.len() as u32 });
        }
        self.deleted_inodes.push_back((now_ns, old.inode));
    }

    fn change_bitmap(&mut self, block: u32) {
        let group = block / GROUP_BLOCKS;
        self.journal.change(self.layout.block_bitmap(group));
        self.journal.change(self.layout.descriptors(group));
    }

    /// Ends a journal commit, and makes the freed blocks and inodes reusable.
    pub fn end_commit(&mut self, now_ns: u64) {
        for extent in self.journal.end(now_ns) {
            self.allocator.release(extent);
        }
    }

    /// Reads pages of a file. One bio loads each run of adjacent missing pages. Only reads affect replacement
    /// (mm/filemap.c, "only do access activations on reads", Linux 4.7).
    pub fn read(&mut self, file: u32, pages: std::ops::Range<u32>, flags: u8, out: &mut Vec<Bio>) {
        let mut joined = Joined { bio: None, max_blocks: self.max_bio_blocks };
        let mut previous = None;
        for page in pages {
            let Page { block, frame } = self.files[file as usize].pages[page as usize];
            if frame == NONE {
                joined.add(Op::Read, block, flags, previous == Some(page.wrapping_sub(1)), out);
                previous = Some(page);
            }
            let frame = self.bring_in(file, page);
            self.cache.touch(frame);
        }
        out.extend(joined.bio);
    }

    /// Loads a page of a file into the cache unless it is present; returns the page's frame.
    fn bring_in(&mut self, file: u32, page: u32) -> u32 {
        let mut frame = self.files[file as usize].pages[page as usize].frame;
        if frame == NONE {
            let (new, gone) = self.cache.insert(file, page);
            if let Some((other, page)) = gone {
                self.files[other as usize].pages[page as usize].frame = NONE;
            }
            self.files[file as usize].pages[page as usize].frame = new;
            frame = new;
        }
        frame
    }

    /// Returns the page that must be read before a write of `bytes` bytes at offset `at`: an uncached page that the
    /// write covers only partially.
    pub fn page_to_read(&self, file: u32, at: u64, bytes: u64) -> Option<u32> {
        let file = &self.files[file as usize];
        let page = (at / BLOCK) as usize;
        let covered = at.is_multiple_of(BLOCK) && (bytes >= BLOCK || at + bytes >= file.bytes);
        let absent = file.pages.get(page).is_some_and(|page| page.frame == NONE);
        (bytes > 0 && !covered && absent).then_some(page as u32)
    }

    /// Writes `bytes` bytes at offset `at` into the cache; `at` is at most the length of the file.
    pub fn write(&mut self, file: u32, at: u64, bytes: u64, now_ns: u64) {
        if bytes == 0 {
            return;
        }
        let (first, end) = ((at / BLOCK) as u32, (at + bytes).div_ceil(BLOCK) as u32);
        let tick = Some(now_ns / TICK_NS);
        let own = &mut self.files[file as usize];
        let changes = own.tick != tick || at + bytes > own.bytes;
        own.tick = tick;
        own.bytes = own.bytes.max(at + bytes);
        if own.pages.len() < end as usize {
            own.pages.resize(end as usize, Page::NEW);
        }
        if own.dirty == 0 {
            (own.dirty_since_ns, own.dirty_first, own.dirty_end) = (now_ns, first, end);
            self.dirty.push_back((now_ns, file));
        }
        own.dirty_first = own.dirty_first.min(first);
        own.dirty_end = own.dirty_end.max(end);
        for page in first..end {
            let frame = self.bring_in(file, page);
            let fresh = self.cache.dirty_page(frame);
            self.files[file as usize].dirty += u32::from(fresh);
            self.fate.dirtied += u64::from(fresh);
        }
        if changes {
            self.change_inode(file);
        }
    }

    /// Returns the file that has been dirty the longest, with the time when it became dirty.
    pub fn oldest_dirty(&mut self) -> Option<(u64, u32)> {
        while let Some(&(since_ns, file)) = self.dirty.front() {
            let own = &self.files[file as usize];
            if own.dirty > 0 && own.dirty_since_ns == since_ns {
                return Some((since_ns, file));
            }
            self.dirty.pop_front();
        }
        None
    }

    /// Moves a file that is still dirty to the end of the list of dirty files.
    pub fn dirty_again(&mut self, file: u32) {
        let since_ns = self.files[file as usize].dirty_since_ns;
        self.dirty.pop_front();
        self.dirty.push_back((since_ns, file));
    }

    pub fn has_dirty(&self, file: u32) -> bool {
        self.files[file as usize].dirty > 0
    }

    /// Writes dirty pages, allocating missing blocks; returns the number of pages written.
    pub fn write_back(&mut self, file: u32, which: Pages, flags: u8, out: &mut Vec<Bio>) -> Result<u32, Full> {
        let own = &self.files[file as usize];
        if own.dirty == 0 {
            return Ok(0);
        }
        let (range, limit) = match which {
            Pages::UpTo(limit) => (own.dirty_first..own.dirty_end, limit),
            Pages::One(page) => (page..page + 1, 1),
            Pages::Placed => (own.dirty_first..own.dirty_end, u32::MAX),
        };
        // In the worst case, each page needs a block, and a small file also needs a new preallocated range. If the free
        // blocks do not suffice for this case, nothing is written.
        let blocks = if which == Pages::Placed { 0 } else { own.dirty.min(limit) + STRETCH_BLOCKS };
        if self.allocator.free_blocks() < blocks.into() {
            return Err(Full);
        }
        let mut joined = Joined { bio: None, max_blocks: self.max_bio_blocks };
        let mut written = 0;
        let mut page = range.start;
        while page < range.end && written < limit {
            let own = &self.files[file as usize].pages;
            let placed = own[page as usize].block != NONE;
            if !self.is_dirty(own[page as usize]) || which == Pages::Placed && !placed {
                page += 1;
                continue;
            }
            if !placed {
                let rest = &own[page as usize..(range.end.min(page.saturating_add(limit - written))) as usize];
                let run = rest.iter().take_while(|&&page| page.block == NONE && self.is_dirty(page)).count() as u32;
                // A file that is being synced is treated as open.
                self.give_blocks(file, page, run, flags & flag::SYNC != 0)?;
            }
            let Page { block, frame } = self.files[file as usize].pages[page as usize];
            joined.add(Op::Write, block, flags, true, out);
            self.cache.clean_page(frame);
            written += 1;
            page += 1;
        }
        out.extend(joined.bio);
        self.fate.written += u64::from(written);
        let own = &mut self.files[file as usize];
        own.dirty -= written;
        if let Pages::UpTo(_) = which {
            own.dirty_first = page;
        }
        Ok(written)
    }

    fn is_dirty(&self, page: Page) -> bool {
        page.frame != NONE && self.cache.is_dirty(page.frame)
    }

    /// Allocates blocks on the device for `count` pages of a file, beginning with `page`.
    fn give_blocks(&mut self, file: u32, page: u32, count: u32, open: bool) -> Result<(), Full> {
        let mut extents = std::mem::take(&mut self.extents);
        if open && self.pages(file) <= SMALL_BLOCKS && self.stretch(count) {
            extents.push(Extent { start: self.stretch.start, blocks: count });
            self.stretch = Extent { start: self.stretch.start + count, blocks: self.stretch.blocks - count };
        } else {
            let pages = &self.files[file as usize].pages;
            let before = page.checked_sub(1).map(|before| pages[before as usize].block).filter(|&block| block != NONE);
            let group = before.map_or(DiskLayout::DATA_GROUP, |block| block / GROUP_BLOCKS);
            if !self.allocator.allocate(count, before.map(|block| block + 1), group, &mut extents) {
                return Err(Full);
            }
        }
        let blocks = extents.iter().flat_map(|extent| extent.start..extent.start + extent.blocks);
        for (page, block) in self.files[file as usize].pages[page as usize..].iter_mut().zip(blocks) {
            page.block = block;
        }
        for extent in extents.drain(..) {
            self.change_bitmap(extent.start);
        }
        self.extents = extents;
        self.change_inode(file);
        Ok(())
    }

    /// Ensures that at least `count` blocks are left in the preallocated range for small files. Returns false if no
    /// run of free blocks is long enough for a new range.
    fn stretch(&mut self, count: u32) -> bool {
        if self.stretch.blocks >= count {
            return true;
        }
        let Some(next) = self.allocator.allocate_run(STRETCH_BLOCKS, DiskLayout::DATA_GROUP) else { return false };
        if self.stretch.blocks > 0 {
            self.allocator.release(self.stretch);
        }
        self.stretch = next;
        true
    }
}

/// Merges consecutive blocks of a read or write into bios.
struct Joined {
    bio: Option<Bio>,
    max_blocks: u32,
}

impl Joined {
    /// Adds a block to the current bio if the block is adjacent and `may_join` is true. Otherwise starts a new bio.
    fn add(&mut self, op: Op, block: u32, flags: u8, may_join: bool, out: &mut Vec<Bio>) {
        match &mut self.bio {
            Some(bio) if may_join && bio.block + bio.blocks == block && bio.blocks < self.max_blocks => bio.blocks += 1,
            _ => out.extend(self.bio.replace(Bio { op, block, blocks: 1, flags })),
        }
    }
}

#[cfg(test)]
mod tests;
