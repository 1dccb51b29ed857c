//! Requests that a cache sends below, and which of them have to wait for others.
//!
//! ```text
//! read, write     waits for the requests below on the same pages that came before it, so that data is never older
//! flush           waits for all writes and trims that came before it; what follows it in one request waits for it
//! trim            waits for what came before on its pages, and what comes after on these waits for it
//! ```
//! A request of the host that finds a page cached, but still on its way up, waits for that as well.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;
use ssdlab_cache::Why;
use ssdlab_core::{PageSize, Slab};
use ssdlab_trace::{Op, Request};

/// A request below that is not complete.
#[derive(Debug)]
struct Sent {
    request: Request,
    why: Why,
    pages: Range<u64>,
    /// The request of the host that caused it and waits for it.
    host: Option<u32>,
    /// Other requests of the host that wait for it.
    hosts: Vec<u32>,
    /// Requests below that it waits for, and one more until it has been added.
    blockers: u32,
    /// Requests below that wait for it.
    followers: Vec<u32>,
    /// Flushes that came before it.
    flushes: u64,
}

/// Requests below that are not complete and touch one page.
#[derive(Clone, Copy, Debug)]
struct OfPage {
    /// The one that came last.
    last: u32,
    /// The last read among them, as long as it is not complete.
    arriving: Option<u32>,
}

/// Writes and trims between two flushes.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// Those that are not complete.
    writes: u32,
    /// The flush that came after them, if one has.
    flush: Option<u32>,
}

/// Requests below that are not complete.
#[derive(Debug)]
pub(super) struct BackingQueue {
    page: PageSize,
    sent: Slab<Sent>,
    pages: FxHashMap<u64, OfPage>,
    trims: Vec<u32>,
    /// Oldest first; the last one is before the flush to come.
    epochs: VecDeque<Epoch>,
    /// Flushes that came before the oldest epoch.
    flushes: u64,
    /// Requests that wait for none.
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

    /// Requests that are not complete.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Requests that may go below now.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next request that may go below, with its number.
    pub fn next(&mut self) -> Option<(u32, Request)> {
        let number = self.ready.pop_front()?;
        Some((number, self.sent[number].request))
    }

    /// Has a request of the host wait for those of its pages that are on their way up; for how many requests below.
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

    /// Adds a request, which goes below after `fence` as well; its number. `host` is the request of the host that waits
    /// for it.
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
            self.epochs.back_mut().expect("there is always one").writes += 1;
        }
        self.unblock(number);
        number
    }

    fn block(&mut self, number: u32, by: u32) {
        self.sent[number].blockers += 1;
        self.sent[by].followers.push(number);
    }

    fn add_flush(&mut self, number: u32) {
        self.epochs.back_mut().expect("there is always one").flush = Some(number);
        self.epochs.push_back(Epoch::default());
        self.sent[number].blockers += 1;
        self.let_flushes_go();
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
            self.pages.insert(page, OfPage { last: number, arriving });
            if let Some(OfPage { last: by, .. }) = before
                && last != Some(by)
            {
                self.block(number, by);
                last = Some(by);
            }
        }
    }

    /// Lets the flushes go whose writes are complete.
    fn let_flushes_go(&mut self) {
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

    /// A request is complete. Appends the requests of the host that waited for it, and says how many dirty pages are
    /// safe now.
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
            self.let_flushes_go();
        }
        followers.into_iter().for_each(|follower| self.unblock(follower));
        self.sent.remove(number);
        if op == Op::Write && why != Why::Through { pages.end - pages.start } else { 0 }
    }

    /// Nothing has to wait for this request on its pages any more.
    fn forget(&mut self, number: u32, pages: Range<u64>) {
        for page in pages {
            let of_page = self.pages.get_mut(&page).expect("a request below is known on its pages");
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

    /// Whether `later` must not begin before `earlier` is complete.
    fn must_wait(later: &Request, earlier: &Request) -> bool {
        match (later.op, earlier.op) {
            (Op::Flush, op) => matches!(op, Op::Write | Op::Trim),
            (_, Op::Flush) | (Op::Trim, Op::Trim) => false,
            _ => later.offset < earlier.end() && earlier.offset < later.end(),
        }
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Random requests, begun and completed at random: all come to their turn, and none before those that it
        /// follows.
        #[test]
        fn requests_wait_for_those_that_they_follow_and_for_no_others(
            requests in prop::collection::vec((0..4_usize, 0_u64..12, 1_u64..4), 1..60),
            choices in prop::collection::vec((0..3_u8, any::<u16>()), 0..200),
        ) {
            let mut below = BackingQueue::new(4096);
            let mut to_add = requests.into_iter().map(|(op, first, count)| match Op::ALL[op] {
                Op::Flush => request(Op::Flush, 0..0),
                op => request(op, first..first + count),
            });
            // Requests added and not complete, oldest first, and whether each has begun.
            let mut open: Vec<(u32, Request, bool)> = Vec::new();
            let steps = choices.into_iter().chain((0..1_000).map(|step| (step as u8 % 3, 0)));
            for (what, which) in steps {
                match what {
                    0 => open.extend(to_add.next().map(|one| (below.add(one, Why::Through, None, None), one, false))),
                    1 => while let Some((number, _)) = below.next() {
                        open.iter_mut().find(|one| one.0 == number).expect("it is open").2 = true;
                    },
                    _ => {
                        let begun: Vec<u32> = open.iter().filter(|one| one.2).map(|one| one.0).collect();
                        if !begun.is_empty() {
                            let number = begun[usize::from(which) % begun.len()];
                            below.completed(number, &mut Vec::new());
                            open.retain(|one| one.0 != number);
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
    fn what_follows_a_flush_in_one_request_waits_for_it_and_others_do_not() {
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
    fn those_who_find_a_page_on_its_way_are_told_when_it_is_there() {
        let mut below = BackingQueue::new(4096);
        let read = below.add(request(Op::Read, 0..2), Why::Miss, Some(1), None);
        let evicted = below.add(request(Op::Write, 1..2), Why::Evicted, None, None);
        assert_eq!(below.wait_for_arrivals(2, 4096, 3 * 4096), 1);
        assert_eq!(below.wait_for_arrivals(3, 2 * 4096, 3 * 4096), 0);
        let mut hosts = Vec::new();
        assert_eq!((below.completed(read, &mut hosts), hosts), (0, vec![1, 2]));
        // No request waits for a page that is written.
        assert_eq!(below.wait_for_arrivals(4, 4096, 2 * 4096), 0);
        assert_eq!(below.completed(evicted, &mut Vec::new()), 1);
    }
}
