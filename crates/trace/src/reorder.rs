//! Puts requests in order of time, stably, within a bounded window.
//!
//! Requests are held until twice the window waits; then the earlier half leaves, sorted if need be. A
//! request that comes after its time has left is *late*: it keeps its place in the file and gets the
//! time of its predecessor. An ordered trace costs one comparison and one copy a request.

use crate::Request;
use crate::report::IngestCounts;

/// Requests a disordered one may be moved over at least.
pub(crate) const WINDOW: usize = 65_536;

/// The window.
pub(crate) struct Reorder {
    window: usize,
    /// Those held, in file order: a window full that leaves next, and what has come since.
    earlier: Vec<Request>,
    later: Vec<Request>,
    ordered: bool,
    /// Latest time seen.
    newest: u64,
    /// Time of the last request seen, after clamping.
    previous: u64,
    /// Time of the last request that left.
    released: u64,
}

impl Reorder {
    /// An empty window of `window` requests.
    pub fn new(window: usize) -> Self {
        Self { window, earlier: Vec::new(), later: Vec::new(), ordered: true, newest: 0, previous: 0, released: 0 }
    }

    /// Takes requests in file order, and moves those whose time has come to `ready`.
    pub fn push(&mut self, batch: &mut [Request], ready: &mut Vec<Request>, counts: &mut IngestCounts) {
        for request in batch.iter_mut() {
            if request.time_ns < self.newest {
                self.ordered = false;
                counts.out_of_order += 1;
                if request.time_ns < self.released {
                    counts.late += 1;
                    request.time_ns = self.previous.max(self.released);
                }
            }
            self.previous = request.time_ns;
            self.newest = self.newest.max(request.time_ns);
        }
        self.later.extend_from_slice(batch);
        let held = self.earlier.len() + self.later.len();
        if held >= 2 * self.window {
            self.release(held - self.window, ready);
        }
    }

    /// Moves everything left to `ready`.
    pub fn finish(&mut self, ready: &mut Vec<Request>) {
        self.release(self.earlier.len() + self.later.len(), ready);
    }

    fn release(&mut self, count: usize, ready: &mut Vec<Request>) {
        if !self.ordered {
            self.earlier.append(&mut self.later);
            self.earlier.sort_by_key(|request| request.time_ns);
            self.later.extend(self.earlier.drain(count..));
            self.ordered = true;
        }
        let rest = count - self.earlier.len();
        if ready.is_empty() {
            std::mem::swap(ready, &mut self.earlier);
        } else {
            ready.append(&mut self.earlier);
        }
        ready.extend(self.later.drain(..rest));
        std::mem::swap(&mut self.earlier, &mut self.later);
        self.released = ready.last().map_or(self.released, |request| request.time_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn run(window: usize, times: &[u64]) -> (Vec<(u64, u64)>, u64, u64) {
        let mut counts = IngestCounts::default();
        let (mut reorder, mut ready) = (Reorder::new(window), Vec::new());
        for (index, &time_ns) in times.iter().enumerate() {
            let offset = index as u64;
            let mut one = [Request { time_ns, offset, bytes: 512, op: Op::Read, flags: 0, stream: 0 }];
            reorder.push(&mut one, &mut ready, &mut counts);
        }
        reorder.finish(&mut ready);
        (ready.iter().map(|r| (r.time_ns, r.offset)).collect(), counts.out_of_order, counts.late)
    }

    #[test]
    fn equal_times_keep_file_order() {
        assert_eq!(run(2, &[5, 5, 5, 5, 5]), (vec![(5, 0), (5, 1), (5, 2), (5, 3), (5, 4)], 0, 0));
    }

    #[test]
    fn a_request_within_the_window_finds_its_place() {
        assert_eq!(run(8, &[10, 30, 20, 40]), (vec![(10, 0), (20, 2), (30, 1), (40, 3)], 1, 0));
    }

    #[test]
    fn a_late_request_keeps_file_order_and_its_predecessors_time() {
        let (out, out_of_order, late) = run(1, &[10, 20, 30, 40, 5, 50]);
        assert_eq!(out, [(10, 0), (20, 1), (30, 2), (40, 3), (40, 4), (50, 5)]);
        assert_eq!((out_of_order, late), (1, 1));
    }

    #[test]
    fn displacement_up_to_the_window_is_always_undone() {
        let window = 16;
        let mut times: Vec<u64> = (0..2000).collect();
        for chunk in times.chunks_mut(window) {
            chunk.reverse();
        }
        let (out, _, late) = run(window, &times);
        assert_eq!(late, 0);
        assert!(out.iter().map(|r| r.0).eq(0..2000));
    }
}
