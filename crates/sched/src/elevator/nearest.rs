//! The one-way elevator of anticipatory and CFQ: forward, but for short ways back.

/// Rank of a request that begins at `start` when the device is at `last`; the least goes first. The way back counts
/// `penalty` times, and is open up to `back_max`; of requests farther behind the first one goes first, which needs one
/// way back for all. At equal cost the one in front goes.
pub(super) fn rank(start: u64, last: u64, back_max: u64, penalty: u64) -> (bool, u64, u64) {
    let cost = match start.checked_sub(last) {
        Some(forward) => Some(forward),
        None if start + back_max >= last => Some((last - start) * penalty),
        None => None,
    };
    cost.map_or((true, 0, start), |cost| (false, cost, u64::MAX - start))
}
