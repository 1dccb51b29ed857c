//! Demotes a victim of the uncompressed pool: stores the page if it is dirty, then compresses it. No lock is held
//! meanwhile.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use scopeguard::{ScopeGuard, guard};
use ssdlab_codec::Codec;
use twox_hash::XxHash3_64;

use crate::flight::SharedShard;
use crate::loader::{CodecFactory, Loader};
use crate::options::{Incompressible, Options};
use crate::shard::{Compressed, Job, JobResult, VictimAction};
use crate::sync::{Condvar, Mutex};

/// A codec and its buffers, used by one thread at a time.
pub struct CodecContext {
    codec: Box<dyn Codec>,
    /// Copy of a compressed page that is to be restored.
    pub incoming: Box<[u8]>,
    outgoing: Box<[u8]>,
    broken: bool,
}

/// Pool of codec contexts. Contexts are created on demand, up to a limit.
pub struct CodecPool {
    state: Mutex<CodecPoolState>,
    /// Condition variable that is signalled when a codec context is returned or discarded.
    returned: Condvar,
    make: CodecFactory,
    page_bytes: usize,
    max_stored_bytes: usize,
    keeps_incompressible: bool,
    max_contexts: usize,
    pub codec_panics: AtomicU64,
}

#[derive(Default)]
struct CodecPoolState {
    idle: Vec<CodecContext>,
    /// Number of existing codec contexts, borrowed or idle.
    contexts: usize,
    /// Number of threads waiting for a codec context. A notification costs a system call, so it is skipped if no thread
    /// waits.
    waiting: usize,
}

impl CodecPool {
    pub fn new(make: CodecFactory, options: &Options, max_contexts: usize) -> Self {
        Self {
            state: Mutex::default(),
            returned: Condvar::default(),
            make,
            page_bytes: options.page_bytes as usize,
            max_stored_bytes: options.max_stored_bytes(),
            keeps_incompressible: options.incompressible == Incompressible::StoreRaw,
            max_contexts,
            codec_panics: AtomicU64::new(0),
        }
    }

    /// Returns the size of a codec context in bytes, excluding memory that the codec's library allocates.
    pub fn context_bytes(page_bytes: usize) -> usize {
        2 * page_bytes
    }

    /// Returns the size of all codec contexts in bytes, excluding memory that the codecs' libraries allocate.
    pub fn bytes(&self) -> usize {
        self.state.lock().contexts * Self::context_bytes(self.page_bytes)
    }

    /// Borrows a codec context; waits if all contexts are in use. The caller must hold no lock and no victim, because a
    /// thread with a context may wait for that lock or victim.
    pub fn take(&self) -> io::Result<Borrowed<'_>> {
        loop {
            if let Some(context) = self.try_take()? {
                return Ok(context);
            }
            self.wait();
        }
    }

    /// Borrows a codec context if a context is idle or the limit allows another one.
    pub fn try_take(&self) -> io::Result<Option<Borrowed<'_>>> {
        let mut state = self.state.lock();
        let context = match state.idle.pop() {
            Some(context) => context,
            None if state.contexts < self.max_contexts => {
                state.contexts += 1;
                drop(state);
                let buffer = || vec![0; self.page_bytes].into();
                match (self.make)() {
                    Ok(codec) => CodecContext { codec, incoming: buffer(), outgoing: buffer(), broken: false },
                    Err(error) => {
                        self.discard();
                        return Err(error);
                    }
                }
            }
            None => return Ok(None),
        };
        Ok(Some(Borrowed { contexts: self, context: Some(context) }))
    }

    /// Waits until a codec context is available. Another thread may take the context before the caller does.
    pub fn wait(&self) {
        let mut state = self.state.lock();
        while state.idle.is_empty() && state.contexts == self.max_contexts {
            state.waiting += 1;
            state = self.returned.wait(state);
            state.waiting -= 1;
        }
    }

    fn discard(&self) {
        self.change(|state| state.contexts -= 1);
    }

    /// Changes the pool's state. Notifies all waiting threads rather than one, because a woken thread may no longer
    /// need a codec context.
    fn change(&self, change: impl FnOnce(&mut CodecPoolState)) {
        let mut state = self.state.lock();
        change(&mut state);
        let notify = state.waiting > 0;
        drop(state);
        if notify {
            self.returned.notify_all();
        }
    }
}

/// Borrowed codec context, which returns to its pool on drop.
pub struct Borrowed<'a> {
    contexts: &'a CodecPool,
    context: Option<CodecContext>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.context.take() {
            if context.broken {
                self.contexts.discard();
            } else {
                self.contexts.change(|state| state.idle.push(context));
            }
        }
    }
}

impl Borrowed<'_> {
    fn context(&mut self) -> &mut CodecContext {
        self.context.as_mut().expect("the codec context is held until the guard is dropped")
    }

    /// Returns the buffer into which a compressed page is copied before it is restored.
    pub fn incoming(&mut self) -> &mut [u8] {
        &mut self.context().incoming
    }

    /// Returns the buffer of the incoming page, and the buffer of the outgoing page that [`Borrowed::demote_one`]
    /// filled.
    pub fn buffers(&mut self) -> (&mut [u8], &[u8]) {
        let context = self.context();
        (&mut context.incoming, &context.outgoing)
    }

    /// Calls `work` with the codec context. If `work` panics, counts the panic, marks the context as broken so that it
    /// is discarded when it is returned to the pool, and returns `None`.
    fn with_codec<T>(&mut self, work: impl FnOnce(&mut CodecContext) -> T) -> Option<T> {
        let context = self.context.as_mut().expect("the codec context is held until the guard is dropped");
        let result = catch_unwind(AssertUnwindSafe(|| work(context)));
        if result.is_err() {
            context.broken = true;
            self.contexts.codec_panics.fetch_add(1, Relaxed);
        }
        result.ok()
    }

    /// Restores the compressed page in the incoming buffer to `page`; returns false if it is corrupted.
    pub fn restore(&mut self, compressed: &Compressed, page: &mut [u8]) -> bool {
        let len = compressed.len as usize;
        if checksum(&self.context().incoming[..len]) != compressed.crc {
            return false;
        }
        if len == page.len() {
            page.copy_from_slice(&self.context().incoming);
            return true;
        }
        self.with_codec(|context| context.codec.decompress(&context.incoming[..len], page).is_ok()) == Some(true)
    }

    /// Stores and compresses a victim; writes the compressed page to the start of `out`. Fails if the victim could not
    /// be stored.
    pub fn demote<L: Loader>(&mut self, loader: &L, job: &Job, out: &mut [u8]) -> Result<JobResult, L::Error> {
        store(loader, job)?;
        Ok(self.compress(job, out))
    }

    fn compress(&mut self, job: &Job, out: &mut [u8]) -> JobResult {
        if job.action != VictimAction::Compress {
            return JobResult::Drop;
        }
        let max_bytes = self.contexts.max_stored_bytes;
        // A faulty codec may return a length that exceeds the buffer; the page then counts as incompressible.
        let len = match self.with_codec(|context| context.codec.compress(&job.page, &mut out[..max_bytes])).flatten() {
            Some(len) if len <= max_bytes => len,
            _ if self.contexts.keeps_incompressible => {
                out[..job.page.len()].copy_from_slice(&job.page);
                job.page.len()
            }
            _ => return JobResult::Incompressible,
        };
        JobResult::Keep { len, crc: checksum(&out[..len]) }
    }

    /// Like [`Borrowed::demote`], but writes to the outgoing buffer of the borrowed codec context.
    pub fn demote_one<L: Loader>(&mut self, loader: &L, job: &Job) -> Result<JobResult, L::Error> {
        // Stores the page before taking the buffer out of the context, so that the context still has its buffer if the
        // loader panics.
        store(loader, job)?;
        let mut out = std::mem::take(&mut self.context().outgoing);
        let result = self.compress(job, &mut out);
        self.context().outgoing = out;
        Ok(result)
    }
}

fn store<L: Loader>(loader: &L, job: &Job) -> Result<(), L::Error> {
    if job.dirty { loader.store(job.id, &job.page) } else { Ok(()) }
}

/// Returns a guard for jobs. If a panic in the loader drops the guard, the jobs are cancelled and their pages stay
/// unchanged.
pub fn cancel_on_drop<J: IntoIterator<Item = Job>>(
    shard: &SharedShard,
    jobs: J,
    victims: bool,
) -> ScopeGuard<J, impl FnOnce(J)> {
    guard(jobs, move |jobs| {
        let mut state = shard.lock_as_worker();
        jobs.into_iter().for_each(|job| state.cancel(job, victims));
    })
}

/// Returns a checksum to detect damaged data: the low 32 bits of XXH3-64, which is faster than a CRC.
fn checksum(bytes: &[u8]) -> u32 {
    XxHash3_64::oneshot(bytes) as u32
}
