//! Simulates kernel activity: write-back of dirty pages, throttling of writers, journal commits.

use super::file_system::{Bio, Full, Pages};
use super::{Actor, FLUSH_NS, FilebenchRun};
use crate::flag;

/// Background write-back starts when dirty pages exceed the size of the cache divided by this constant.
const BACKGROUND: u32 = 10;
/// Writers are throttled when dirty pages exceed the size of the cache divided by this constant.
const HARD: u32 = 5;
/// Dirty pages are written back when they reach this age in ns.
const EXPIRE_NS: u64 = 30_000_000_000;
/// Number of pages that the flusher writes before it waits (fs/fs-writeback.c, MIN_WRITEBACK_PAGES).
const BATCH_PAGES: u32 = 1024;

/// Limits on the number of dirty pages (mm/page-writeback.c).
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    background: u32,
    hard: u32,
    /// Number of pages being written to the device.
    writing: u32,
    waiting: Vec<Actor>,
}

impl Throttle {
    pub fn new(cache_pages: u32) -> Self {
        Self { background: cache_pages / BACKGROUND, hard: cache_pages / HARD, writing: 0, waiting: Vec::new() }
    }
}

/// State of the commit that a thread waits for. The state determines whether the thread must flush its data itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Committed {
    /// The transaction is already committed.
    Before,
    /// The commit will wake the thread, and its flush also covers the thread's data.
    WithFlush,
    /// The commit will wake the thread, which must then flush its data.
    WithoutFlush,
}

/// Stage of jbd2's commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum CommitStage {
    #[default]
    Idle,
    /// jbd2 writes blocks to their home locations to make room in the log.
    Home,
    /// jbd2 updates the log's superblock after blocks were written to their home locations.
    Tail,
    /// jbd2 writes descriptors and metadata to the log.
    Log,
    /// jbd2 writes the commit block.
    Seal,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Commit {
    stage: CommitStage,
    wanted: bool,
    /// Threads waiting for the commit of the running transaction.
    waiting: Vec<u32>,
    /// Threads waiting for the transaction that is being committed.
    committing: Vec<u32>,
    /// Actors that found no free blocks and retry after the next commit.
    out_of_space: Vec<Actor>,
    /// Number of the transaction whose commit timer is set.
    pub timed: u32,
}

/// State of the flusher, which writes dirty pages back.
#[derive(Clone, Debug, Default)]
pub(super) struct Flusher {
    awake: bool,
    /// Files that have been dirty since before this time (ns) are written regardless of the limits.
    before_ns: u64,
}

impl FilebenchRun {
    /// Schedules a writer to continue at `time_ns`, or later if too many pages are dirty.
    pub(super) fn go_on(&mut self, actor: Actor, time_ns: u64, now_ns: u64) {
        let dirty = self.fs.cache.dirty();
        if dirty > self.throttle.background {
            self.wake_flusher(now_ns);
        }
        if dirty + self.throttle.writing > self.throttle.hard {
            self.throttle.waiting.push(actor);
        } else {
            self.at(time_ns, actor);
        }
    }

    fn wake_flusher(&mut self, now_ns: u64) {
        if !std::mem::replace(&mut self.flusher.awake, true) {
            self.at(now_ns, Actor::Flusher);
        }
    }

    /// Handles a flusher event: writes a batch of pages of the files that have been dirty the longest.
    pub(super) fn flush(&mut self, now_ns: u64) -> Result<(), Full> {
        let mut pages = 0;
        while pages < BATCH_PAGES
            && let Some((since_ns, file)) = self.fs.oldest_dirty()
            && (since_ns < self.flusher.before_ns || self.fs.cache.dirty() > self.throttle.background)
        {
            match self.fs.write_back(file, Pages::UpTo(BATCH_PAGES - pages), 0, &mut self.bios) {
                Ok(written) => pages += written,
                Err(full) if pages == 0 => return Err(full),
                Err(_) => break,
            }
            self.fs.dirty_again(file);
        }
        self.flusher.awake = pages > 0;
        if pages > 0 {
            self.throttle.writing += pages;
            let done_ns = self.submit(now_ns, self.flusher_stream());
            self.at(done_ns, Actor::Written(pages));
            self.at(done_ns, Actor::Flusher);
        }
        Ok(())
    }

    /// Records that pages reached the device. Waiting writers continue when the number of dirty pages has fallen to the
    /// midpoint between the background limit and the hard limit.
    pub(super) fn written(&mut self, pages: u32, now_ns: u64) {
        self.throttle.writing -= pages;
        if self.fs.cache.dirty() + self.throttle.writing <= (self.throttle.background + self.throttle.hard) / 2 {
            for actor in std::mem::take(&mut self.throttle.waiting) {
                self.at(now_ns, actor);
            }
        }
    }

    /// Starts write-back of expired pages every 5 s, for both file data and metadata (the pages of the block device).
    pub(super) fn flush_aged(&mut self, now_ns: u64) {
        self.at(now_ns + FLUSH_NS, Actor::FlushTimer);
        self.flusher.before_ns = now_ns.saturating_sub(EXPIRE_NS);
        self.wake_flusher(now_ns);
        let home = now_ns.checked_sub(EXPIRE_NS).map(|before_ns| self.fs.journal.aged(before_ns));
        self.bios.extend(home.into_iter().flatten().map(|block| Bio::write(block, flag::META)));
        self.submit(now_ns, self.flusher_stream());
    }

    /// Makes a thread wait until a transaction is committed. If the commit has already sent its flush, this flush does
    /// not cover data written later (fs/jbd2/journal.c, `jbd2_trans_will_send_data_barrier`).
    pub(super) fn wait_for_commit(&mut self, thread: u32, transaction: u32, now_ns: u64) -> Committed {
        let running = self.fs.journal.number();
        if transaction == running {
            self.commit.waiting.push(thread);
            self.want_commit(now_ns);
            Committed::WithFlush
        } else if transaction + 1 == running && self.fs.journal.is_committing() {
            self.commit.committing.push(thread);
            if self.commit.stage == CommitStage::Seal { Committed::WithoutFlush } else { Committed::WithFlush }
        } else {
            Committed::Before
        }
    }

    /// Requests a commit of the running transaction: immediately, or after the commit in progress.
    pub(super) fn want_commit(&mut self, now_ns: u64) {
        if !std::mem::replace(&mut self.commit.wanted, true) && self.commit.stage == CommitStage::Idle {
            self.at(now_ns, Actor::Journal);
        }
    }

    /// Lets an actor that found no free blocks retry after a commit (fs/ext4/balloc.c, `ext4_should_retry_alloc`).
    pub(super) fn retry_after_commit(&mut self, actor: Actor, now_ns: u64) -> Result<(), Full> {
        if !self.fs.journal.frees() {
            return Err(Full);
        }
        self.commit.out_of_space.push(actor);
        if !self.fs.journal.is_clean() {
            self.want_commit(now_ns);
        }
        Ok(())
    }

    /// Handles a journal event, which occurs when the I/O that the journal waited for has completed.
    pub(super) fn journal(&mut self, now_ns: u64) {
        let logged = flag::SYNC | flag::META;
        match self.commit.stage {
            CommitStage::Log => {
                let block = self.fs.journal.seal();
                self.bios.push(Bio::write(block, logged | flag::PREFLUSH | flag::FUA));
                self.commit.stage = CommitStage::Seal;
            }
            CommitStage::Home => {
                self.bios.push(Bio::FLUSH);
                self.bios.push(Bio::write(self.fs.journal.superblock(), logged | flag::FUA));
                self.commit.stage = CommitStage::Tail;
            }
            CommitStage::Idle | CommitStage::Tail | CommitStage::Seal => {
                if self.commit.stage == CommitStage::Seal {
                    self.fs.end_commit(now_ns);
                    for thread in std::mem::take(&mut self.commit.committing) {
                        self.at(now_ns, Actor::Thread(thread));
                    }
                    for actor in std::mem::take(&mut self.commit.out_of_space) {
                        self.at(now_ns, actor);
                    }
                }
                self.commit.stage = CommitStage::Idle;
                if !self.commit.wanted {
                    return;
                }
                if self.fs.journal.lacks_room() {
                    self.bios.extend(self.fs.journal.checkpoint().into_iter().map(|block| Bio::write(block, logged)));
                    self.commit.stage = CommitStage::Home;
                } else {
                    self.bios.extend(self.fs.journal.begin().map(|block| Bio::write(block, logged)));
                    self.commit.wanted = false;
                    self.commit.committing = std::mem::take(&mut self.commit.waiting);
                    self.commit.stage = CommitStage::Log;
                }
            }
        }
        let done_ns = self.submit(now_ns, self.journal_stream());
        self.at(done_ns, Actor::Journal);
    }
}
