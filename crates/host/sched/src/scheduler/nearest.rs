//! Request order of the one-way elevator in anticipatory, CFQ and BFQ: forward, except for short backward seeks.

use ssdlab_core::Settings;

use crate::bio::Flags;
use crate::request::{RequestId, Requests};

/// Order of requests in CFQ and BFQ: synchronous requests first, then metadata requests, then the nearest request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NearestOrder {
    /// Maximum backward distance in sectors, and the factor by which backward distances are multiplied.
    back_max: u64,
    back_penalty: u64,
}

impl NearestOrder {
    pub fn new(settings: &Settings) -> Self {
        Self { back_max: settings.get("back_seek_max") * 2, back_penalty: settings.get("back_seek_penalty") }
    }

    /// Chooses the better of two candidate requests, given that the device is at sector `last`; on ties the first.
    pub fn choose(self, candidates: [Option<RequestId>; 2], last: u64, requests: &Requests) -> Option<RequestId> {
        candidates.into_iter().flatten().min_by_key(|&id| {
            let rq = &requests[id];
            (!rq.is_sync(), !rq.flags.any(Flags::META), rank(rq.start, last, self.back_max, self.back_penalty))
        })
    }
}

/// Returns the rank of a request at sector `start` if the last request ended at sector `last`. The request with the
/// lowest rank is dispatched first.
///
/// Backward distances are multiplied by `penalty`. Requests more than `back_max` sectors behind come last, in ascending
/// order. On ties, the request ahead goes first.
pub(super) fn rank(start: u64, last: u64, back_max: u64, penalty: u64) -> (bool, u64, u64) {
    let cost = match start.checked_sub(last) {
        Some(forward) => Some(forward),
        None if start + back_max >= last => Some((last - start) * penalty),
        None => None,
    };
    cost.map_or((true, 0, start), |cost| (false, cost, u64::MAX - start))
}
