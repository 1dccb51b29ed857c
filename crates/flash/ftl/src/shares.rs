//! Divides a device's logical pages at random into equal shares, which all get the state of one preconditioned share.
//!
//! ```text
//! the pages of each share form a ring with a random start, cut into slices
//! tile k of the logical pages is slice k of every share, in random order
//! ```
//! A tile has about 64 Ki pages, so that its part of a map fits the cache of a processor core. Shares are first copied
//! slice by slice, in order; [`Shares::mix`] then permutes each tile. So no write goes to a random place in the map.
//!
//! No table stores the permutation: it is a Feistel network of random functions (Luby and Rackoff, "How to construct
//! pseudorandom permutations from pseudorandom functions", 1988). Results outside the tile pass through the network
//! again (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).

use std::ops::Range;

use ssdlab_core::{Reciprocal, Rng};

/// Number of rounds of the Feistel network; with four or more, pairs of numbers are practically independent.
const ROUNDS: usize = 4;
/// Number of values of an 8-bit half of a page's 16-bit number within its tile.
const HALF: usize = 1 << 8;
/// Maximum number of logical pages in a tile.
const TILE_PAGES: u32 = (HALF * HALF) as u32;

/// Random assignment of the first logical pages of a device to equal shares.
#[derive(Debug)]
pub struct Shares {
    pages: u32,
    /// Number of pages that each share contributes to a tile, except perhaps to the last, smaller tile.
    slice: Reciprocal,
    /// For each share, the start of its ring: the number of its page that comes first in the first tile. The page
    /// numbers ascend from there and wrap around.
    begins: Vec<u32>,
    functions: [[u8; HALF]; ROUNDS],
    /// Keys of the permutations. Each tile has a separate key.
    keys: Vec<[u8; ROUNDS]>,
}

impl Shares {
    /// Maximum number of equal shares into which the pages of a device can be divided.
    pub const MOST: u32 = TILE_PAGES / 2;

    /// Assigns logical pages at random to `count` shares of `pages` pages each; `count` is at most [`Self::MOST`].
    pub fn new(count: u32, pages: u32, rng: &mut Rng) -> Self {
        let slice = TILE_PAGES / count;
        let functions = std::array::from_fn(|_| std::array::from_fn(|_| rng.next_u64() as u8));
        let begins = (0..count).map(|_| rng.below(u64::from(pages.max(1))) as u32).collect();
        let keys = (0..pages.div_ceil(slice)).map(|_| std::array::from_fn(|_| rng.next_u64() as u8)).collect();
        Self { pages, slice: Reciprocal::new(slice), begins, functions, keys }
    }

    /// Returns the number of shares.
    pub fn count(&self) -> u32 {
        self.begins.len() as u32
    }

    /// Returns the logical page that is page number `page` of the given share.
    #[inline]
    pub fn lpn(&self, share: u32, page: u32) -> u32 {
        // Computes the distance from the start of the ring, modulo its length, as the minimum of two values, because a
        // branch would be mispredicted half the time.
        let behind = page.wrapping_sub(self.begins[share as usize]);
        let at = behind.min(behind.wrapping_add(self.pages));
        let tile = Tile::of(self, self.slice.divide(at));
        tile.first + self.placed(&tile, share * tile.slice + at - tile.begin)
    }

    /// Returns the share of a logical page and the page's number within the share; None if no share contains the page.
    pub fn origin(&self, lpn: u32) -> Option<(u32, u32)> {
        let number = lpn / (self.slice.divisor() * self.count());
        let tile = (number < self.keys.len() as u32).then(|| Tile::of(self, number))?;
        let at = lpn - tile.first;
        (at < tile.slice * self.count()).then(|| {
            let place = self.unplaced(&tile, at);
            let share = place / tile.slice;
            (share, (self.begins[share as usize] + tile.begin + place % tile.slice) % self.pages)
        })
    }

    /// Iterates over the contiguous runs of a share's pages, each with its position in the map before [`Self::mix`].
    pub fn runs(&self, share: u32) -> impl Iterator<Item = (Range<u32>, u32)> {
        let (pages, begin) = (self.pages, self.begins[share as usize]);
        self.tiles().flat_map(move |tile| {
            let slot = tile.first + share * tile.slice;
            let from = (begin + tile.begin) % pages;
            let ahead = tile.slice.min(pages - from);
            [(from..from + ahead, slot), (0..tile.slice - ahead, slot + ahead)]
        })
    }

    /// Reorders a map that was filled share by share. Afterwards the entries are in the order of logical pages.
    pub fn mix<T: Copy>(&self, map: &mut [T]) {
        let mut waiting = Vec::with_capacity(TILE_PAGES as usize);
        for tile in self.tiles() {
            let entries = &mut map[tile.first as usize..][..(tile.slice * self.count()) as usize];
            waiting.clear();
            waiting.extend_from_slice(entries);
            for (number, &entry) in (0..).zip(&waiting) {
                entries[self.placed(&tile, number) as usize] = entry;
            }
        }
    }

    fn tiles(&self) -> impl Iterator<Item = Tile> {
        (0..self.keys.len() as u32).map(|number| Tile::of(self, number))
    }

    /// Applies the permutation of a tile to `number`, a page number within the tile, and returns the result.
    #[inline]
    fn placed(&self, tile: &Tile, mut number: u32) -> u32 {
        loop {
            let (mut left, mut right) = ((number >> 8) as u8, number as u8);
            for (function, key) in self.functions.iter().zip(tile.keys) {
                (left, right) = (right, left ^ function[usize::from(right ^ key)]);
            }
            number = u32::from(left) << 8 | u32::from(right);
            if number < tile.slice * self.count() {
                return number;
            }
        }
    }

    /// Returns the page number that [`Self::placed`] maps to `number`.
    fn unplaced(&self, tile: &Tile, mut number: u32) -> u32 {
        loop {
            let (mut left, mut right) = ((number >> 8) as u8, number as u8);
            for (function, key) in self.functions.iter().zip(tile.keys).rev() {
                (left, right) = (right ^ function[usize::from(left ^ key)], left);
            }
            number = u32::from(left) << 8 | u32::from(right);
            if number < tile.slice * self.count() {
                return number;
            }
        }
    }
}

/// A tile: a range of logical pages that consists of one slice of every share.
struct Tile {
    first: u32,
    /// Offset of this tile's slices from the start of each share's ring.
    begin: u32,
    slice: u32,
    keys: [u8; ROUNDS],
}

impl Tile {
    #[inline]
    fn of(shares: &Shares, number: u32) -> Self {
        let begin = number * shares.slice.divisor();
        let slice = shares.slice.divisor().min(shares.pages - begin);
        Self { first: begin * shares.count(), begin, slice, keys: shares.keys[number as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(count: u32, pages: u32) -> Shares {
        Shares::new(count, pages, &mut Rng::named(u64::from(count), "shares"))
    }

    /// Goal: each logical page belongs to exactly one share; filling a map by runs equals filling it page by page; and
    /// `origin` inverts `lpn`. Method: compares both maps entry by entry, for devices from one page to tiles that are
    /// not full.
    #[test]
    fn filling_by_runs_equals_filling_page_by_page() {
        for (count, pages) in [(1, 1), (1, 70_000), (2, 3), (3, 30_001), (32, 2_048), (32, 5_001), (Shares::MOST, 3)] {
            let shares = shares(count, pages);
            let mut map = vec![u32::MAX; (count * pages) as usize];
            for share in 0..count {
                for (run, slot) in shares.runs(share) {
                    (slot..).zip(run).for_each(|(slot, page)| map[slot as usize] = share * pages + page);
                }
            }
            shares.mix(&mut map);
            for (share, page) in (0..count).flat_map(|share| (0..pages).map(move |page| (share, page))) {
                assert_eq!(map[shares.lpn(share, page) as usize], share * pages + page, "{count} of {pages}");
                assert_eq!(shares.origin(shares.lpn(share, page)), Some((share, page)), "{count} of {pages}");
            }
            assert_eq!(shares.origin(count * pages), None, "{count} of {pages}");
        }
    }

    /// Goal: neighbouring logical pages come from random shares and random positions in a slice. Method: counts the
    /// pairs of neighbours from the same share, and checks that their mean distance is a third of a slice.
    #[test]
    fn neighbours_come_from_random_shares() {
        let (count, pages) = (32, 1 << 14);
        let shares = shares(count, pages);
        let mut from = vec![(0, 0); (count * pages) as usize];
        for (share, page) in (0..count).flat_map(|share| (0..pages).map(move |page| (share, page))) {
            from[shares.lpn(share, page) as usize] = (share, page);
        }
        let pairs = (from.len() - 1) as f64;
        let same: Vec<_> = from.windows(2).filter(|pair| pair[0].0 == pair[1].0).collect();
        let share = same.len() as f64 / pairs;
        let expected = 1.0 / f64::from(count);
        // The tolerance is six standard deviations, computed as if the pairs were independent.
        let tolerance = 6.0 * (expected / pairs).sqrt();
        assert!((share - expected).abs() < tolerance, "{share}");
        let distance = |pair: &&[(u32, u32)]| f64::from(pair[0].1.abs_diff(pair[1].1));
        let slice = f64::from(TILE_PAGES / count);
        // Ignores pairs that span the end of a ring or of a tile.
        let near: Vec<f64> = same.iter().map(distance).filter(|&distance| distance < slice).collect();
        let mean = near.iter().sum::<f64>() / near.len() as f64 / slice;
        let tolerance = 6.0 * 0.24 / (near.len() as f64).sqrt();
        assert!((mean - 1.0 / 3.0).abs() < tolerance, "{mean} of {} pairs", near.len());
    }
}
