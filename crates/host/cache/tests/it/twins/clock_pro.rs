//! CLOCK-Pro: a circle of pages as drawn in the paper, with three hands that are positions.

use super::Twin;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Hot,
    Cold,
    NonResident,
}

#[derive(Clone, Copy)]
struct Page {
    item: u32,
    kind: Kind,
    referenced: bool,
    in_test: bool,
}

/// Returns the position of a hand after removal of the page at `at`, with `len` pages left. If the hand was at the
/// removed page, it moves to the next page.
fn behind(hand: usize, at: usize, len: usize) -> usize {
    let hand = if at < hand { hand - 1 } else { hand };
    if hand >= len { 0 } else { hand }
}

/// CLOCK-Pro with a circle of pages, whose positions increase clockwise; on an empty circle a hand points nowhere.
#[derive(Default)]
pub struct ClockPro {
    circle: Vec<Page>,
    hot_hand: usize,
    cold_hand: Option<usize>,
    test_hand: Option<usize>,
    m: usize,
    m_cold: usize,
}

impl ClockPro {
    pub fn new(capacity: u64) -> Self {
        Self { m: capacity as usize, m_cold: capacity as usize, ..Self::default() }
    }

    fn count(&self, kind: Kind) -> usize {
        self.circle.iter().filter(|page| page.kind == kind).count()
    }

    fn resident(&self) -> usize {
        self.count(Kind::Hot) + self.count(Kind::Cold)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) % self.circle.len()
    }

    fn take_at(&mut self, at: usize) -> Page {
        let page = self.circle.remove(at);
        let len = self.circle.len();
        self.hot_hand = behind(self.hot_hand, at, len);
        self.cold_hand = self.cold_hand.filter(|_| len > 0).map(|hand| behind(hand, at, len));
        self.test_hand = self.test_hand.filter(|_| len > 0).map(|hand| behind(hand, at, len));
        page
    }

    /// Inserts at the list head, just behind HAND-hot.
    fn put_at_head(&mut self, page: Page) {
        let at = self.hot_hand;
        self.circle.insert(at, page);
        let moved = |hand: usize| if hand >= at { hand + 1 } else { hand };
        self.hot_hand = (at + 1) % self.circle.len();
        self.cold_hand = self.cold_hand.map(moved);
        self.test_hand = self.test_hand.map(moved);
    }

    fn end_test(&mut self, at: usize) {
        if self.circle[at].in_test && !self.circle[at].referenced {
            self.m_cold = (self.m_cold - 1).max(1);
        }
        self.circle[at].in_test = false;
    }

    fn run_hot_hand(&mut self) {
        let mut cooled = self.count(Kind::Hot) == 0;
        while !self.circle.is_empty() {
            let at = self.hot_hand;
            if cooled && (self.circle[at].kind == Kind::Hot || self.count(Kind::Hot) == 0) {
                return;
            }
            match self.circle[at].kind {
                Kind::NonResident => {
                    self.end_test(at);
                    self.take_at(at);
                    continue;
                }
                Kind::Cold => self.end_test(at),
                Kind::Hot if self.circle[at].referenced => self.circle[at].referenced = false,
                Kind::Hot => {
                    self.circle[at].kind = Kind::Cold;
                    cooled = true;
                }
            }
            self.hot_hand = self.next(at);
        }
    }

    fn limit_hot(&mut self) {
        while self.count(Kind::Hot) > self.m - self.m_cold {
            self.run_hot_hand();
        }
    }

    fn run_test_hand(&mut self) {
        loop {
            let at = self.test_hand.unwrap_or(self.hot_hand);
            let next = self.next(at);
            self.test_hand = Some(next);
            if self.circle[at].in_test {
                self.end_test(at);
                if self.circle[at].kind == Kind::NonResident {
                    self.take_at(at);
                }
                return;
            }
        }
    }

    fn run_cold_hand(&mut self) {
        loop {
            if self.count(Kind::Cold) == 0 {
                self.run_hot_hand();
            }
            let at = self.cold_hand.unwrap_or(self.hot_hand);
            self.cold_hand = Some(self.next(at));
            let page = self.circle[at];
            if page.kind != Kind::Cold {
                continue;
            }
            if page.referenced {
                let alone = self.circle.len() == 1;
                self.take_at(at);
                let kind = if page.in_test { Kind::Hot } else { Kind::Cold };
                self.put_at_head(Page { kind, referenced: false, in_test: !page.in_test, ..page });
                if alone {
                    self.cold_hand = Some(0);
                }
                if page.in_test {
                    self.m_cold = (self.m_cold + 1).min(self.m);
                    self.limit_hot();
                }
                continue;
            }
            if page.in_test {
                self.circle[at].kind = Kind::NonResident;
                while self.count(Kind::NonResident) > self.m {
                    self.run_test_hand();
                }
            } else {
                self.take_at(at);
            }
            return;
        }
    }
}

impl Twin for ClockPro {
    fn access(&mut self, item: u32, _: u64, _: u32) -> bool {
        if let Some(page) = self.circle.iter_mut().find(|page| page.item == item && page.kind != Kind::NonResident) {
            page.referenced = true;
            return true;
        }
        if self.resident() == self.m {
            self.run_cold_hand();
        }
        if let Some(at) = self.circle.iter().position(|page| page.item == item) {
            self.take_at(at);
            self.m_cold = (self.m_cold + 1).min(self.m);
            self.put_at_head(Page { item, kind: Kind::Hot, referenced: false, in_test: false });
            self.limit_hot();
        } else {
            self.put_at_head(Page { item, kind: Kind::Cold, referenced: false, in_test: true });
        }
        false
    }

    fn remove(&mut self, item: u32) {
        if let Some(at) = self.circle.iter().position(|page| page.item == item) {
            self.take_at(at);
        }
    }

    fn cached(&self) -> Vec<u32> {
        self.circle.iter().filter(|page| page.kind != Kind::NonResident).map(|page| page.item).collect()
    }
}
