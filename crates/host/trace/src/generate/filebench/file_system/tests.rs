use super::*;

const SPAN: u64 = 1 << 30;

/// File system with 20 files in one directory, a cache of 64 pages and bios of at most 8 blocks.
fn small() -> FileSystem {
    FileSystem::new(SPAN, 64, 20, 20, 8)
}

fn write_back(fs: &mut FileSystem, file: u32, flags: u8) -> Vec<(Op, u32, u32)> {
    let mut bios = Vec::new();
    fs.write_back(file, Pages::UpTo(u32::MAX), flags, &mut bios).unwrap();
    bios.iter().map(|bio| (bio.op, bio.block, bio.blocks)).collect()
}

fn read(fs: &mut FileSystem, file: u32, pages: std::ops::Range<u32>) -> Vec<(Op, u32, u32)> {
    let mut bios = Vec::new();
    fs.read(file, pages, 0, &mut bios);
    bios.iter().map(|bio| (bio.op, bio.block, bio.blocks)).collect()
}

/// Returns the number of blocks that the running transaction logs.
fn changed(fs: &mut FileSystem) -> usize {
    fs.journal.begin().count() - 1
}

#[test]
fn blocks_are_allocated_on_write_back_and_bios_end_at_the_limit() {
    let mut fs = small();
    let first = GROUP_BLOCKS;
    fs.create(0, 0);
    fs.write(0, 0, 40_000, 0);
    assert_eq!((fs.len(0), fs.pages(0), fs.cache.dirty()), (40_000, 10, 10));
    assert_eq!(write_back(&mut fs, 0, 0), [(Op::Write, first, 8), (Op::Write, first + 8, 2)]);
    assert_eq!(write_back(&mut fs, 0, 0), []);
    // The last page is rewritten with the appended data, which is placed right after it.
    fs.write(0, 40_000, 5000, 0);
    assert_eq!(write_back(&mut fs, 0, 0), [(Op::Write, first + 9, 2)]);
    // Another file occupies the block where the next append would go.
    fs.create(1, 0);
    fs.write(1, 0, 4096, 0);
    assert_eq!(write_back(&mut fs, 1, 0), [(Op::Write, first + 11, 1)]);
    fs.write(0, 45_000, 5000, 0);
    assert_eq!(write_back(&mut fs, 0, 0), [(Op::Write, first + 10, 1), (Op::Write, first + 12, 2)]);
}

#[test]
fn pages_with_blocks_can_be_written_separately() {
    let mut fs = small();
    fs.create(0, 0);
    fs.write(0, 0, 5000, 0);
    let [(_, first, 2)] = write_back(&mut fs, 0, 0)[..] else { panic!("two pages in one bio") };
    fs.write(0, 5000, 5000, 0);
    let mut bios = Vec::new();
    assert_eq!(fs.write_back(0, Pages::Placed, 0, &mut bios), Ok(1));
    assert_eq!((bios[0].block, bios[0].blocks, bios.len(), fs.has_dirty(0)), (first + 1, 1, 1, true));
    assert_eq!(write_back(&mut fs, 0, 0), [(Op::Write, first + 2, 1)]);
    assert!(!fs.has_dirty(0));
}

#[test]
fn small_synced_files_share_a_preallocated_range() {
    let mut fs = small();
    let first = GROUP_BLOCKS;
    for file in 0..2 {
        fs.create(file, 0);
        fs.write(file, 0, 8192, 0);
        assert_eq!(write_back(&mut fs, file, flag::SYNC), [(Op::Write, first + 2 * file, 2)]);
    }
    // A file that is not synced is placed after the whole range.
    fs.create(2, 0);
    fs.write(2, 0, 4096, 0);
    assert_eq!(write_back(&mut fs, 2, 0), [(Op::Write, first + STRETCH_BLOCKS, 1)]);
}

#[test]
fn cached_pages_are_not_read() {
    let mut fs = small();
    for file in 0..2 {
        fs.create(file, 0);
        fs.write(file, 0, 40 * BLOCK, 0);
        write_back(&mut fs, file, 0);
    }
    // The 64 cached pages are all 40 of the second file (used last) and the last 24 of the first.
    assert_eq!(read(&mut fs, 1, 0..40), []);
    assert_eq!(read(&mut fs, 0, 16..40), []);
    let first = GROUP_BLOCKS;
    // A page read once is not protected: page 16 is evicted for page 0.
    assert_eq!(read(&mut fs, 0, 0..17), [(Op::Read, first, 8), (Op::Read, first + 8, 8), (Op::Read, first + 16, 1)]);
    // Pages that were read twice stay cached, no matter how many pages are written.
    assert_eq!(read(&mut fs, 1, 30..40), []);
    fs.create(2, 0);
    fs.write(2, 0, 40 * BLOCK, 0);
    write_back(&mut fs, 2, 0);
    fs.write(2, 0, 40 * BLOCK, 0);
    assert_eq!(read(&mut fs, 1, 30..40), []);
    // An append within an uncached page reads it first; an append at a page boundary does not.
    let mut fs = small();
    fs.create(0, 0);
    fs.write(0, 0, 5000, 0);
    write_back(&mut fs, 0, 0);
    assert_eq!(fs.page_to_read(0, 5000, 100), None);
    fs.create(1, 0);
    fs.write(1, 0, 64 * BLOCK, 0);
    write_back(&mut fs, 1, 0);
    assert_eq!(fs.page_to_read(0, 5000, 100), Some(1));
    assert_eq!((fs.page_to_read(0, 5000, 0), fs.page_to_read(1, 64 * BLOCK, 100)), (None, None));
    assert_eq!((fs.page_to_read(0, 0, BLOCK), fs.page_to_read(0, 2048, 2048)), (None, Some(0)));
}

#[test]
fn changes_are_journaled_by_hand() {
    let mut fs = small();
    fs.create(0, 0);
    // Five blocks change: inode bitmap, group descriptors, directory, the inode table block with both inodes, and the
    // block bitmap, because the first file creates the directory.
    assert_eq!(changed(&mut fs), 5);
    fs.end_commit(0);
    fs.create(1, 0);
    assert_eq!(changed(&mut fs), 4);
    fs.end_commit(0);
    fs.write(0, 0, 4096, 0);
    write_back(&mut fs, 0, 0);
    // Three blocks change: first the inode's block, then the block bitmap and the group descriptors.
    assert_eq!((fs.transaction(0), changed(&mut fs)), (3, 3));
    fs.end_commit(0);
    // An overwrite changes the inode only in a new clock tick.
    fs.write(0, 0, 4096, 1000);
    assert!(fs.journal.is_clean());
    fs.write(0, 0, 4096, TICK_NS);
    assert_eq!((fs.transaction(0), changed(&mut fs)), (4, 1));
}

#[test]
fn freed_blocks_are_reusable_after_the_commit() {
    let mut fs = small();
    fs.create(0, 0);
    fs.write(0, 0, 3 * BLOCK, 0);
    let bios = write_back(&mut fs, 0, 0);
    fs.write(0, 0, BLOCK, 0);
    let free = fs.free_blocks();
    fs.delete(0, 0);
    assert_eq!((fs.free_blocks(), fs.cache.dirty()), (free, 0));
    assert_eq!(fs.fate, Fate { dirtied: 4, written: 3, deleted: 1 });
    changed(&mut fs);
    fs.end_commit(0);
    assert_eq!(fs.free_blocks(), free + 3);
    fs.create(1, 0);
    fs.write(1, 0, 3 * BLOCK, 0);
    assert_eq!(write_back(&mut fs, 1, 0), bios);
}

#[test]
fn a_deleted_inode_is_not_reused_for_a_minute() {
    let mut fs = small();
    fs.create(0, 0);
    fs.delete(0, 5);
    fs.create(1, INODE_REST_NS);
    fs.create(2, INODE_REST_NS + 5);
    // The directory has inode 0; the first file had inode 1.
    assert_eq!([1, 2].map(|file: usize| fs.files[file].inode), [2, 1]);
}

impl FileSystem {
    /// Checks the invariants: each block of a file is allocated, has one owner and is not metadata; pages are where
    /// files expect them.
    pub(crate) fn check(&self) {
        let mut blocks: Vec<u32> = self.files.iter().flat_map(|file| &file.pages).map(|page| page.block).collect();
        blocks.retain(|&block| block != NONE);
        blocks.extend(self.directories.blocks());
        blocks.extend(self.layout.metadata().chain([self.layout.journal()]).flatten());
        let count = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), count, "a block has two owners");
        let taken = u64::from(self.layout.blocks()) - self.allocator.free_blocks();
        assert!(taken >= count as u64, "a block of a file is not allocated");
        let dirty: u32 = self.files.iter().map(|file| file.dirty).sum();
        assert_eq!(dirty, self.cache.dirty());
        assert_eq!(self.fate.dirtied, self.fate.written + self.fate.deleted + u64::from(dirty));
    }
}
