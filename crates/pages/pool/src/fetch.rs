//! Fetches a page that is not in the uncompressed pool: makes this thread its owner, finds a frame for it, then
//! restores or loads its bytes.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::demotion::Borrowed;
use crate::flight::{Flight, ShardGuard};
use crate::inner::{Inner, PoolResult};
use crate::loader::Loader;
use crate::room::Incoming;
use crate::shard::{Compressed, Frame, Job, Lookup};
use crate::{PageId, PoolError, Transitions};

/// Storage level in which a page was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The page was in the uncompressed pool.
    Raw,
    /// The page was in the compressed pool and was restored.
    Compressed,
    /// The page was read from the backing storage.
    Loader,
}

/// Page in flight that this thread must bring in, and the resources that it acquired for the page under the shard's
/// lock.
struct Claim<'a> {
    flight: Flight<'a>,
    context: Option<Borrowed<'a>>,
    /// Compressed page that is to be restored from the incoming buffer of `context`; `None` if the page must be loaded.
    compressed: Option<Compressed>,
    /// Victim to evict from the uncompressed pool first if no frame is free for `flight`. Evicting the victim requires
    /// `context`.
    victim: Option<Job>,
}

/// Result of restoring or loading a page.
struct Filled<E> {
    source: Result<Source, PoolError<E>>,
    /// True if the page was loaded because its compressed copy was corrupted.
    corrupted: bool,
}

impl<'a, L: Loader> Incoming<'a, L> {
    /// Fetches the page: copies it to `out`, or returns its frame if `out` is `None`.
    #[cold]
    pub fn fetch(mut self, out: Option<&mut [u8]>) -> PoolResult<(Option<Frame>, Source), L> {
        let claim = loop {
            let state = self.shard.lock();
            let claim = match state.look_up(self.id) {
                Lookup::Raw(_) => {
                    let Some(frame) = state.raw_hit(self.id) else { continue };
                    self.shard.raw_hits.fetch_add(1, Relaxed);
                    return Ok((deliver(frame, out), Source::Raw));
                }
                Lookup::InFlight => {
                    state.wait();
                    None
                }
                Lookup::Compressed(slot) => self.claim_compressed(state, slot)?,
                Lookup::Absent => self.claim_absent(state)?,
            };
            if let Some(claim) = claim {
                break claim;
            }
        };
        self.complete(claim, out)
    }

    /// Makes this thread the owner of a compressed page, and copies the page's bytes to a codec context. Returns `None`
    /// if the page must be looked up again.
    fn claim_compressed(&mut self, mut state: ShardGuard<'a>, slot: u32) -> PoolResult<Option<Claim<'a>>, L> {
        let Some(mut context) = self.inner.contexts.try_take().map_err(PoolError::Codec)? else {
            drop(state);
            self.inner.contexts.wait();
            return Ok(None);
        };
        let frame = state.take_frame();
        let victim = if frame.is_none() { state.begin_demotion(false) } else { None };
        let begun = if let Some(victim) = victim {
            drop(state);
            // The page is copied only after the victim has been compressed. Meanwhile, the prefetch of the page's bytes
            // that `Shard::raw_hit` started can complete, but another thread may restore or drop the page.
            let (id, mut begun) = (self.id, None);
            state = self.demote(victim, &mut context, |state, buffer| {
                if let Lookup::Compressed(slot) = state.look_up(id) {
                    begun = Some((slot, state.begin_restore(slot, buffer)));
                }
            });
            begun
        } else {
            Some((slot, state.begin_restore(slot, context.incoming())))
        };
        let Some((slot, compressed)) = begun else { return Ok(None) };
        let frame = frame.or_else(|| state.take_frame());
        let flight = Flight::new(self.shard, slot, frame);
        Ok(Some(Claim { flight, context: Some(context), compressed: Some(compressed), victim: None }))
    }

    /// Makes this thread the owner of an absent page. Returns `None` if the page must be looked up again.
    fn claim_absent(&self, mut state: ShardGuard<'a>) -> PoolResult<Option<Claim<'a>>, L> {
        let Some(slot) = state.begin(self.id) else {
            if state.working() {
                state.wait();
                return Ok(None);
            }
            return Err(PoolError::NoRoom { page: self.id });
        };
        state.missed(self.id);
        let frame = state.take_frame();
        // An error in creating a codec context is ignored here; if it persists, `Incoming::frame` reports it.
        let context = if frame.is_none() { self.inner.contexts.try_take().unwrap_or_default() } else { None };
        // Without a codec context, this thread must wait for a context. It must hold no victim while it waits, because
        // other threads may wait for that victim.
        let victim = if context.is_some() { state.begin_demotion(false) } else { None };
        Ok(Some(Claim { flight: Flight::new(self.shard, slot, frame), context, compressed: None, victim }))
    }

    /// Brings a page in flight into the uncompressed pool: finds a frame and fills it with the page's contents. If
    /// there is no frame, reads the page without caching it.
    fn complete(self, claim: Claim<'a>, out: Option<&mut [u8]>) -> PoolResult<(Option<Frame>, Source), L> {
        let (inner, id) = (self.inner, self.id);
        let Claim { mut flight, mut context, compressed, victim } = claim;
        if flight.frame.is_none() {
            match self.frame(victim, context.as_mut()) {
                Ok(frame) => flight.frame = Some(frame),
                Err(error) => {
                    let Some(out) = out else { return Err(error) };
                    let filled = inner.fill(id, context.zip(compressed), out);
                    flight.abort(|counts| filled.count(counts, false));
                    return Ok((None, filled.source?));
                }
            }
        }
        let Some(bytes) = flight.bytes() else { return Err(PoolError::NoRoom { page: id }) };
        let filled = inner.fill(id, context.zip(compressed), bytes);
        if filled.source.is_err() {
            flight.abort(|counts| filled.count(counts, true));
            return Ok((None, filled.source?));
        }
        let page = flight.frame.as_ref().and_then(|frame| deliver(frame, out));
        flight.land(false, |counts| filled.count(counts, true));
        Ok((page, filled.source?))
    }
}

/// Copies the frame's page to `out`, or returns the frame if `out` is `None`.
fn deliver(frame: &Frame, out: Option<&mut [u8]>) -> Option<Frame> {
    let Some(out) = out else { return Some(Arc::clone(frame)) };
    out.copy_from_slice(frame);
    None
}

impl<L: Loader> Inner<L> {
    /// Restores a compressed page with a codec context. Loads the page if it has no compressed copy or the copy is
    /// corrupted.
    fn fill(&self, id: PageId, restore: Option<(Borrowed<'_>, Compressed)>, page: &mut [u8]) -> Filled<L::Error> {
        let corrupted = restore.is_some();
        if let Some((mut context, compressed)) = restore
            && context.restore(&compressed, page)
        {
            return Filled { source: Ok(Source::Compressed), corrupted: false };
        }
        let loaded = self.loader.load(id, page).map_err(|source| PoolError::Load { page: id, source });
        Filled { source: loaded.map(|()| Source::Loader), corrupted }
    }
}

impl<E> Filled<E> {
    /// Counts the fetch of the page by its source; `cached` is false if the page was read without caching it.
    fn count(&self, counts: &mut Transitions, cached: bool) {
        counts.corrupted += u64::from(self.corrupted);
        let counter = match self.source {
            Err(_) => &mut counts.load_errors,
            Ok(_) if !cached => &mut counts.bypassed,
            Ok(Source::Compressed) => &mut counts.restored,
            Ok(_) => &mut counts.loaded,
        };
        *counter += 1;
    }
}
