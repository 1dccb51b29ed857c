//! Assigns dense numbers to present and recently removed pages. Simulated policies identify pages by these numbers.

use super::links::{Links, List, NONE};
use crate::PageId;
use crate::hash::bucket;

/// Assigns dense numbers to pages, starting at 0. A removed page keeps its number until another page needs the number.
#[derive(Default)]
pub struct Numbers {
    /// First dense number in each hash bucket.
    heads: Vec<u32>,
    /// For each dense number, the next number in the same hash bucket.
    next: Vec<u32>,
    /// For each dense number, the id of the page.
    ids: Vec<PageId>,
    /// Number of dense numbers assigned so far.
    assigned: u32,
    /// Reusable numbers of removed pages, in order of removal.
    removed: List,
    links: Links,
}

impl Numbers {
    /// Grows the table to `numbers` dense numbers, which must be more than the maximum number of pages present at once.
    pub fn grow(&mut self, numbers: usize) {
        let more = numbers - self.ids.len();
        self.ids.reserve_exact(more);
        self.ids.resize(numbers, 0);
        self.next.reserve_exact(more);
        self.next.resize(numbers, NONE);
        self.links.grow(numbers);
        self.heads = vec![NONE; numbers.next_power_of_two()];
        (0..self.assigned).for_each(|number| self.link(number));
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    fn bucket(&self, id: PageId) -> usize {
        bucket(id, self.heads.len())
    }

    fn link(&mut self, number: u32) {
        let bucket = self.bucket(self.ids[number as usize]);
        self.next[number as usize] = std::mem::replace(&mut self.heads[bucket], number);
    }

    fn find(&self, id: PageId) -> Option<u32> {
        let valid = |number: u32| (number != NONE).then_some(number);
        let first = valid(self.heads[self.bucket(id)]);
        std::iter::successors(first, |&number| valid(self.next[number as usize]))
            .find(|&number| self.ids[number as usize] == id)
    }

    fn unlink(&mut self, number: u32) {
        let bucket = self.bucket(self.ids[number as usize]);
        let next = self.next[number as usize];
        if self.heads[bucket] == number {
            self.heads[bucket] = next;
            return;
        }
        let mut previous = self.heads[bucket];
        while self.next[previous as usize] != number {
            previous = self.next[previous as usize];
        }
        self.next[previous as usize] = next;
    }

    /// Inserts a page. Returns its number, and a flag that is true if the number belonged to another page before.
    pub fn insert(&mut self, id: PageId) -> (u32, bool) {
        if let Some(number) = self.find(id) {
            self.links.remove(&mut self.removed, number);
            return (number, false);
        }
        let is_new = (self.assigned as usize) < self.ids.len();
        let number = if is_new {
            self.assigned += 1;
            self.assigned - 1
        } else {
            let oldest = self
                .links
                .pop_oldest(&mut self.removed)
                .expect("a number is free, because there are more numbers than pages");
            self.unlink(oldest);
            oldest
        };
        self.ids[number as usize] = id;
        self.link(number);
        (number, !is_new)
    }

    /// Removes the page with the given number; the page keeps the number until another page needs it.
    pub fn remove(&mut self, number: u32) {
        self.links.push(&mut self.removed, number);
    }

    pub fn bytes(&self) -> usize {
        (self.heads.capacity() + self.next.capacity()) * size_of::<u32>()
            + self.ids.capacity() * size_of::<PageId>()
            + self.links.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_pages_keep_their_numbers_until_another_page_needs_them() {
        let mut numbers = Numbers::default();
        numbers.grow(2);
        numbers.grow(3);
        assert_eq!([70, 80, 90].map(|id| numbers.insert(id)), [(0, false), (1, false), (2, false)]);
        [1, 0].into_iter().for_each(|number| numbers.remove(number));
        assert_eq!(numbers.insert(80), (1, false), "80 still had its number");
        assert_eq!(numbers.insert(60), (0, true), "70 was removed first and is still absent");
        numbers.remove(1);
        assert_eq!(numbers.insert(70), (1, true));
        numbers.grow(5);
        numbers.remove(2);
        assert_eq!([90, 50].map(|id| numbers.insert(id)), [(2, false), (3, false)]);
    }
}
