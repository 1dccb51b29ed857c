//! Request order of the one-way elevator in anticipatory, CFQ and BFQ: forward, except for short backward seeks.

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
