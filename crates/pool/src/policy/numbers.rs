//! Numbers for the pages that a policy knows: those that are here, and those that left last.

use super::links::{Links, List, NONE};
use crate::PageId;
use crate::hash::bucket;

/// Numbers from 0, the same for a page that comes back as long as no other page needed its number.
#[derive(Default)]
pub struct Numbers {
    /// The first number of each bucket, and the next one of the same.
    heads: Vec<u32>,
    next: Vec<u32>,
    ids: Vec<PageId>,
    /// Numbers that were given so far; those above are new.
    given: u32,
    /// Numbers of pages that left.
    gone: List,
    links: Links,
}

impl Numbers {
    /// So many numbers from now on. There must be more than pages that are here at once.
    pub fn grow(&mut self, numbers: usize) {
        let more = numbers - self.ids.len();
        self.ids.reserve_exact(more);
        self.ids.resize(numbers, 0);
        self.next.reserve_exact(more);
        self.next.resize(numbers, NONE);
        self.links.grow(numbers);
        self.heads = vec![NONE; numbers.next_power_of_two()];
        (0..self.given).for_each(|number| self.enter(number));
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    fn bucket(&self, id: PageId) -> usize {
        bucket(id, self.heads.len())
    }

    fn enter(&mut self, number: u32) {
        let bucket = self.bucket(self.ids[number as usize]);
        self.next[number as usize] = std::mem::replace(&mut self.heads[bucket], number);
    }

    fn find(&self, id: PageId) -> Option<u32> {
        let some = |number: u32| (number != NONE).then_some(number);
        let first = some(self.heads[self.bucket(id)]);
        std::iter::successors(first, |&number| some(self.next[number as usize]))
            .find(|&number| self.ids[number as usize] == id)
    }

    fn forget(&mut self, number: u32) {
        let bucket = self.bucket(self.ids[number as usize]);
        let next = self.next[number as usize];
        if self.heads[bucket] == number {
            self.heads[bucket] = next;
            return;
        }
        let mut before = self.heads[bucket];
        while self.next[before as usize] != number {
            before = self.next[before as usize];
        }
        self.next[before as usize] = next;
    }

    /// The number of a page that comes, and whether it was that of another one.
    pub fn come(&mut self, id: PageId) -> (u32, bool) {
        if let Some(number) = self.find(id) {
            self.links.remove(&mut self.gone, number);
            return (number, false);
        }
        let is_new = (self.given as usize) < self.ids.len();
        let number = if is_new {
            self.given += 1;
            self.given - 1
        } else {
            let oldest = self.links.pop_oldest(&mut self.gone).expect("there are more numbers than pages");
            self.forget(oldest);
            oldest
        };
        self.ids[number as usize] = id;
        self.enter(number);
        (number, !is_new)
    }

    /// The page of this number leaves.
    pub fn leave(&mut self, number: u32) {
        self.links.push(&mut self.gone, number);
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
    fn numbers_come_back_until_others_need_them() {
        let mut numbers = Numbers::default();
        numbers.grow(2);
        numbers.grow(3);
        assert_eq!([70, 80, 90].map(|id| numbers.come(id)), [(0, false), (1, false), (2, false)]);
        [1, 0].into_iter().for_each(|number| numbers.leave(number));
        assert_eq!(numbers.come(80), (1, false), "it was known");
        assert_eq!(numbers.come(60), (0, true), "70 left first of those that are not back");
        numbers.leave(1);
        assert_eq!(numbers.come(70), (1, true));
        numbers.grow(5);
        numbers.leave(2);
        assert_eq!([90, 50].map(|id| numbers.come(id)), [(2, false), (3, false)]);
    }
}
