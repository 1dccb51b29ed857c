//! Directory tree. Only the directories of the lowest level contain files. All directories of a higher level have the
//! same number of subdirectories, all of them on the next lower level; the last directory of a level may have fewer.

/// Number of directory entries per block after the hash tree has split its blocks: three quarters of the 255 entries of
/// 16 bytes that fit into a block.
const ENTRIES_PER_BLOCK: u32 = 191;

/// All directories by number. Numbering begins with the lowest level (the directories with files) and continues level
/// by level up to the root. Directory numbers equal inode numbers; the inodes of files come after them. A directory is
/// created with its first file.
#[derive(Clone, Debug)]
pub(super) struct Directories {
    /// Blocks of all directories. All directories with files have the same number of blocks; directories on higher
    /// levels have one block each.
    blocks: Vec<u32>,
    entries_each: u32,
    blocks_each: u32,
    /// Number of the first directory of each level, followed by the total number of directories.
    levels: Vec<u32>,
    made: Vec<bool>,
}

impl Directories {
    /// Plans the directories for `files` files, with `entries_each` entries per directory. [`Self::place`] assigns
    /// blocks to them.
    pub fn new(files: u32, entries_each: u32) -> Self {
        let mut levels = vec![0, files.div_ceil(entries_each)];
        while let [.., first, end] = levels[..]
            && end - first > 1
        {
            levels.push(end + (end - first).div_ceil(entries_each));
        }
        let blocks_each = entries_each.min(files).div_ceil(ENTRIES_PER_BLOCK);
        Self { blocks: Vec::new(), entries_each, blocks_each, levels, made: Vec::new() }
    }

    /// Returns the total number of directories on all levels.
    pub fn count(&self) -> u32 {
        self.levels.last().copied().unwrap_or(0)
    }

    pub fn blocks_needed(&self) -> u32 {
        self.first_block(self.count())
    }

    pub fn place(&mut self, blocks: impl Iterator<Item = u32>) {
        self.blocks = blocks.collect();
        self.made = vec![false; self.count() as usize];
    }

    #[cfg(test)]
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Returns the number of the directory that contains a file.
    pub fn of(&self, file: u32) -> u32 {
        file / self.entries_each
    }

    /// Returns the directory block with a file's entry. A hash of the file's number stands for the hash of its name.
    pub fn entry(&self, file: u32) -> u32 {
        let hash = file.wrapping_mul(0x9E37_79B1) >> 8;
        self.blocks[(self.of(file) * self.blocks_each + hash % self.blocks_each) as usize]
    }

    /// Creates the directories that a file needs; returns the new directories, lowest level first.
    pub fn make(&mut self, file: u32) -> Vec<u32> {
        let mut new = Vec::new();
        let mut directory = Some(self.of(file));
        while let Some(number) = directory
            && !std::mem::replace(&mut self.made[number as usize], true)
        {
            new.push(number);
            directory = self.parent(number);
        }
        new
    }

    /// Returns the blocks of a directory, and the block of its parent directory that contains the directory's entry.
    pub fn made(&self, directory: u32) -> (Vec<u32>, Option<u32>) {
        let blocks = self.first_block(directory)..self.first_block(directory + 1);
        let parent = self.parent(directory).map(|parent| self.blocks[self.first_block(parent) as usize]);
        (self.blocks[blocks.start as usize..blocks.end as usize].to_vec(), parent)
    }

    fn first_block(&self, directory: u32) -> u32 {
        let holders = directory.min(self.levels[1]);
        holders * self.blocks_each + (directory - holders)
    }

    fn parent(&self, directory: u32) -> Option<u32> {
        let level = self.levels.iter().rposition(|&first| first <= directory)?;
        let up = self.levels[level + 1];
        (up < self.count()).then(|| up + (directory - self.levels[level]) / self.entries_each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_by_hand() {
        // 50 files in directories of four: 13 directories for files, 4 above them, and the root.
        let mut tree = Directories::new(50, 4);
        assert_eq!((tree.count(), tree.blocks_needed()), (18, 18));
        tree.place(100..118);
        assert_eq!((tree.of(21), tree.entry(21)), (5, 105));
        assert_eq!(tree.make(21), [5, 14, 17]);
        assert_eq!(
            (tree.made(5), tree.made(14), tree.made(17)),
            ((vec![105], Some(114)), (vec![114], Some(117)), (vec![117], None))
        );
        // Files in the same directory, in a neighbouring directory and in a distant directory.
        assert_eq!([tree.make(20), tree.make(18), tree.make(0)], [vec![], vec![4], vec![0, 13]]);
    }

    #[test]
    fn a_flat_fileset_has_one_directory_of_many_blocks() {
        let mut flat = Directories::new(400, 1_000_000);
        assert_eq!((flat.count(), flat.blocks_needed()), (1, 3));
        flat.place(7..10);
        assert_eq!((flat.make(399), flat.made(0)), (vec![0], (vec![7, 8, 9], None)));
        assert!((0..400).all(|file| (7..10).contains(&flat.entry(file))));
    }
}
