//! Executes the operations of the user threads.

use super::file_system::{Bio, Full, Pages};
use super::layout::BLOCK;
use super::personality::{Access, Database, Personality, Role, Step, Work};
use super::write_back::Committed;
use super::{Actor, FilebenchRun};
use crate::{Op, flag};

/// Size in bytes of one read or write when a whole file is read or written.
pub(super) const IO_BYTES: u64 = 1 << 20;
const IO_PAGES: u32 = (IO_BYTES / BLOCK) as u32;
/// Exclusive upper limit of the length of an append, in bytes.
const APPEND_BYTES: u64 = 16 << 10;

/// Progress of a thread's sync, which makes a file durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Durable {
    No,
    /// The thread has written a page and waits until the page is durable.
    Dirty,
    /// The dirty pages that already have a block on the device are being written. The other dirty pages have no block
    /// yet.
    Placed,
    /// All dirty pages of the file are written.
    Pages,
    /// All pages are written, and the inode is committed too.
    All,
}

/// A user thread, which performs the steps of its personality or its role in the database.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    role: Option<Role>,
    steps: &'static [Step],
    /// Index in `steps` of the thread's current or next step.
    step: usize,
    file: Option<u32>,
    /// Progress of the current step: bytes to append, pages read, or bytes written. `None` before the step starts.
    amount: Option<u64>,
    access: Option<Access>,
    durable: Durable,
}

impl Thread {
    pub fn all(personality: &Personality, threads: u32, files: u32) -> Vec<Self> {
        let thread =
            |role, steps| Self { role, steps, step: 0, file: None, amount: None, access: None, durable: Durable::No };
        match personality.role.work {
            Work::Loop(steps) => (0..threads).map(|_| thread(None, steps)).collect(),
            Work::Database => Database::roles(threads, files).map(|role| thread(Some(role), &[])).collect(),
        }
    }

    /// Returns the name of the thread. `number` is the index of the thread, from 0.
    pub fn name(&self, number: usize) -> String {
        self.role.map_or_else(|| format!("filebench/{}", number + 1), Database::name)
    }

    fn advance(&mut self) {
        self.step = (self.step + 1) % self.steps.len();
        self.amount = None;
    }
}

impl FilebenchRun {
    pub(super) fn thread(&mut self, thread: u32, now_ns: u64) -> Result<(), Full> {
        match self.threads[thread as usize].role {
            Some(role) => self.access(thread, role, now_ns),
            None => self.steps(thread, now_ns),
        }
    }

    fn steps(&mut self, number: u32, now_ns: u64) -> Result<(), Full> {
        let again = Actor::Thread(number);
        let after_ns = now_ns + self.think_ns();
        loop {
            let thread = &mut self.threads[number as usize];
            let step = thread.steps[thread.step];
            let file = if step == Step::AppendLog { Some(self.filebench.files) } else { thread.file };
            match (step, file) {
                (Step::Create, _) => {
                    thread.file = self.set.create();
                    if let Some(file) = thread.file {
                        self.fs.create(file, now_ns);
                    }
                }
                (Step::Delete, _) => {
                    if let Some(file) = self.set.delete() {
                        self.fs.delete(file, now_ns);
                    }
                }
                (Step::Open, _) => {
                    thread.file = self.set.open_existing();
                    thread.advance();
                    continue;
                }
                (Step::Close, _) => {
                    if let Some(file) = thread.file.take() {
                        self.set.close(file);
                    }
                    thread.advance();
                    continue;
                }
                // No file was left to create or open, so the thread has no open file; the step is skipped.
                (_, None) => {
                    thread.advance();
                    continue;
                }
                (Step::WriteWhole, Some(file)) => {
                    let (at, bytes) = (thread.amount.unwrap_or(0), self.sizes[file as usize]);
                    let piece = (bytes - at).min(IO_BYTES);
                    self.fs.write(file, at, piece, now_ns);
                    if at + piece < bytes {
                        self.threads[number as usize].amount = Some(at + piece);
                        self.go_on(again, after_ns, now_ns);
                        return Ok(());
                    }
                }
                (Step::Append | Step::AppendLog, Some(file)) => {
                    let bytes = *thread.amount.get_or_insert_with(|| self.rng.below(APPEND_BYTES));
                    let end = self.fs.len(file);
                    if let Some(page) = self.fs.page_to_read(file, end, bytes) {
                        self.read_page(number, file, page, now_ns);
                        return Ok(());
                    }
                    self.fs.write(file, end, bytes, now_ns);
                }
                (Step::ReadWhole, Some(file)) => {
                    let first = thread.amount.unwrap_or(0) as u32;
                    let pages = self.fs.pages(file);
                    let end = pages.min(first.saturating_add(IO_PAGES));
                    self.fs.read(file, first..end, flag::AHEAD, &mut self.bios);
                    let done_ns = self.submit(now_ns, number as u16 + 1);
                    let thread = &mut self.threads[number as usize];
                    if end < pages {
                        thread.amount = Some(end.into());
                    } else {
                        thread.advance();
                    }
                    self.at(done_ns + (after_ns - now_ns), again);
                    return Ok(());
                }
                (Step::Sync, Some(file)) => {
                    if !self.sync(number, file, None, now_ns)? {
                        return Ok(());
                    }
                }
            }
            self.threads[number as usize].advance();
            self.go_on(again, after_ns, now_ns);
            return Ok(());
        }
    }

    /// Reads a page that a write covers partially; returns the time when the thread continues.
    fn read_page(&mut self, thread: u32, file: u32, page: u32, now_ns: u64) -> u64 {
        self.fs.read(file, page..page + 1, 0, &mut self.bios);
        let done_ns = self.submit(now_ns, thread as u16 + 1);
        self.at(done_ns, Actor::Thread(thread));
        done_ns
    }

    /// Makes a file durable: its dirty pages (all, or only `page`) and its inode. Returns true when done; otherwise,
    /// the caller must call again at the thread's next event.
    fn sync(&mut self, number: u32, file: u32, page: Option<u32>, now_ns: u64) -> Result<bool, Full> {
        let stream = number as u16 + 1;
        match self.threads[number as usize].durable {
            // Pages that already have blocks are written first. The other pages are written in a second pass, which
            // allocates their blocks (fs/ext4/inode.c, `ext4_do_writepages`).
            Durable::No | Durable::Dirty if page.is_none() => {
                self.fs.write_back(file, Pages::Placed, flag::SYNC, &mut self.bios)?;
                let done_ns = self.submit(now_ns, stream);
                let left = self.fs.has_dirty(file);
                self.threads[number as usize].durable = if left { Durable::Placed } else { Durable::Pages };
                let again_ns = if left { now_ns + self.think_ns() } else { done_ns };
                self.at(again_ns, Actor::Thread(number));
                Ok(false)
            }
            Durable::No | Durable::Dirty | Durable::Placed => {
                // If a page is being written already, it is written again afterwards, with all changes made in the
                // meantime.
                if let Some(&(until_ns, _)) = page.and_then(|page| self.moving.get(&(file, page)))
                    && until_ns > now_ns
                {
                    self.at(until_ns, Actor::Thread(number));
                    return Ok(false);
                }
                self.fs.write_back(file, page.map_or(Pages::UpTo(u32::MAX), Pages::One), flag::SYNC, &mut self.bios)?;
                self.threads[number as usize].durable = Durable::Pages;
                let done_ns = self.submit(now_ns, stream);
                if let Some(page) = page {
                    self.moving.insert((file, page), (done_ns, Op::Write));
                }
                self.at(done_ns, Actor::Thread(number));
                Ok(false)
            }
            Durable::Pages => {
                let committed = self.wait_for_commit(number, self.fs.transaction(file), now_ns);
                if committed != Committed::WithoutFlush {
                    self.threads[number as usize].durable = Durable::All;
                }
                if committed == Committed::Before {
                    // The inode is already in the log; only the pages must still be flushed.
                    self.bios.push(Bio::FLUSH);
                    let done_ns = self.submit(now_ns, stream);
                    self.at(done_ns, Actor::Thread(number));
                }
                Ok(false)
            }
            Durable::All => {
                self.threads[number as usize].durable = Durable::No;
                Ok(true)
            }
        }
    }

    /// Advances a database thread: continues its current read or write, or starts the next one when the current one is
    /// done.
    fn access(&mut self, number: u32, role: Role, now_ns: u64) -> Result<(), Full> {
        let Some(access) = self.threads[number as usize].access else {
            return self.next_access(number, role, now_ns);
        };
        let page = (access.at / BLOCK) as u32;
        if !matches!(role, Role::Shadow(_)) {
            let thread = &mut self.threads[number as usize];
            if thread.durable == Durable::No {
                if let Some(&(until_ns, Op::Read)) = self.moving.get(&(access.file, page))
                    && until_ns > now_ns
                {
                    self.at(until_ns, Actor::Thread(number));
                    return Ok(());
                }
                if let Some(page) = self.fs.page_to_read(access.file, access.at, access.bytes) {
                    let done_ns = self.read_page(number, access.file, page, now_ns);
                    self.moving.insert((access.file, page), (done_ns, Op::Read));
                    return Ok(());
                }
                thread.durable = Durable::Dirty;
                self.fs.write(access.file, access.at, access.bytes, now_ns);
            }
            let only_page = (access.bytes <= BLOCK).then_some(page);
            if !self.sync(number, access.file, only_page, now_ns)? {
                return Ok(());
            }
        }
        self.threads[number as usize].access = None;
        if self.database.as_mut().is_some_and(|database| database.done(role)) {
            for idle in std::mem::take(&mut self.idle) {
                self.at(now_ns, Actor::Thread(idle));
            }
        }
        self.next_access(number, role, now_ns)
    }

    fn next_access(&mut self, number: u32, role: Role, now_ns: u64) -> Result<(), Full> {
        let access = self.database.as_mut().and_then(|database| database.next(role));
        self.threads[number as usize].access = access;
        let Some(Access { file, at, .. }) = access else {
            self.idle.push(number);
            return Ok(());
        };
        if matches!(role, Role::Shadow(_)) {
            let page = (at / BLOCK) as u32;
            self.fs.read(file, page..page + 1, flag::AHEAD, &mut self.bios);
        }
        let done_ns = self.submit(now_ns, number as u16 + 1);
        let think_ns = self.think_ns();
        self.at(done_ns + think_ns, Actor::Thread(number));
        Ok(())
    }
}
