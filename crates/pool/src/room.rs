//! Room for one page: victims of the raw pool give way until there is a frame for it.

use scopeguard::ScopeGuard;

use crate::demotion::{Borrowed, Made, done, in_hand};
use crate::flight::{Held, SharedShard};
use crate::pool::{Inner, Loader, PoolResult};
use crate::shard::{Frame, Job, Shard};
use crate::{PageId, PoolError};

/// The search of a frame for a page.
pub struct Room<'a, L: Loader> {
    inner: &'a Inner<L>,
    shard: &'a SharedShard,
    id: PageId,
    /// A victim that could not be stored; from then on only clean ones are chosen.
    refused: Option<PoolError<L::Error>>,
}

impl<'a, L: Loader> Room<'a, L> {
    /// For page `id` of `shard`.
    pub fn new(inner: &'a Inner<L>, shard: &'a SharedShard, id: PageId) -> Self {
        Self { inner, shard, id, refused: None }
    }

    /// Stores and compresses `victim`, then takes the lock, does `first`, which may have the kit's incoming buffer, and
    /// moves the victim. Returns the lock.
    pub fn demote(
        &mut self,
        victim: Job,
        kit: &mut Borrowed<'_>,
        first: impl FnOnce(&mut Shard, &mut [u8]),
    ) -> Held<'a> {
        let page = victim.id;
        let victim = in_hand(self.shard, [victim], true);
        let made = kit.make_one(&self.inner.loader, &victim[0], self.inner.keeps_incompressible());
        let (incoming, outgoing) = kit.buffers();
        let done = done(&made, outgoing);
        let mut state = self.shard.hold();
        first(&mut state, incoming);
        state.counts.demoted_by_callers += 1;
        let [victim] = ScopeGuard::into_inner(victim);
        state.finish(victim, done);
        if let Made::Refused(source) = made {
            self.refused = Some(PoolError::Store { page, source });
        }
        state
    }

    /// A frame, for which `victim` gives way, if it is chosen already, or others. A victim comes with a kit.
    ///
    /// # Errors
    /// No page may leave, or the only ones that may could not be stored.
    pub fn frame(mut self, mut victim: Option<Job>, kit: Option<&mut Borrowed<'a>>) -> PoolResult<Frame, L> {
        let mut own;
        let kit = match kit {
            Some(kit) => kit,
            None => {
                own = self.inner.kit()?;
                &mut own
            }
        };
        loop {
            let mut state = match victim.take() {
                Some(victim) => self.demote(victim, kit, |_, _| ()),
                None => self.shard.hold(),
            };
            if let Some(frame) = state.take_frame() {
                return Ok(frame);
            }
            victim = state.begin_demotion(self.refused.is_some());
            if victim.is_none() {
                if !state.working() {
                    return Err(self.refused.unwrap_or(PoolError::NoRoom { page: self.id }));
                }
                state.wait();
            }
        }
    }
}
