//! State of the cache, shared by its operations and workers.

use std::sync::Arc;

use crate::demotion::CodecPool;
use crate::flight::{SharedShard, WorkerQueue};
use crate::hash::hash;
use crate::loader::Loader;
use crate::options::Options;
use crate::{PageId, PoolError};

pub(crate) type PoolResult<T, L> = Result<T, PoolError<<L as Loader>::Error>>;

pub(crate) struct Inner<L> {
    pub options: Options,
    pub loader: L,
    pub shards: Box<[SharedShard]>,
    pub worker_queue: Arc<WorkerQueue>,
    pub contexts: CodecPool,
    pub arena_bytes: usize,
}

impl<L: Loader> Inner<L> {
    #[inline]
    pub fn shard(&self, id: PageId) -> &SharedShard {
        // The upper bits of the hash select the shard, because the lower bits select the bucket within the shard.
        &self.shards[((hash(id) >> 32) as usize) & (self.shards.len() - 1)]
    }

    #[inline]
    pub fn check_length(&self, page: PageId, given: usize) -> PoolResult<(), L> {
        let page_bytes = self.options.page_bytes as usize;
        if given == page_bytes { Ok(()) } else { Err(PoolError::WrongLength { page, given, page_bytes }) }
    }
}
