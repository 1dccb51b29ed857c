//! Spreads requests with whole-second timestamps evenly over their second, in file order.
//!
//! The n requests of a second are placed at 0/n, 1/n and so on of that second. To bound memory, a second with more than
//! [`CAPACITY`] requests is split into blocks. Each full block is spread over half of the remaining part of the second.
//! The order is kept, but the density is uneven.

use crate::Request;

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum number of requests of one second that are held in memory (24 MiB).
const CAPACITY: usize = 1 << 20;

/// Requests of the current second, which are spread over this second.
pub(crate) struct Spread {
    held: Vec<Request>,
    /// Start of the next block of requests, in ns since the start of the second.
    from: u64,
    capacity: usize,
}

impl Spread {
    pub fn new() -> Self {
        Self { held: Vec::new(), from: 0, capacity: CAPACITY }
    }

    /// Takes requests in time order. Moves the requests of completed seconds to `ready`.
    pub fn push(&mut self, batch: &[Request], ready: &mut Vec<Request>) {
        for &request in batch {
            match self.held.first() {
                Some(first) if first.time_ns != request.time_ns => self.finish(ready),
                Some(_) if self.held.len() == self.capacity => {
                    let middle = self.from + (SECOND_NS - self.from) / 2;
                    self.release(middle, ready);
                }
                _ => {}
            }
            self.held.push(request);
        }
    }

    /// Moves all remaining requests to `ready`, spread over their second.
    pub fn finish(&mut self, ready: &mut Vec<Request>) {
        self.release(SECOND_NS, ready);
        self.from = 0;
    }

    fn release(&mut self, until: u64, ready: &mut Vec<Request>) {
        let count = self.held.len() as u128;
        let width = u128::from(until - self.from);
        for (index, request) in self.held.drain(..).enumerate() {
            let inside = self.from + (width * index as u128 / count) as u64;
            ready.push(Request { time_ns: request.time_ns.saturating_add(inside), ..request });
        }
        self.from = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn at(time_ns: u64, offset: u64) -> Request {
        Request { time_ns, offset, bytes: 512, op: Op::Read, flags: 0, stream: 0 }
    }

    #[test]
    fn requests_spread_evenly_over_a_second_in_file_order() {
        let (mut spread, mut ready) = (Spread::new(), Vec::new());
        spread.push(&[at(0, 1), at(0, 2), at(0, 3), at(0, 4), at(SECOND_NS, 5)], &mut ready);
        spread.finish(&mut ready);
        let times: Vec<u64> = ready.iter().map(|r| r.time_ns).collect();
        assert_eq!(times, [0, 250_000_000, 500_000_000, 750_000_000, 1_000_000_000]);
        assert!(ready.iter().map(|r| r.offset).eq(1..=5));
    }

    #[test]
    fn a_second_over_capacity_keeps_order_and_bounds() {
        let (mut spread, mut ready) = (Spread::new(), Vec::new());
        spread.capacity = 4;
        for offset in 0..103 {
            spread.push(&[at(SECOND_NS, offset)], &mut ready);
        }
        spread.finish(&mut ready);
        assert!(ready.iter().map(|r| r.offset).eq(0..103));
        assert!(ready.is_sorted_by_key(|r| r.time_ns));
        assert!(ready.iter().all(|r| (SECOND_NS..2 * SECOND_NS).contains(&r.time_ns)));
    }
}
