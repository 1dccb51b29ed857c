//! Queue of backing requests, the requests that a cache sends to the layer below. The order respects dependencies
//! between requests to the same pages.
//!
//! ```text
//! read, write     waits for earlier requests below on the same pages, so that data is never stale
//! flush           waits for all earlier writes and trims; the rest of the same host request waits for it
//! trim            waits for earlier requests on its pages; later requests on these pages wait for it
//! ```
//! If a host request hits a page that is still being read, the request waits for that read.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;
use ssdlab_cache::Why;
use ssdlab_core::{PageSize, Slab};
use ssdlab_trace::{Op, Request};

/// An incomplete request to the layer below the cache.
#[derive(Debug)]
struct Sent {
    request: Request,
    why: Why,
    pages: Range<u64>,
    /// Host request that caused this backing request and waits for its completion.
    host: Option<u32>,
    /// Other host requests that wait for this backing request to complete.
    hosts: Vec<u32>,
    /// Number of earlier backing requests that must complete first, plus one while this request is being added.
    blockers: u32,
    /// Backing requests that wait for this backing request.
    followers: Vec<u32>,
    /// Number of flushes added before this request.
    flushes: u64,
}

/// Incomplete backing requests that touch one page.
#[derive(Clone, Copy, Debug)]
struct PageRequests {
    /// The last incomplete backing request that touches the page.
    last: u32,
    /// The last read of the page; `None` once the read has completed.
    arriving: Option<u32>,
}

/// Group of writes and trims added between two flushes.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// Number of incomplete writes and trims in the epoch.
    writes: u32,
    /// Flush that follows the writes of the epoch, if any.
    flush: Option<u32>,
}

/// All incomplete requests to the layer below the cache.
#[derive(Debug)]
pub(super) struct BackingQueue {
    page: PageSize,
    sent: Slab<Sent>,
    pages: FxHashMap<u64, PageRequests>,
    trims: Vec<u32>,
    /// Epochs, oldest first; the last epoch ends with the next flush.
    epochs: VecDeque<Epoch>,
    /// Number of flushes before the oldest epoch.
    flushes: u64,
    /// Backing requests that may be sent, because they wait for no other request.
    ready: VecDeque<u32>,
}

impl BackingQueue {
    pub fn new(page_bytes: u32) -> Self {
        Self {
            page: PageSize::new(page_bytes),
            sent: Slab::default(),
            pages: FxHashMap::default(),
            trims: Vec::new(),
            epochs: VecDeque::from([Epoch::default()]),
            flushes: 0,
            ready: VecDeque::new(),
        }
    }

    /// Returns the number of incomplete backing requests.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Returns true if a backing request may be sent to the layer below now.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the next request that may be sent to the layer below, with its number.
    pub fn next(&mut self) -> Option<(u32, Request)> {
        let number = self.ready.pop_front()?;
        Some((number, self.sent[number].request))
    }

    /// Makes a host request wait for the pending reads of its pages. Returns the number of pending reads.
    pub fn wait_for_arrivals(&mut self, host: u32, offset: u64, end: u64) -> u32 {
        if self.pages.is_empty() {
            return 0;
        }
        let (mut waits, mut last) = (0, None);
        for page in self.page.touched(offset, end) {
            let arriving = self.pages.get(&page).and_then(|of_page| of_page.arriving);
            if let Some(read) = arriving.filter(|_| arriving != last) {
                self.sent[read].hosts.push(host);
                waits += 1;
                last = arriving;
            }
        }
        waits
    }

    /// Adds a backing request and returns its number. `host` is the host request, if any, that waits for the new
    /// request; `fence` is a backing request, if any, that must complete before it.
    pub fn add(&mut self, request: Request, why: Why, host: Option<u32>, fence: Option<u32>) -> u32 {
        let pages = self.page.touched(request.offset, request.end());
        let flushes = self.flushes + self.epochs.len() as u64 - 1;
        let (hosts, followers) = (Vec::new(), Vec::new());
        let sent = Sent { request, why, pages: pages.clone(), host, hosts, blockers: 1, followers, flushes };
        let number = self.sent.insert(sent);
        if let Some(fence) = fence {
            self.block(number, fence);
        }
        match request.op {
            Op::Flush => self.add_flush(number),
            Op::Trim => self.add_trim(number, pages),
            Op::Read | Op::Write => self.add_access(number, request.op, pages),
        }
        if matches!(request.op, Op::Write | Op::Trim) {
            self.epochs.back_mut().expect("the list of epochs is never empty").writes += 1;
        }
        self.unblock(number);
        number
    }

    fn block(&mut self, number: u32, by: u32) {
        self.sent[number].blockers += 1;
        self.sent[by].followers.push(number);
    }

    fn add_flush(&mut self, number: u32) {
        self.epochs.back_mut().expect("the list of epochs is never empty").flush = Some(number);
        self.epochs.push_back(Epoch::default());
        self.sent[number].blockers += 1;
        self.release_flushes();
    }

    fn add_trim(&mut self, number: u32, pages: Range<u64>) {
        let mut before: Vec<u32> = if pages.end - pages.start < self.pages.len() as u64 {
            pages.filter_map(|page| self.pages.get(&page)).map(|of_page| of_page.last).collect()
        } else {
            self.pages.iter().filter(|(page, _)| pages.contains(page)).map(|(_, of_page)| of_page.last).collect()
        };
        before.sort_unstable();
        before.dedup();
        before.into_iter().for_each(|by| self.block(number, by));
        self.trims.push(number);
    }

    fn add_access(&mut self, number: u32, op: Op, pages: Range<u64>) {
        for at in 0..self.trims.len() {
            let trimmed = &self.sent[self.trims[at]].pages;
            if trimmed.start < pages.end && pages.start < trimmed.end {
                self.block(number, self.trims[at]);
            }
        }
        let mut last = None;
        for page in pages {
            let before = self.pages.get(&page).copied();
            let arriving = if op == Op::Read { Some(number) } else { before.and_then(|before| before.arriving) };
            self.pages.insert(page, PageRequests { last: number, arriving });
            if let Some(PageRequests { last: by, .. }) = before
                && last != Some(by)
            {
                self.block(number, by);
                last = Some(by);
            }
        }
    }

    /// Releases flushes whose preceding writes and trims are complete.
    fn release_flushes(&mut self) {
        while let Some(&Epoch { writes: 0, flush: Some(flush) }) = self.epochs.front() {
            self.epochs.pop_front();
            self.flushes += 1;
            self.unblock(flush);
        }
    }

    fn unblock(&mut self, number: u32) {
        let sent = &mut self.sent[number];
        sent.blockers -= 1;
        if sent.blockers == 0 {
            self.ready.push_back(number);
        }
    }

    /// Completes a backing request. Appends the host requests that waited for this request to `hosts`. Returns the
    /// number of dirty pages that are now clean.
    pub fn completed(&mut self, number: u32, hosts: &mut Vec<u32>) -> u64 {
        let sent = &mut self.sent[number];
        let (op, why, pages, flushes) = (sent.request.op, sent.why, sent.pages.clone(), sent.flushes);
        hosts.extend(sent.host);
        hosts.append(&mut sent.hosts);
        let followers = std::mem::take(&mut sent.followers);
        match op {
            Op::Read | Op::Write => self.forget(number, pages.clone()),
            Op::Trim => self.trims.retain(|&trim| trim != number),
            Op::Flush => {}
        }
        if matches!(op, Op::Write | Op::Trim) {
            self.epochs[(flushes - self.flushes) as usize].writes -= 1;
            self.release_flushes();
        }
        followers.into_iter().for_each(|follower| self.unblock(follower));
        self.sent.remove(number);
        if op == Op::Write && why != Why::Through { pages.end - pages.start } else { 0 }
    }

    /// Removes a completed request from the lists of its pages, so that later requests do not wait for it.
    fn forget(&mut self, number: u32, pages: Range<u64>) {
        for page in pages {
            let of_page = self.pages.get_mut(&page).expect("an incomplete request is registered for its pages");
            if of_page.arriving == Some(number) {
                of_page.arriving = None;
            }
            if of_page.last == number {
                self.pages.remove(&page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn request(op: Op, pages: Range<u64>) -> Request {
        let bytes = ((pages.end - pages.start) * 4096) as u32;
        Request { time_ns: 0, offset: pages.start * 4096, bytes, op, flags: 0, stream: 0 }
    }

    /// Returns true if `later` must not begin before `earlier` completes.
    fn must_wait(later: &Request, earlier: &Request) -> bool {
        match (later.op, earlier.op) {
            (Op::Flush, op) => matches!(op, Op::Write | Op::Trim),
            (_, Op::Flush) | (Op::Trim, Op::Trim) => false,
            _ => later.offset < earlier.end() && earlier.offset < later.end(),
        }
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Starts and completes random requests in random order. Every request must be served, and never before a
        /// request that it must follow.
        #[test]
        fn requests_wait_for_exactly_the_requests_that_they_must_follow(
            requests in prop::collection::vec((0..4_usize, 0_u64..12, 1_u64..4), 1..60),
            choices in prop::collection::vec((0..3_u8, any::<u16>()), 0..200),
        ) {
            let mut below = BackingQueue::new(4096);
            let mut to_add = requests.into_iter().map(|(op, first, count)| match Op::ALL[op] {
                Op::Flush => request(Op::Flush, 0..0),
                op => request(op, first..first + count),
            });
            // Incomplete requests, oldest first, each with a flag that is true once the request has started.
            let mut open: Vec<(u32, Request, bool)> = Vec::new();
            let steps = choices.into_iter().chain((0..1_000).map(|step| (step as u8 % 3, 0)));
            for (what, which) in steps {
                match what {
                    0 => open.extend(to_add.next().map(|request| (below.add(request, Why::Through, None, None), request, false))),
                    1 => while let Some((number, _)) = below.next() {
                        open.iter_mut().find(|request| request.0 == number).expect("it is open").2 = true;
                    },
                    _ => {
                        let begun: Vec<u32> = open.iter().filter(|request| request.2).map(|request| request.0).collect();
                        if !begun.is_empty() {
                            let number = begun[usize::from(which) % begun.len()];
                            below.completed(number, &mut Vec::new());
                            open.retain(|request| request.0 != number);
                        }
                    }
                }
                if what == 1 {
                    for (at, (_, later, begun)) in open.iter().enumerate() {
                        let waits = open[..at].iter().any(|(_, earlier, _)| must_wait(later, earlier));
                        prop_assert_eq!(*begun, !waits, "{:?} behind {:?}", later, &open[..at]);
                    }
                }
            }
            prop_assert!(open.is_empty() && below.len() == 0 && below.pages.is_empty() && below.trims.is_empty());
        }
    }

    #[test]
    fn only_the_rest_of_the_same_request_waits_for_a_flush() {
        let mut below = BackingQueue::new(4096);
        let flush = below.add(request(Op::Flush, 0..0), Why::Flush, Some(7), None);
        let marked = below.add(request(Op::Write, 0..1), Why::Through, Some(7), Some(flush));
        let other = below.add(request(Op::Write, 1..2), Why::Through, None, None);
        let ready = |below: &mut BackingQueue| {
            std::iter::from_fn(|| below.next()).map(|(number, _)| number).collect::<Vec<_>>()
        };
        assert_eq!(ready(&mut below), [flush, other]);
        let mut hosts = Vec::new();
        assert_eq!(below.completed(flush, &mut hosts), 0);
        assert_eq!((ready(&mut below), hosts), (vec![marked], vec![7]));
    }

    #[test]
    fn hits_on_a_page_being_read_wait_for_the_read() {
        let mut below = BackingQueue::new(4096);
        let read = below.add(request(Op::Read, 0..2), Why::Miss, Some(1), None);
        let evicted = below.add(request(Op::Write, 1..2), Why::Evicted, None, None);
        assert_eq!(below.wait_for_arrivals(2, 4096, 3 * 4096), 1);
        assert_eq!(below.wait_for_arrivals(3, 2 * 4096, 3 * 4096), 0);
        let mut hosts = Vec::new();
        assert_eq!((below.completed(read, &mut hosts), hosts), (0, vec![1, 2]));
        // A host request does not wait for a page that is only being written.
        assert_eq!(below.wait_for_arrivals(4, 4096, 2 * 4096), 0);
        assert_eq!(below.completed(evicted, &mut Vec::new()), 1);
    }
}
