//! What happens to a victim of the raw pool outside of any lock: it is stored if it is dirty, then compressed.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use scopeguard::{ScopeGuard, guard};
use ssdlab_codec::Codec;
use twox_hash::XxHash3_64;

use crate::flight::SharedShard;
use crate::pool::{CodecFactory, Loader};
use crate::shard::{Compressed, Done, Job, Wish};
use crate::sync::{Condvar, Mutex};

/// A codec and its buffers, for one thread.
pub struct Kit {
    codec: Box<dyn Codec>,
    /// A compressed page on its way out of the pool.
    pub incoming: Box<[u8]>,
    outgoing: Box<[u8]>,
    broken: bool,
}

/// Codecs that wait for threads. There are as many as threads were at work at once, up to a limit: they are memory.
pub struct Kits {
    state: Mutex<Waiting>,
    /// A kit came back.
    returned: Condvar,
    make: CodecFactory,
    page_bytes: usize,
    max_stored_bytes: usize,
    /// Kits that there may be.
    most: usize,
    pub codec_panics: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    idle: Vec<Kit>,
    /// Kits that exist, in hand or not.
    made: usize,
    /// Threads that wait for one; telling nobody is a call of the system too.
    waiting: usize,
}

impl Kits {
    pub fn new(make: CodecFactory, page_bytes: usize, max_stored_bytes: usize, most: usize) -> Self {
        let (state, returned) = (Mutex::default(), Condvar::default());
        Self { state, returned, make, page_bytes, max_stored_bytes, most, codec_panics: AtomicU64::new(0) }
    }

    /// Memory of one kit without its codec's context.
    pub fn kit_bytes(page_bytes: usize) -> usize {
        2 * page_bytes
    }

    /// Memory of all kits without their codecs' contexts.
    pub fn bytes(&self) -> usize {
        self.state.lock().made * Self::kit_bytes(self.page_bytes)
    }

    /// A kit, for which the thread may have to wait: it must hold neither a lock nor a victim meanwhile, or whoever has
    /// a kit may wait for that.
    pub fn take(&self) -> io::Result<Borrowed<'_>> {
        loop {
            if let Some(kit) = self.try_take()? {
                return Ok(kit);
            }
            self.wait();
        }
    }

    /// A kit, if there is one or may be one more.
    pub fn try_take(&self) -> io::Result<Option<Borrowed<'_>>> {
        let mut state = self.state.lock();
        let kit = match state.idle.pop() {
            Some(kit) => kit,
            None if state.made < self.most => {
                state.made += 1;
                drop(state);
                let buffer = || vec![0; self.page_bytes].into();
                match (self.make)() {
                    Ok(codec) => Kit { codec, incoming: buffer(), outgoing: buffer(), broken: false },
                    Err(error) => {
                        self.gone();
                        return Err(error);
                    }
                }
            }
            None => return Ok(None),
        };
        Ok(Some(Borrowed { kits: self, kit: Some(kit) }))
    }

    /// Waits until there is a kit to be had, unless somebody else is faster.
    pub fn wait(&self) {
        let mut state = self.state.lock();
        while state.idle.is_empty() && state.made == self.most {
            state.waiting += 1;
            state = self.returned.wait(state);
            state.waiting -= 1;
        }
    }

    /// There is one kit less.
    fn gone(&self) {
        self.change(|state| state.made -= 1);
    }

    /// Changes what those who wait look at. Not all of them take a kit, so all are told.
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        let mut state = self.state.lock();
        change(&mut state);
        let told = state.waiting > 0;
        drop(state);
        if told {
            self.returned.notify_all();
        }
    }
}

/// A kit that goes back to the others in the end.
pub struct Borrowed<'a> {
    kits: &'a Kits,
    kit: Option<Kit>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(kit) = self.kit.take() {
            if kit.broken {
                self.kits.gone();
            } else {
                self.kits.change(|state| state.idle.push(kit));
            }
        }
    }
}

/// What was made of a victim.
pub enum Made<E> {
    Refused(E),
    Drop,
    Incompressible,
    /// This many bytes were made.
    Kept(usize),
}

impl Borrowed<'_> {
    fn kit(&mut self) -> &mut Kit {
        self.kit.as_mut().expect("a kit is borrowed until the end")
    }

    /// Where compressed pages wait to be restored.
    pub fn incoming(&mut self) -> &mut [u8] {
        &mut self.kit().incoming
    }

    /// That, and what [`Borrowed::make_one`] made.
    pub fn buffers(&mut self) -> (&mut [u8], &[u8]) {
        let kit = self.kit();
        (&mut kit.incoming, &kit.outgoing)
    }

    /// Runs `work` of the codec. A panic is counted and gives `None`, and the codec is not used again.
    fn with_codec<T>(&mut self, work: impl FnOnce(&mut Kit) -> T) -> Option<T> {
        let kit = self.kit.as_mut().expect("a kit is borrowed until the end");
        let result = catch_unwind(AssertUnwindSafe(|| work(kit)));
        if result.is_err() {
            kit.broken = true;
            self.kits.codec_panics.fetch_add(1, Relaxed);
        }
        result.ok()
    }

    /// Restores what lies in `incoming` to `page`, unless it is corrupted.
    pub fn restore(&mut self, compressed: &Compressed, page: &mut [u8]) -> bool {
        let len = compressed.len as usize;
        if checksum(&self.kit().incoming[..len]) != compressed.crc {
            return false;
        }
        if len == page.len() {
            page.copy_from_slice(&self.kit().incoming);
            return true;
        }
        self.with_codec(|kit| kit.codec.decompress(&kit.incoming[..len], page).is_ok()) == Some(true)
    }

    /// Stores and compresses a victim; what is to be kept of it comes to the start of `out`.
    pub fn make<L: Loader>(
        &mut self,
        loader: &L,
        job: &Job,
        keep_incompressible: bool,
        out: &mut [u8],
    ) -> Made<L::Error> {
        match store(loader, job) {
            Ok(()) => self.compress(job, keep_incompressible, out),
            Err(error) => Made::Refused(error),
        }
    }

    fn compress<E>(&mut self, job: &Job, keep_incompressible: bool, out: &mut [u8]) -> Made<E> {
        if job.wish != Wish::Compress {
            return Made::Drop;
        }
        let most = self.kits.max_stored_bytes;
        // A length beyond the room would be a fault of the codec; it counts as a page that does not shrink.
        match self.with_codec(|kit| kit.codec.compress(&job.page, &mut out[..most])).flatten() {
            Some(len) if len <= most => Made::Kept(len),
            _ if keep_incompressible => {
                out[..job.page.len()].copy_from_slice(&job.page);
                Made::Kept(job.page.len())
            }
            _ => Made::Incompressible,
        }
    }

    /// As [`Borrowed::make`] with the outgoing buffer of the kit.
    pub fn make_one<L: Loader>(&mut self, loader: &L, job: &Job, keep_incompressible: bool) -> Made<L::Error> {
        // The loader may panic, and the kit must have its buffer then.
        if let Err(error) = store(loader, job) {
            return Made::Refused(error);
        }
        let mut out = std::mem::take(&mut self.kit().outgoing);
        let made = self.compress(job, keep_incompressible, &mut out);
        self.kit().outgoing = out;
        made
    }
}

/// Stores a page that is newer than its copy there.
fn store<L: Loader>(loader: &L, job: &Job) -> Result<(), L::Error> {
    if job.dirty { loader.store(job.id, &job.page) } else { Ok(()) }
}

/// What the shard is told of a victim.
pub fn done<'a, E>(made: &Made<E>, out: &'a [u8]) -> Done<'a> {
    match made {
        Made::Refused(_) => Done::Refused,
        Made::Drop => Done::Drop,
        Made::Incompressible => Done::Incompressible,
        Made::Kept(len) => Done::Keep(&out[..*len], checksum(&out[..*len])),
    }
}

/// Jobs in hand; if a panic of the loader drops them, they leave their pages as they are.
pub fn in_hand<J: IntoIterator<Item = Job>>(
    shard: &SharedShard,
    jobs: J,
    victims: bool,
) -> ScopeGuard<J, impl FnOnce(J)> {
    guard(jobs, move |jobs| {
        let mut state = shard.hold_as_worker();
        jobs.into_iter().for_each(|job| state.cancel(job, victims));
    })
}

/// What tells damaged bytes from those that were kept: half of XXH3, which takes less time than a CRC.
fn checksum(bytes: &[u8]) -> u32 {
    XxHash3_64::oneshot(bytes) as u32
}
