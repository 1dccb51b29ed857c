//! Numbered items in an order that any of them can leave: a doubly linked list in an array.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    older: u32,
    newer: u32,
}

/// Items `0..capacity`, each in the queue at most once, oldest first.
#[derive(Debug)]
pub struct Queue {
    links: Vec<Link>,
    oldest: u32,
    newest: u32,
}

impl Queue {
    /// Bytes held for each item of the capacity.
    pub const BYTES_PER_ITEM: usize = size_of::<Link>();

    /// An empty queue for items below `capacity`.
    pub fn new(capacity: u32) -> Self {
        Self { links: vec![Link { older: NONE, newer: NONE }; capacity as usize], oldest: NONE, newest: NONE }
    }

    /// Adds an item that is not in the queue as the newest.
    #[inline]
    pub fn push(&mut self, item: u32) {
        self.links[item as usize] = Link { older: self.newest, newer: NONE };
        match self.newest {
            NONE => self.oldest = item,
            newest => self.links[newest as usize].newer = item,
        }
        self.newest = item;
    }

    /// Takes an item out that is in the queue.
    #[inline]
    pub fn remove(&mut self, item: u32) {
        let Link { older, newer } = self.links[item as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
    }

    /// Makes an item that is in the queue the newest.
    #[inline]
    pub fn renew(&mut self, item: u32) {
        if self.newest != item {
            self.remove(item);
            self.push(item);
        }
    }

    /// The item that has been in the queue longest.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Items from the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let listed = |item: u32| (item != NONE).then_some(item);
        std::iter::successors(self.oldest(), move |&item| listed(self.links[item as usize].newer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_from_anywhere_and_come_back_as_newest() {
        let mut queue = Queue::new(5);
        assert_eq!(queue.oldest(), None);
        (0..5).for_each(|item| queue.push(item));
        queue.remove(0);
        queue.remove(2);
        queue.remove(4);
        assert!(queue.iter().eq([1, 3]));
        queue.push(0);
        queue.renew(1);
        queue.renew(1);
        assert!(queue.iter().eq([3, 0, 1]));
        [3, 0, 1].into_iter().for_each(|item| queue.remove(item));
        assert_eq!((queue.oldest(), queue.iter().count()), (None, 0));
    }
}
