//! On-disk layout of ext4 as made by `mke2fs`. A block is 4 KiB, a group 128 MiB. The first of 16 groups holds the
//! bitmaps and inode tables of all 16 (`flex_bg`). The journal is in the middle of the device.
//!
//! Source: e2fsprogs `lib/ext2fs/initialize.c`, `mkjournal.c` (`ext2fs_default_journal_size`), `mke2fs.conf`.

use std::ops::Range;

/// Size of a block and of a page in bytes.
pub(super) const BLOCK: u64 = 4096;
/// Number of blocks per group; one bitmap block describes all of them.
pub(super) const GROUP_BLOCKS: u32 = 32_768;
/// Number of groups whose bitmaps and tables are stored together.
const FLEX_GROUPS: u32 = 16;
/// Number of inodes per group: one inode per 16 KiB.
const INODES_PER_GROUP: u32 = 8192;
/// Number of inodes of 256 bytes per block.
const INODES_PER_BLOCK: u32 = 16;
const TABLE_BLOCKS: u32 = INODES_PER_GROUP / INODES_PER_BLOCK;
/// Number of group descriptors of 64 bytes per block.
const DESCRIPTORS_PER_BLOCK: u32 = 64;
/// Minimum number of groups: one for metadata, one for data.
const GROUPS_MIN: u64 = 2;

/// Layout of a device that consists of whole groups.
#[derive(Clone, Debug)]
pub(super) struct DiskLayout {
    groups: u32,
}

impl DiskLayout {
    /// Size of the smallest device in bytes.
    pub const BYTES_MIN: u64 = GROUPS_MIN * GROUP_BLOCKS as u64 * BLOCK;
    /// Size of the largest device in bytes; block numbers have 32 bits.
    pub const BYTES_MAX: u64 = u32::MAX as u64 * BLOCK;
    pub const SUPERBLOCK: u32 = 0;
    /// First group in which to search for space for regular files: the second group of the parent directory's flexible
    /// group.
    pub const DATA_GROUP: u32 = 1;

    /// Creates the layout of a device of `bytes` bytes, from [`Self::BYTES_MIN`] to [`Self::BYTES_MAX`]; a partial
    /// group at the end is unused.
    pub fn new(bytes: u64) -> Self {
        Self { groups: (bytes / BLOCK / u64::from(GROUP_BLOCKS)) as u32 }
    }

    pub fn blocks(&self) -> u32 {
        self.groups * GROUP_BLOCKS
    }

    /// Returns the number of blocks that are neither metadata nor journal.
    pub fn free_blocks(&self) -> u64 {
        let metadata: u64 = self.metadata().map(|range| u64::from(range.end - range.start)).sum();
        u64::from(self.blocks()) - metadata - self.journal().len() as u64
    }

    /// Returns the number of inodes, which limits the number of files.
    pub fn inodes(&self) -> u32 {
        self.groups * INODES_PER_GROUP
    }

    /// Returns the first group of the flexible group that contains `group`. Also returns the block where the bitmaps
    /// and inode tables of the flexible group start, after the superblock copy and the descriptors.
    fn flex(&self, group: u32) -> (u32, u32) {
        let first = group / FLEX_GROUPS * FLEX_GROUPS;
        (first, first * GROUP_BLOCKS + 1 + self.groups.div_ceil(DESCRIPTORS_PER_BLOCK))
    }

    /// Returns the range of fixed metadata blocks in each flexible group.
    pub fn metadata(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        (0..self.groups).step_by(FLEX_GROUPS as usize).map(|first| {
            let groups = FLEX_GROUPS.min(self.groups - first);
            first * GROUP_BLOCKS..self.flex(first).1 + groups * (2 + TABLE_BLOCKS)
        })
    }

    /// Returns the blocks of the journal, right after the metadata of the middle flexible group.
    pub fn journal(&self) -> Range<u32> {
        let blocks = match self.blocks() {
            0..0x4_0000 => 4096,
            0x4_0000..0x8_0000 => 8192,
            0x8_0000..0x40_0000 => 16_384,
            0x40_0000..0x80_0000 => 32_768,
            0x80_0000..0x100_0000 => 65_536,
            0x100_0000..0x200_0000 => 131_072,
            _ => 262_144,
        };
        let flex = (self.groups / 2 / FLEX_GROUPS) as usize;
        let start = self.metadata().nth(flex).map_or(0, |range| range.end);
        start..start + blocks
    }

    /// Returns the block that holds the descriptor of a group.
    pub fn descriptors(&self, group: u32) -> u32 {
        1 + group / DESCRIPTORS_PER_BLOCK
    }

    pub fn block_bitmap(&self, group: u32) -> u32 {
        let (first, base) = self.flex(group);
        base + (group - first)
    }

    /// Returns the block with the inode bitmap of an inode's group.
    pub fn inode_bitmap(&self, inode: u32) -> u32 {
        let group = self.inode_group(inode);
        let (first, base) = self.flex(group);
        base + FLEX_GROUPS.min(self.groups - first) + (group - first)
    }

    /// Returns the block of the inode table that holds `inode`.
    pub fn inode_block(&self, inode: u32) -> u32 {
        let group = self.inode_group(inode);
        let (first, base) = self.flex(group);
        let tables = base + 2 * FLEX_GROUPS.min(self.groups - first);
        tables + (group - first) * TABLE_BLOCKS + inode % INODES_PER_GROUP / INODES_PER_BLOCK
    }

    pub fn inode_group(&self, inode: u32) -> u32 {
        inode / INODES_PER_GROUP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 GiB: 32 groups in two flexible groups, one descriptor block; computed by hand.
    #[test]
    fn four_gibibytes_by_hand() {
        let layout = DiskLayout::new((4 << 30) + 5000);
        assert_eq!((layout.blocks(), layout.inodes()), (1 << 20, 1 << 18));
        let second = 16 * GROUP_BLOCKS;
        // Superblock and descriptors, 16 + 16 bitmaps, 16 tables of 512 blocks.
        assert_eq!(layout.metadata().collect::<Vec<_>>(), [0..8226, second..second + 8226]);
        assert_eq!(layout.journal(), second + 8226..second + 8226 + 16_384);
        assert_eq!([0, 1, 16].map(|group| layout.block_bitmap(group)), [2, 3, second + 2]);
        assert_eq!([0, 8191, 8192].map(|inode| layout.inode_bitmap(inode)), [18, 18, 19]);
        assert_eq!([0, 15, 16, 8192].map(|inode| layout.inode_block(inode)), [34, 34, 35, 34 + 512]);
    }

    #[test]
    fn metadata_does_not_overlap_on_devices_of_any_size() {
        for groups in (2..70).chain([100, 1000, 8000]) {
            let layout = DiskLayout::new(groups * u64::from(GROUP_BLOCKS) * BLOCK);
            let journal = layout.journal();
            assert!(journal.end <= layout.blocks(), "{groups}");
            for range in layout.metadata() {
                assert!(range.end <= layout.blocks(), "{groups}");
                assert!(range.end <= journal.start || journal.end <= range.start, "{groups}");
            }
            assert!(layout.metadata().any(|range| range.contains(&layout.inode_block(layout.inodes() - 1))));
        }
    }
}
