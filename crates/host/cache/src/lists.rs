//! Doubly linked lists of numbered items. Each item is in at most one list, and a single node holds all of its state.
//!
//! A node takes 16 bytes and is aligned to 16, so that accessing an item causes only one cache miss.

use ssdlab_core::list::{self, Link, List, NONE};

use crate::per_item::PerItem;

/// List number of an item that is in no list.
pub(crate) const NOWHERE: u8 = u8::MAX;

#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Node {
    link: Link,
    size: u32,
    list: u8,
    mark: u8,
}

const ABSENT: Node = Node { link: Link::ALONE, size: 0, list: NOWHERE, mark: 0 };

impl list::Node for Node {
    #[inline(always)]
    fn link(&self) -> &Link {
        &self.link
    }

    #[inline(always)]
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Oldest and newest item of a list, and the total size of the list's items in units.
#[derive(Clone, Copy, Debug)]
struct Ends {
    order: List,
    units: u64,
}

/// `N` lists of items numbered `0..items`; [`Self::grow`] extends this range.
#[derive(Clone, Debug)]
pub struct Lists<const N: usize> {
    nodes: PerItem<Node>,
    ends: [Ends; N],
}

impl<const N: usize> Lists<N> {
    /// Creates empty lists for items `0..items`.
    pub fn new(items: u32) -> Self {
        let ends = [Ends { order: List::EMPTY, units: 0 }; N];
        Self { nodes: PerItem::new(ABSENT, items), ends }
    }

    /// Grows the node table so that the lists can hold items `0..items`.
    pub fn grow(&mut self, items: u32) {
        self.nodes.grow(items);
    }

    /// Returns the memory used by the nodes, in bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
    }

    /// Prefetches the node of an item.
    #[inline]
    pub fn prefetch(&self, item: u32) {
        self.nodes.prefetch(item);
    }

    /// Returns the number of the list that holds an item, or `NOWHERE`.
    #[inline]
    pub fn list(&self, item: u32) -> u8 {
        self.nodes[item].list
    }

    /// True if the item is in a list.
    #[inline]
    pub fn has(&self, item: u32) -> bool {
        self.list(item) != NOWHERE
    }

    /// Returns the size in units of an item that is in a list.
    #[inline]
    pub fn size(&self, item: u32) -> u32 {
        self.nodes[item].size
    }

    /// Returns the mark of an item, initially 0. The mark is kept when the item changes lists or is removed.
    #[inline]
    pub fn mark(&self, item: u32) -> u8 {
        self.nodes[item].mark
    }

    /// Sets the mark of an item.
    #[inline]
    pub fn set_mark(&mut self, item: u32, mark: u8) {
        self.nodes[item].mark = mark;
    }

    /// Returns the total size of the items of a list, in units.
    #[inline]
    pub fn units(&self, list: u8) -> u64 {
        self.ends[list as usize].units
    }

    /// Adds an item to `list` as its newest item. The item must not be in any list.
    #[inline]
    pub fn push(&mut self, list: u8, item: u32, size: u32) {
        let into = &mut self.ends[list as usize];
        into.units += u64::from(size);
        into.order.push(&mut self.nodes, item);
        let node = &mut self.nodes[item];
        (node.size, node.list) = (size, list);
    }

    /// Removes an item from its list.
    #[inline]
    pub fn remove(&mut self, item: u32) {
        let node = &mut self.nodes[item];
        let Node { size, list, .. } = *node;
        node.list = NOWHERE;
        let from = &mut self.ends[list as usize];
        from.units -= u64::from(size);
        let Link { older, newer } = from.order.remove(&mut self.nodes, item);
        if older == NONE && newer != NONE {
            // The list's new oldest item will probably be removed soon. Removing it updates the next newer item, so the
            // node of that item is prefetched.
            self.nodes.prefetch(self.nodes[newer].link.newer);
        }
    }

    /// Removes an item from its list, if it is in one; returns true if it was.
    #[inline]
    pub fn discard(&mut self, item: u32) -> bool {
        let has = self.has(item);
        if has {
            self.remove(item);
        }
        has
    }

    /// Moves an item from its list to `list`, as the newest item.
    #[inline]
    pub fn move_to(&mut self, list: u8, item: u32) {
        let size = self.size(item);
        self.remove(item);
        self.push(list, item, size);
    }

    /// Makes an item the newest of its list.
    #[inline]
    pub fn renew(&mut self, item: u32) {
        let list = self.list(item);
        if self.newest(list) != Some(item) {
            self.move_to(list, item);
        }
    }

    /// Returns the oldest item of a list.
    #[inline]
    pub fn oldest(&self, list: u8) -> Option<u32> {
        self.ends[list as usize].order.oldest()
    }

    /// Returns the newest item of a list.
    #[inline]
    pub fn newest(&self, list: u8) -> Option<u32> {
        self.ends[list as usize].order.newest()
    }

    /// Returns the next newer item of the same list.
    #[inline]
    pub fn newer(&self, item: u32) -> Option<u32> {
        let newer = self.nodes[item].link.newer;
        (newer != NONE).then_some(newer)
    }

    /// Removes the oldest item of a list.
    #[inline]
    pub fn pop_oldest(&mut self, list: u8) -> Option<u32> {
        let item = self.oldest(list)?;
        self.remove(item);
        Some(item)
    }

    /// Removes the newest item of a list.
    #[inline]
    pub fn pop_newest(&mut self, list: u8) -> Option<u32> {
        let item = self.newest(list)?;
        self.remove(item);
        Some(item)
    }

    /// Removes the oldest items of a list until its size is at most `most` units.
    #[inline]
    pub fn shrink_to(&mut self, list: u8, most: u64) {
        while self.units(list) > most {
            self.pop_oldest(list);
        }
    }

    /// Removes and returns the oldest item with mark 0. Items passed over on the way get their marks decremented and
    /// move to the newest end of the list.
    #[inline]
    pub fn pop_second_chance(&mut self, list: u8) -> Option<u32> {
        loop {
            let item = self.oldest(list)?;
            match self.mark(item) {
                0 => {
                    self.remove(item);
                    return Some(item);
                }
                chances => {
                    self.set_mark(item, chances - 1);
                    self.renew(item);
                }
            }
        }
    }

    /// Moves the oldest item of one list to another list, as the newest item.
    #[inline]
    pub fn move_oldest(&mut self, from: u8, to: u8) -> Option<u32> {
        let item = self.oldest(from)?;
        self.move_to(to, item);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed<const N: usize>(lists: &Lists<N>, list: u8) -> Vec<u32> {
        std::iter::successors(lists.oldest(list), |&item| lists.newer(item)).collect()
    }

    #[test]
    fn items_can_be_removed_anywhere_and_change_lists() {
        let mut lists = Lists::<2>::new(3);
        lists.grow(6);
        (0..6).for_each(|item| lists.push(0, item, item + 1));
        [0, 2, 5].into_iter().for_each(|item| lists.move_to(1, item));
        lists.renew(1);
        lists.renew(1);
        lists.set_mark(3, 7);
        assert_eq!((listed(&lists, 0), listed(&lists, 1)), (vec![3, 4, 1], vec![0, 2, 5]));
        assert_eq!((lists.units(0), lists.units(1)), (4 + 5 + 2, 1 + 3 + 6));
        assert_eq!((lists.pop_oldest(0), lists.newest(0), lists.mark(3), lists.has(3)), (Some(3), Some(1), 7, false));
        assert_eq!((lists.move_oldest(1, 0), listed(&lists, 0)), (Some(0), vec![4, 1, 0]));
        [4, 1, 0].into_iter().for_each(|item| lists.remove(item));
        assert_eq!((lists.oldest(0), lists.newest(0), lists.units(0), lists.list(2)), (None, None, 0, 1));
    }

    #[test]
    fn a_node_is_a_quarter_of_a_cache_line() {
        assert_eq!((size_of::<Node>(), align_of::<Node>()), (16, 16));
    }
}
