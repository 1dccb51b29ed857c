//! The cache: who moves pages from one state to another.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use scopeguard::ScopeGuard;
use ssdlab_codec::Codec;

use crate::demotion::{Borrowed, Kits, in_hand};
use crate::flight::{Calls, Flight, SharedShard};
use crate::hash::hash;
use crate::room::Room;
use crate::shard::{Compressed, Found, Frame, Shard};
use crate::sync::{JoinHandle, spawn};
use crate::{ConfigError, Incompressible, Options, PageId, PoolError, Transitions, Usage, worker};

/// Threads besides the workers that restore or make room at once, at most.
const MOST_CALLERS: usize = 64;

/// The storage below. Its calls come from several threads, but never two at a time for one page.
pub trait Loader: Send + Sync + 'static {
    /// Why it failed.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads page `id` into the whole of `page`.
    ///
    /// # Errors
    /// What the storage says; the page is not cached then.
    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes page `id`.
    ///
    /// # Errors
    /// What the storage says; the page stays in the cache then.
    fn store(&self, id: PageId, page: &[u8]) -> Result<(), Self::Error>;
}

/// Makes a codec for another thread.
pub type CodecFactory = Arc<dyn Fn() -> io::Result<Box<dyn Codec>> + Send + Sync>;

/// Where a page was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the raw pool.
    Raw,
    /// In the compressed pool, from where it was restored.
    Compressed,
    /// In the storage below.
    Loader,
}

/// A page of the cache, as it was when asked for. While it lives, its memory cannot be used for another page.
#[derive(Clone, Debug)]
pub struct PageRef(Frame);

impl Deref for PageRef {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

pub(crate) struct Inner<L> {
    pub options: Options,
    pub loader: L,
    pub shards: Box<[SharedShard]>,
    pub calls: Arc<Calls>,
    pub kits: Kits,
    arena_bytes: usize,
}

/// A page cache with a raw and a compressed pool; see the documentation of the crate. Threads share it by reference.
///
/// Dropping it stops its workers and writes dirty pages back, but cannot say whether that failed; [`Pool::flush`] can.
pub struct Pool<L: Loader> {
    inner: Arc<Inner<L>>,
    workers: Vec<JoinHandle<()>>,
}

pub(crate) type PoolResult<T, L> = Result<T, PoolError<<L as Loader>::Error>>;

impl<L: Loader> Pool<L> {
    /// A cache in front of `loader`.
    ///
    /// # Errors
    /// The options make no cache, or their codec keeps no bytes.
    pub fn new(options: Options, loader: L) -> Result<Self, ConfigError> {
        let spec = options.codec.clone();
        Self::with_codec(options, loader, Arc::new(move || spec.build()))
    }

    /// A cache with a codec of the caller's own, whatever the options say.
    ///
    /// # Errors
    /// The options make no cache, or the codec keeps no bytes or cannot be set up.
    pub fn with_codec(options: Options, loader: L, make: CodecFactory) -> Result<Self, ConfigError> {
        options.check()?;
        let codec_error = |remedy: String| ConfigError::new("codec", &options.codec, remedy);
        let codec = make().map_err(|error| codec_error(format!("it could not be set up: {error}")))?;
        if codec.modelled().is_some() {
            return Err(codec_error("it keeps no bytes; choose a codec that compresses".into()));
        }
        let page_bytes = options.page_bytes as usize;
        let batch_bytes = options.batch() * page_bytes;
        let arena_bytes = options.workers() * batch_bytes;
        let budget_bytes = usize::try_from(options.budget.0).unwrap_or(usize::MAX);
        // For each worker and a caller or two; for many callers if that is a small part of the memory.
        let callers = (budget_bytes / 128 / Kits::kit_bytes(page_bytes)).clamp(2, MOST_CALLERS);
        let kits = options.workers() + callers;
        let scratch_bytes = arena_bytes + kits * Kits::kit_bytes(page_bytes);
        if scratch_bytes > budget_bytes / 4 {
            let remedy = format!(
                "buffers of {} workers with batches of {} pages take {scratch_bytes} bytes; raise the budget or lower these",
                options.workers(),
                options.batch()
            );
            return Err(ConfigError::new("budget", options.budget, remedy));
        }
        let calls = Arc::new(Calls::default());
        let part = (budget_bytes - scratch_bytes) / options.shards as usize;
        let shards = (0..options.shards as usize)
            .map(|index| Ok(SharedShard::new(Shard::new(&options, part)?, index, Arc::clone(&calls))))
            .collect::<Result<_, ConfigError>>()?;
        let kits = Kits::new(make, page_bytes, options.max_stored_bytes(), kits);
        let inner = Arc::new(Inner { options, loader, shards, calls, kits, arena_bytes });
        let workers = (0..inner.options.workers())
            .map(|_| {
                // Made here, as it counts from now on and the thread may begin much later.
                let (inner, arena) = (Arc::clone(&inner), vec![0; batch_bytes]);
                spawn(move || worker::run(&inner, arena))
            })
            .collect();
        Ok(Self { inner, workers })
    }

    /// Copies page `id` to `out`, which has the length of a page, and says where it was.
    ///
    /// # Errors
    /// See [`PoolError`]. A page that cannot be cached, because no raw page can give way, is read all the same.
    #[inline]
    pub fn read(&self, id: PageId, out: &mut [u8]) -> PoolResult<Source, L> {
        self.inner.check_length(id, out.len())?;
        let shard = self.inner.shard(id);
        {
            let state = shard.read();
            if let Some(page) = state.raw_hit(id) {
                out.copy_from_slice(page);
                shard.raw_hits.fetch_add(1, Relaxed);
                return Ok(Source::Raw);
            }
        }
        self.inner.fetch(id, Some(out)).map(|(_, source)| source)
    }

    /// Page `id` without copying it. Later writes do not change it; they give the cache another frame.
    ///
    /// # Errors
    /// See [`PoolError`].
    #[inline]
    pub fn get(&self, id: PageId) -> PoolResult<PageRef, L> {
        let shard = self.inner.shard(id);
        {
            let state = shard.read();
            if let Some(page) = state.raw_hit(id) {
                shard.raw_hits.fetch_add(1, Relaxed);
                return Ok(PageRef(Arc::clone(page)));
            }
        }
        match self.inner.fetch(id, None)? {
            (Some(page), _) => Ok(PageRef(page)),
            (None, _) => Err(PoolError::NoRoom { page: id }),
        }
    }

    /// Writes page `id` whole. It is dirty until it is written back: before it leaves the raw pool, or by
    /// [`Pool::flush`].
    ///
    /// # Errors
    /// See [`PoolError`]; the page is then what it was.
    pub fn write(&self, id: PageId, bytes: &[u8]) -> PoolResult<(), L> {
        self.inner.check_length(id, bytes.len())?;
        self.inner.write(id, bytes)
    }

    /// Writes back every page that is dirty now. Pages stay cached.
    ///
    /// # Errors
    /// The first page that could not be stored; all others were tried. It stays dirty, so flushing again tries again.
    pub fn flush(&self) -> PoolResult<(), L> {
        self.inner.flush()
    }

    /// What happened so far.
    pub fn transitions(&self) -> Transitions {
        let mut sum = Transitions::default();
        for shard in &self.inner.shards {
            let mut counts = shard.read().counts;
            counts.raw_hits += shard.raw_hits.load(Relaxed);
            sum += counts;
        }
        sum.codec_panics = self.inner.kits.codec_panics.load(Relaxed);
        sum
    }

    /// Where the memory is.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for shard in &self.inner.shards {
            sum += shard.read().usage();
        }
        sum.budget_bytes = self.inner.options.budget.0;
        sum.scratch_bytes = (self.inner.arena_bytes + self.inner.kits.bytes()) as u64;
        sum
    }

    /// What it was built from.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// The storage below.
    pub fn loader(&self) -> &L {
        &self.inner.loader
    }

    #[cfg(test)]
    pub(crate) fn shards(&self) -> &[SharedShard] {
        &self.inner.shards
    }
}

impl<L: Loader> Drop for Pool<L> {
    fn drop(&mut self) {
        self.inner.calls.stop();
        for worker in self.workers.drain(..) {
            // Panics were caught and counted in the worker.
            let _ = worker.join();
        }
        if !std::thread::panicking() {
            let _ = self.inner.flush();
        }
    }
}

impl<L: Loader> Inner<L> {
    #[inline]
    fn shard(&self, id: PageId) -> &SharedShard {
        // The shards take the upper bits of the hash, buckets within them the lower ones.
        &self.shards[((hash(id) >> 32) as usize) & (self.shards.len() - 1)]
    }

    #[inline]
    fn check_length(&self, page: PageId, given: usize) -> PoolResult<(), L> {
        let page_bytes = self.options.page_bytes as usize;
        if given == page_bytes { Ok(()) } else { Err(PoolError::WrongLength { page, given, page_bytes }) }
    }

    pub(crate) fn kit(&self) -> PoolResult<Borrowed<'_>, L> {
        self.kits.take().map_err(|source| PoolError::Codec { source })
    }

    /// Brings a page, to `out` if that is given. The page itself is returned unless it was copied there.
    #[cold]
    fn fetch(&self, id: PageId, mut out: Option<&mut [u8]>) -> PoolResult<(Option<Frame>, Source), L> {
        let shard = self.shard(id);
        let mut room = Room::new(self, shard, id);
        let (mut flight, restore, mut kit, victim) = loop {
            let mut state = shard.hold();
            match state.look_up(id) {
                Found::Raw(_) => {
                    let Some(page) = state.raw_hit(id) else { continue };
                    shard.raw_hits.fetch_add(1, Relaxed);
                    let page = match &mut out {
                        Some(out) => {
                            out.copy_from_slice(page);
                            None
                        }
                        None => Some(Arc::clone(page)),
                    };
                    return Ok((page, Source::Raw));
                }
                Found::Flight => state.wait(),
                Found::Compressed(slot) => {
                    let kit = self.kits.try_take().map_err(|source| PoolError::Codec { source })?;
                    let Some(mut kit) = kit else {
                        drop(state);
                        self.kits.wait();
                        continue;
                    };
                    let mut frame = state.take_frame();
                    let victim = if frame.is_none() { state.begin_demotion(false) } else { None };
                    let mut restore = None;
                    let mut begin = |state: &mut Shard, slot, buffer: &mut [u8]| {
                        restore = Some((slot, state.begin_restore(slot, buffer)));
                    };
                    if let Some(victim) = victim {
                        drop(state);
                        // The page is copied when the victim is compressed: until then its bytes come from memory.
                        state = room.demote(victim, &mut kit, |state, buffer| {
                            if let Found::Compressed(slot) = state.look_up(id) {
                                begin(state, slot, buffer);
                            }
                        });
                    } else {
                        begin(&mut state, slot, kit.incoming());
                    }
                    // Nobody else restored or dropped it meanwhile.
                    if let Some((slot, compressed)) = restore {
                        frame = frame.or_else(|| state.take_frame());
                        break (Flight::new(shard, slot, frame), Some(compressed), Some(kit), None);
                    }
                }
                Found::Absent => {
                    let Some(slot) = state.begin(id) else {
                        if state.working() {
                            state.wait();
                            continue;
                        }
                        return Err(PoolError::NoRoom { page: id });
                    };
                    state.missed(id);
                    let frame = state.take_frame();
                    // Where this fails, it fails again below.
                    let kit = if frame.is_none() { self.kits.try_take().unwrap_or_default() } else { None };
                    // Who has to wait for a kit must not keep others waiting for a victim.
                    let victim = if kit.is_some() { state.begin_demotion(false) } else { None };
                    break (Flight::new(shard, slot, frame), None, kit, victim);
                }
            }
        };
        if flight.frame.is_none() {
            match room.frame(victim, kit.as_mut()) {
                Ok(frame) => flight.frame = Some(frame),
                Err(error) => {
                    let Some(out) = out else { return Err(error) };
                    let (source, corrupted) = self.bring(id, kit.zip(restore), out);
                    flight.abort(|counts| {
                        counts.corrupted += u64::from(corrupted);
                        *(if source.is_ok() { &mut counts.bypassed } else { &mut counts.load_errors }) += 1;
                    });
                    return Ok((None, source?));
                }
            }
        }
        let Some(bytes) = flight.bytes() else { return Err(PoolError::NoRoom { page: id }) };
        let (source, corrupted) = self.bring(id, kit.zip(restore), bytes);
        let note = |counts: &mut Transitions| counts.corrupted += u64::from(corrupted);
        let source = match source {
            Ok(source) => source,
            Err(error) => {
                flight.abort(|counts| {
                    note(counts);
                    counts.load_errors += 1;
                });
                return Err(error);
            }
        };
        let page = match (out, &flight.frame) {
            (Some(out), Some(frame)) => {
                out.copy_from_slice(frame);
                None
            }
            (_, frame) => frame.clone(),
        };
        flight.land(false, |counts| {
            note(counts);
            *(if source == Source::Compressed { &mut counts.restored } else { &mut counts.loaded }) += 1;
        });
        Ok((page, source))
    }

    /// Restores or loads a page; also says whether it should have been restored but was corrupted.
    fn bring(
        &self,
        id: PageId,
        restore: Option<(Borrowed<'_>, Compressed)>,
        page: &mut [u8],
    ) -> (PoolResult<Source, L>, bool) {
        let corrupted = restore.is_some();
        if let Some((mut kit, compressed)) = restore
            && kit.restore(&compressed, page)
        {
            return (Ok(Source::Compressed), false);
        }
        let loaded = self.loader.load(id, page).map_err(|source| PoolError::Load { page: id, source });
        (loaded.map(|()| Source::Loader), corrupted)
    }

    pub(crate) fn keeps_incompressible(&self) -> bool {
        self.options.incompressible == Incompressible::StoreRaw
    }

    fn write(&self, id: PageId, bytes: &[u8]) -> PoolResult<(), L> {
        let shard = self.shard(id);
        let mut spare: Option<Frame> = None;
        let (mut flight, created) = loop {
            let mut state = shard.hold();
            let found = state.look_up(id);
            if let Found::Raw(slot) = found {
                if state.overwrite(slot, bytes) {
                    break (None, false);
                }
                // Somebody reads the page where it is.
                if let Some(mut frame) = spare.take().or_else(|| state.take_frame()) {
                    copy(&mut frame, bytes);
                    state.renew(slot, frame);
                    return Ok(());
                }
                drop(state);
                spare = Some(Room::new(self, shard, id).frame(None, None)?);
                continue;
            }
            // Nobody may wait with a frame in hand that others wait for.
            if let Some(frame) = spare.take() {
                state.return_frame(frame);
            }
            let (slot, created) = match found {
                Found::Compressed(slot) => {
                    state.begin_overwrite(slot);
                    (slot, false)
                }
                Found::Absent => match state.begin(id) {
                    Some(slot) => (slot, true),
                    None if state.working() => {
                        state.wait();
                        continue;
                    }
                    None => return Err(PoolError::NoRoom { page: id }),
                },
                Found::Flight | Found::Raw(_) => {
                    state.wait();
                    continue;
                }
            };
            let frame = state.take_frame();
            break (Some(Flight::new(shard, slot, frame)), created);
        };
        if let Some(frame) = spare {
            shard.hold().return_frame(frame);
        }
        let Some(mut flight) = flight.take() else { return Ok(()) };
        if flight.frame.is_none() {
            flight.frame = Some(Room::new(self, shard, id).frame(None, None)?);
        }
        if let Some(frame) = &mut flight.frame {
            copy(frame, bytes);
        }
        flight.land(true, |counts| counts.created += u64::from(created));
        Ok(())
    }

    fn flush(&self) -> PoolResult<(), L> {
        let mut first = None;
        for shard in &self.shards {
            let mut from = 0;
            loop {
                let mut state = shard.hold();
                let Some((slot, job)) = state.next_dirty(from) else { break };
                let Some(job) = job else {
                    // Whoever is at it may fail, so it is looked at again.
                    state.wait();
                    continue;
                };
                drop(state);
                let page = job.id;
                let job = in_hand(shard, [job], false);
                let stored = self.loader.store(page, &job[0].page);
                let mut state = shard.hold();
                let [job] = ScopeGuard::into_inner(job);
                state.finish_store(job, stored.is_ok());
                if let Err(source) = stored {
                    first.get_or_insert(PoolError::Store { page, source });
                }
                from = slot + 1;
            }
        }
        first.map_or(Ok(()), Err)
    }
}

/// Fills a frame that nobody else has.
fn copy(frame: &mut Frame, bytes: &[u8]) {
    if let Some(page) = Arc::get_mut(frame) {
        page.copy_from_slice(bytes);
    }
}
