//! Order of the one-way elevator of anticipatory, CFQ and BFQ: forward, except for short backward seeks.

/// Returns the rank of a request at sector `start` if the device is at `last`; the request with the lowest rank is
/// dispatched first.
///
/// A backward distance is multiplied by `penalty`. Requests more than `back_max` behind come last, in ascending order.
/// At equal cost, the request ahead goes first.
pub(super) fn rank(start: u64, last: u64, back_max: u64, penalty: u64) -> (bool, u64, u64) {
    let cost = match start.checked_sub(last) {
        Some(forward) => Some(forward),
        None if start + back_max >= last => Some((last - start) * penalty),
        None => None,
    };
    cost.map_or((true, 0, start), |cost| (false, cost, u64::MAX - start))
}
