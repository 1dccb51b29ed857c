//! Journal: groups metadata blocks into transactions and places them in the log.
//!
//! Models jbd2 (fs/jbd2/commit.c, checkpoint.c). One transaction runs while at most one commits. A commit logs a
//! descriptor and the changed blocks, then a commit block with preflush and FUA. Blocks freed by a deletion are
//! reusable only after the deletion is committed.
//!
//! A logged block is written to its home location in two cases. First, the log needs room and no later transaction has
//! logged the block again. Second, the metadata pages of the block device have expired: the flusher (fs/fs-writeback.c)
//! treats them as one file, and writes all of them when the oldest page has reached the age limit.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::allocator::Extent;

/// Maximum number of blocks that one descriptor lists (16-byte tags).
const TAGS: u32 = 254;
/// A transaction is committed immediately if it is larger than the log's size divided by this number.
const LARGEST_SHARE: u32 = 4;

/// A transaction of the journal: metadata blocks that are changed together.
#[derive(Clone, Debug, Default)]
pub(super) struct Transaction {
    /// Home locations of the blocks on the device, in the order in which the blocks were first changed.
    pub blocks: Vec<u32>,
    pub freed: Vec<Extent>,
}

/// A committed transaction that still occupies the log.
#[derive(Clone, Debug)]
struct LoggedTransaction {
    number: u32,
    blocks: Vec<u32>,
    log_blocks: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Journal {
    /// Blocks that the log occupies; the first block holds the log's superblock.
    place: Range<u32>,
    /// Next log block to write, counted from the first block after the superblock.
    head: u32,
    used: u32,
    number: u32,
    running: Transaction,
    committing: Option<Transaction>,
    in_log: VecDeque<LoggedTransaction>,
    /// Time in ns at which metadata pages of the block device became dirty; `None` if they are clean.
    dirty_since_ns: Option<u64>,
    /// For each block, the number of the last transaction that changed it. A block's entry is removed once that change
    /// is written to the block's home location.
    latest: FxHashMap<u32, u32>,
}

impl Journal {
    /// Creates the journal of a file system that is mounted at time 0; mounting makes the superblock dirty.
    pub fn new(place: Range<u32>) -> Self {
        Self {
            place,
            head: 0,
            used: 0,
            number: 1,
            running: Transaction::default(),
            committing: None,
            in_log: VecDeque::new(),
            dirty_since_ns: Some(0),
            latest: FxHashMap::default(),
        }
    }

    /// Returns the number of the running transaction.
    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn is_committing(&self) -> bool {
        self.committing.is_some()
    }

    /// True if no metadata block changed since the last commit began.
    pub fn is_clean(&self) -> bool {
        self.running.blocks.is_empty()
    }

    /// True if freed blocks are waiting for a commit that makes them reusable.
    pub fn frees(&self) -> bool {
        !self.running.freed.is_empty() || self.committing.as_ref().is_some_and(|old| !old.freed.is_empty())
    }

    /// True if the running transaction is large enough to be committed.
    pub fn is_large(&self) -> bool {
        self.running.blocks.len() as u32 >= self.log_len() / LARGEST_SHARE
    }

    pub fn superblock(&self) -> u32 {
        self.place.start
    }

    pub fn change(&mut self, block: u32) {
        if self.latest.insert(block, self.number) != Some(self.number) {
            self.running.blocks.push(block);
        }
    }

    /// Keeps freed blocks unusable until the running transaction is committed.
    pub fn free(&mut self, extent: Extent) {
        self.running.freed.push(extent);
    }

    /// True if the log lacks space for the running transaction, and releasing older transactions could free space.
    pub fn lacks_room(&self) -> bool {
        self.used + logged(self.running.blocks.len() as u32) + 1 > self.log_len() && !self.in_log.is_empty()
    }

    /// Frees log space: releases transactions, oldest first, up to and including the first one that still has blocks to
    /// write to their home locations. Returns these blocks; the caller must write them.
    pub fn checkpoint(&mut self) -> Vec<u32> {
        while let Some(oldest) = self.in_log.pop_front() {
            self.used -= oldest.log_blocks;
            let home = self.take_home(oldest.blocks, oldest.number);
            if !home.is_empty() {
                return home;
            }
        }
        Vec::new()
    }

    /// If metadata pages have been dirty since `before_ns` or earlier, returns all committed blocks in ascending order.
    /// The caller must write them to their home locations.
    pub fn aged(&mut self, before_ns: u64) -> Vec<u32> {
        let mut home = Vec::new();
        if self.dirty_since_ns.is_none_or(|since_ns| since_ns > before_ns) {
            return home;
        }
        self.dirty_since_ns = None;
        for index in 0..self.in_log.len() {
            let (blocks, number) = (std::mem::take(&mut self.in_log[index].blocks), self.in_log[index].number);
            home.extend(self.take_home(blocks, number));
        }
        home.sort_unstable();
        home
    }

    /// Returns the entries of `blocks` that no transaction after `number` changed, and marks them as written to their
    /// home locations.
    fn take_home(&mut self, mut blocks: Vec<u32>, number: u32) -> Vec<u32> {
        blocks.retain(|block| self.latest.get(block) == Some(&number) && self.latest.remove(block).is_some());
        blocks
    }

    /// Starts committing the running transaction; returns the log blocks for descriptors and metadata, in order.
    pub fn begin(&mut self) -> impl Iterator<Item = u32> {
        let transaction = std::mem::take(&mut self.running);
        let count = logged(transaction.blocks.len() as u32);
        self.number += 1;
        self.committing = Some(transaction);
        let (first, place) = (self.head, self.place.clone());
        self.head = (self.head + count) % self.log_len();
        self.used += count;
        (first..first + count).map(move |at| place.start + 1 + at % (place.end - place.start - 1))
    }

    /// Reserves the log block for the commit block, and returns its number.
    pub fn seal(&mut self) -> u32 {
        let block = self.place.start + 1 + self.head;
        self.head = (self.head + 1) % self.log_len();
        self.used += 1;
        block
    }

    /// Ends the commit of a transaction; returns the extents that are now reusable.
    pub fn end(&mut self, now_ns: u64) -> Vec<Extent> {
        let Some(Transaction { blocks, freed }) = self.committing.take() else { return Vec::new() };
        let log_blocks = logged(blocks.len() as u32) + 1;
        self.in_log.push_back(LoggedTransaction { number: self.number - 1, blocks, log_blocks });
        self.dirty_since_ns.get_or_insert(now_ns);
        freed
    }

    fn log_len(&self) -> u32 {
        self.place.end - self.place.start - 1
    }
}

/// Returns the number of log blocks for `count` metadata blocks, including descriptors.
fn logged(count: u32) -> u32 {
    count + count.div_ceil(TAGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_by_hand() {
        let mut journal = Journal::new(1000..1021);
        [50, 60, 50].into_iter().for_each(|block| journal.change(block));
        journal.free(Extent { start: 9, blocks: 2 });
        // The log starts with its superblock. The transaction has a descriptor, two metadata blocks and the commit
        // block.
        assert_eq!(journal.begin().collect::<Vec<_>>(), [1001, 1002, 1003]);
        assert!(journal.is_committing() && journal.is_clean());
        // The next transaction may change a block that is being committed.
        journal.change(60);
        assert_eq!((journal.seal(), journal.number()), (1004, 2));
        assert_eq!(journal.end(7), [Extent { start: 9, blocks: 2 }]);
        assert!(!journal.is_committing());
        // The mount dirtied the device at time 0. Block 50 is written to its home location; block 60 waits for its
        // commit.
        assert_eq!(journal.aged(0), [50]);
        journal.begin().for_each(drop);
        journal.seal();
        journal.end(9);
        assert_eq!((journal.aged(8), journal.aged(9), journal.aged(100)), (vec![], vec![60], vec![]));
    }

    #[test]
    fn a_full_log_writes_its_oldest_blocks_home() {
        let mut journal = Journal::new(0..13);
        for (first, count) in [(100, 3), (102, 4)] {
            (first..first + count).for_each(|block| journal.change(block));
            assert!(!journal.lacks_room());
            assert_eq!(journal.begin().count() as u32, count + 1);
            journal.seal();
            journal.end(0);
        }
        // Two transactions use 5 + 6 of the 12 log blocks; the next transaction needs three.
        journal.change(300);
        assert!(journal.lacks_room());
        assert_eq!(journal.checkpoint(), [100, 101], "102 was logged again");
        assert!(!journal.lacks_room());
        assert_eq!(journal.begin().collect::<Vec<_>>(), [12, 1], "the log wraps around");
    }

    #[test]
    fn descriptors_name_254_blocks_each() {
        assert_eq!([1, 254, 255, 508, 509].map(logged), [2, 255, 257, 510, 512]);
    }
}
