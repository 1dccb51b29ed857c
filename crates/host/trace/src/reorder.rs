//! Sorts requests by time within a bounded window; the sort is stable.
//!
//! Requests are held until two windows are full; then the older half is sorted if necessary and released. A request
//! earlier than a released request is *late*: it stays in file order and gets the time of its predecessor. An ordered
//! trace costs one comparison and one copy per request.

use crate::Request;
use crate::report::IngestCounts;
use crate::spread::Spread;

/// Size of the reorder window, in requests. A request can move ahead of at least this many earlier requests of the
/// file.
const WINDOW: usize = 65_536;

/// Window in which requests are sorted by time.
pub(crate) struct Reorder {
    window: usize,
    /// Requests held in file order: the window to release next (`earlier`), and the requests after it (`later`).
    earlier: Vec<Request>,
    later: Vec<Request>,
    ordered: bool,
    /// Latest time of all requests seen so far.
    newest: u64,
    /// Time of the last request seen; for a late request, its corrected time.
    previous: u64,
    /// Time of the most recently released request.
    released: u64,
}

impl Default for Reorder {
    fn default() -> Self {
        Self::new(WINDOW)
    }
}

impl Reorder {
    fn new(window: usize) -> Self {
        Self { window, earlier: Vec::new(), later: Vec::new(), ordered: true, newest: 0, previous: 0, released: 0 }
    }

    /// Takes requests in file order; moves requests that are ready to `ready`.
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

    /// Releases all requests left in the window to `ready`.
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

/// Orders the requests of consecutive files by time. Times start at 0 in each file; a file starts when the previous
/// file ends.
#[derive(Default)]
pub struct InOrder {
    reorder: Reorder,
    /// Spreads requests over their second; `None` unless timestamps are whole seconds.
    spread: Option<Spread>,
    counts: IngestCounts,
    /// Requests in time order. Requests before index `next` have already been returned.
    ready: Vec<Request>,
    next: usize,
    /// Time of the current file's first request: in the file (`first_ns`), and since the start of the trace
    /// (`base_ns`).
    first_ns: Option<u64>,
    base_ns: u64,
    /// Time of the latest request released by the sort, relative to the start of the trace.
    last_ns: u64,
}

impl InOrder {
    /// Turns on spreading for all further requests: their timestamps are whole seconds, so they are spread evenly over
    /// their second.
    pub(crate) fn spread_seconds(&mut self) {
        self.spread.get_or_insert_with(Spread::new);
    }

    /// Adds requests in file order.
    pub fn push(&mut self, batch: &mut [Request]) {
        self.order(|reorder, ready, counts| reorder.push(batch, ready, counts));
    }

    /// Ends the current file; the next requests belong to the next file.
    pub fn turn(&mut self) {
        self.order(|reorder, ready, _| reorder.finish(ready));
        if let Some(spread) = &mut self.spread {
            let before = self.ready.len();
            spread.finish(&mut self.ready);
            self.rebase(before);
        }
        self.reorder = Reorder::default();
        (self.first_ns, self.base_ns) = (None, self.last_ns);
    }

    /// Appends the requests released from the reorder window to `self.ready`.
    fn order(&mut self, release: impl FnOnce(&mut Reorder, &mut Vec<Request>, &mut IngestCounts)) {
        if self.is_empty() {
            self.ready.clear();
            self.next = 0;
        }
        let before = self.ready.len();
        if let Some(spread) = &mut self.spread {
            let mut ordered = Vec::new();
            release(&mut self.reorder, &mut ordered, &mut self.counts);
            spread.push(&ordered, &mut self.ready);
        } else {
            release(&mut self.reorder, &mut self.ready, &mut self.counts);
        }
        self.rebase(before);
    }

    /// Converts the times of the ready requests, beginning at index `from`, from times in their file to times since the
    /// start of the trace.
    fn rebase(&mut self, from: usize) {
        let Some(first) = self.ready.get(from) else { return };
        let first_ns = *self.first_ns.get_or_insert(first.time_ns);
        for request in &mut self.ready[from..] {
            request.time_ns = self.base_ns.saturating_add(request.time_ns - first_ns);
        }
        self.last_ns = self.ready.last().map_or(self.last_ns, |request| request.time_ns);
    }

    /// True if all ordered requests have been returned.
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.ready.len()
    }

    /// Returns the next ordered requests, at most `max`.
    pub fn take(&mut self, max: usize) -> &[Request] {
        let start = self.next;
        self.next = self.ready.len().min(start.saturating_add(max));
        &self.ready[start..self.next]
    }

    /// Returns the numbers of out-of-order and of late requests, as defined in [`IngestCounts`].
    pub fn counts(&self) -> (u64, u64) {
        (self.counts.out_of_order, self.counts.late)
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
            let mut batch = [Request { time_ns, offset, bytes: 512, op: Op::Read, flags: 0, stream: 0 }];
            reorder.push(&mut batch, &mut ready, &mut counts);
        }
        reorder.finish(&mut ready);
        (ready.iter().map(|r| (r.time_ns, r.offset)).collect(), counts.out_of_order, counts.late)
    }

    #[test]
    fn a_file_starts_when_the_previous_one_ends() {
        let mut order = InOrder::default();
        let request = |time_ns| Request { time_ns, offset: 0, bytes: 512, op: Op::Read, flags: 0, stream: 0 };
        order.push(&mut [7, 5, 9].map(request));
        assert!(order.take(9).is_empty());
        order.turn();
        order.push(&mut [100, 103].map(request));
        order.turn();
        let times = |requests: &[Request]| requests.iter().map(|request| request.time_ns).collect::<Vec<_>>();
        assert_eq!((times(order.take(2)), times(order.take(9)), order.counts()), (vec![0, 2], vec![4, 4, 7], (1, 0)));
    }

    #[test]
    fn equal_times_keep_file_order() {
        assert_eq!(run(2, &[5, 5, 5, 5, 5]), (vec![(5, 0), (5, 1), (5, 2), (5, 3), (5, 4)], 0, 0));
    }

    #[test]
    fn a_request_within_the_window_is_sorted() {
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
