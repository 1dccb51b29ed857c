//! Intrusive doubly linked lists of numbered items, with removal from any position.
//!
//! A [`List`] stores only its head and tail. The links are in an array of nodes that the caller owns; a node can also
//! hold other data about its item. Several lists can share the nodes if each item is in at most one list.

use serde::{Deserialize, Serialize};

/// Item number that marks the end of a list.
pub const NONE: u32 = u32::MAX;

/// Neighbours of an item in its list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Link {
    /// Next older item in the list; [`NONE`] for the oldest item.
    pub older: u32,
    /// Next newer item in the list; [`NONE`] for the newest item.
    pub newer: u32,
}

impl Link {
    /// Links of an item that has no neighbours.
    pub const ALONE: Self = Self { older: NONE, newer: NONE };
}

/// Node of an item, which contains its links.
pub trait Node {
    /// Returns the links of the item.
    fn link(&self) -> &Link;

    /// Returns a mutable reference to the links of the item.
    fn link_mut(&mut self) -> &mut Link;
}

impl Node for Link {
    #[inline(always)]
    fn link(&self) -> &Link {
        self
    }

    #[inline(always)]
    fn link_mut(&mut self) -> &mut Link {
        self
    }
}

/// Head and tail of a linked list of items. An item's number is the index of its node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct List {
    oldest: u32,
    newest: u32,
}

impl Default for List {
    fn default() -> Self {
        Self::EMPTY
    }
}

#[inline(always)]
fn some(item: u32) -> Option<u32> {
    (item != NONE).then_some(item)
}

impl List {
    /// Creates an empty list.
    pub const EMPTY: Self = Self { oldest: NONE, newest: NONE };

    /// True if the list is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.oldest == NONE
    }

    /// Returns the item that has been in the list longest.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        some(self.oldest)
    }

    /// Returns the item that was added last.
    #[inline]
    pub fn newest(&self) -> Option<u32> {
        some(self.newest)
    }

    /// Links two neighbouring items. If one is [`NONE`], the other becomes the oldest or newest item.
    #[inline(always)]
    fn join<N: Node>(&mut self, nodes: &mut [N], older: u32, newer: u32) {
        match older {
            NONE => self.oldest = newer,
            older => nodes[older as usize].link_mut().newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => nodes[newer as usize].link_mut().older = older,
        }
    }

    /// Adds an item as the newest; it must not be in any list.
    #[inline(always)]
    pub fn push<N: Node>(&mut self, nodes: &mut [N], item: u32) {
        let newest = std::mem::replace(&mut self.newest, item);
        match newest {
            NONE => self.oldest = item,
            newest => nodes[newest as usize].link_mut().newer = item,
        }
        *nodes[item as usize].link_mut() = Link { older: newest, newer: NONE };
    }

    /// Inserts an item directly before `newer`. The item must not be in any list; `newer` must be in this list.
    #[inline]
    pub fn insert_before<N: Node>(&mut self, nodes: &mut [N], item: u32, newer: u32) {
        let older = nodes[newer as usize].link().older;
        *nodes[item as usize].link_mut() = Link { older, newer };
        self.join(nodes, older, item);
        nodes[newer as usize].link_mut().older = item;
    }

    /// Removes an item of this list and returns its former neighbours.
    #[inline(always)]
    pub fn remove<N: Node>(&mut self, nodes: &mut [N], item: u32) -> Link {
        let link = *nodes[item as usize].link();
        self.join(nodes, link.older, link.newer);
        link
    }

    /// Removes and returns the oldest item of the list.
    #[inline]
    pub fn pop_oldest<N: Node>(&mut self, nodes: &mut [N]) -> Option<u32> {
        let item = self.oldest()?;
        self.remove(nodes, item);
        Some(item)
    }

    /// Moves an item of this list to the newest end.
    #[inline]
    pub fn renew<N: Node>(&mut self, nodes: &mut [N], item: u32) {
        if self.newest != item {
            self.remove(nodes, item);
            self.push(nodes, item);
        }
    }

    /// Iterates from the oldest to the newest item.
    pub fn iter<N: Node>(&self, nodes: &[N]) -> impl Iterator<Item = u32> {
        std::iter::successors(self.oldest(), move |&item| some(nodes[item as usize].link().newer))
    }
}

/// A list that owns its nodes. Its items are numbered `0..capacity`; each is in the list at most once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queue {
    links: Vec<Link>,
    list: List,
}

impl Queue {
    /// Memory use of a queue in bytes per item of capacity.
    pub const BYTES_PER_ITEM: usize = size_of::<Link>();

    /// Creates an empty queue for items below `capacity`.
    pub fn new(capacity: u32) -> Self {
        Self { links: vec![Link::ALONE; capacity as usize], list: List::EMPTY }
    }

    /// Adds an item as the newest; it must not be in the queue.
    #[inline]
    pub fn push(&mut self, item: u32) {
        self.list.push(&mut self.links, item);
    }

    /// Removes an item, which must be in the queue.
    #[inline]
    pub fn remove(&mut self, item: u32) {
        self.list.remove(&mut self.links, item);
    }

    /// Moves an item that is in the queue to the newest end.
    #[inline]
    pub fn renew(&mut self, item: u32) {
        self.list.renew(&mut self.links, item);
    }

    /// Returns the item that has been in the queue longest, if any.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        self.list.oldest()
    }

    /// Iterates from the oldest to the newest item.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter(&self.links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn items_leave_from_anywhere_and_return_as_newest() {
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

    /// Two lists that share an array of nodes behave like two vectors under random operations.
    #[test]
    fn lists_share_nodes() {
        const SEED: u64 = 14;
        let mut rng = Rng::named(SEED, "lists");
        let mut nodes = [Link::ALONE; 9];
        let mut lists = [List::EMPTY; 2];
        let mut plain: [Vec<u32>; 2] = Default::default();
        for step in 0..5_000 {
            let item = rng.below(9) as u32;
            let other = rng.below(2) as usize;
            match (0..2).find(|&list| plain[list].contains(&item)) {
                None => match plain[other].get(rng.below(9) as usize).copied() {
                    Some(newer) => {
                        lists[other].insert_before(&mut nodes, item, newer);
                        let at = plain[other].iter().position(|&one| one == newer).unwrap();
                        plain[other].insert(at, item);
                    }
                    None => {
                        lists[other].push(&mut nodes, item);
                        plain[other].push(item);
                    }
                },
                Some(list) if other == 0 => {
                    let at = plain[list].iter().position(|&one| one == item).unwrap();
                    let link = lists[list].remove(&mut nodes, item);
                    let neighbour = |at: Option<usize>| at.and_then(|at| plain[list].get(at)).copied();
                    let expected = (neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
                    assert_eq!((some(link.older), some(link.newer)), expected, "seed {SEED}, step {step}");
                    plain[list].remove(at);
                }
                Some(list) => {
                    lists[list].renew(&mut nodes, item);
                    plain[list].retain(|&one| one != item);
                    plain[list].push(item);
                }
            }
            for (list, plain) in lists.iter().zip(&plain) {
                assert!(list.iter(&nodes).eq(plain.iter().copied()), "seed {SEED}, step {step}");
                assert_eq!(
                    (list.oldest(), list.newest(), list.is_empty()),
                    (plain.first().copied(), plain.last().copied(), plain.is_empty()),
                    "seed {SEED}, step {step}"
                );
            }
        }
    }
}
