//! Table of all spare areas in memory; recovery needs no other data.
//!
//! The table keeps the encoding of a checkpoint, so that a mount copies nothing. Blocks that are read again are stored
//! after the blocks of the checkpoint.

use std::array::from_fn;
use std::collections::BTreeSet;

use ssdlab_core::mem::prefetch;
use ssdlab_core::{BlockId, HugeVec, Lpn, Ppn};
use ssdlab_nand::{Found, Geometry, Scan, SpareArea};

use crate::column::{Column, Line};
use crate::processors::{processors, share};
use crate::spare::ROLES;

const ERASED: u64 = 0;
const DAMAGED: u64 = 1;
/// State code of a programmed page with the first role in `ROLES`. The codes for the other roles follow in order.
const PROGRAMMED: u64 = 2;

const STATES: u64 = PROGRAMMED + ROLES.len() as u64;

const HEADER_BYTES: usize = 37;

/// Slope of the line for each column of a block: states, logical pages, sequence numbers and ages. A column stores the
/// distances of its numbers from the line.
const SLOPES: [u64; 4] = [0, 1, 1, 0];

/// Sizes in bytes of the memory pieces for blocks that are read again: the first piece, and the maximum. Each further
/// piece is twice as large as the one before, up to the maximum.
const LEAST_PART: usize = 4 << 10;
const MOST_PART: usize = 16 << 20;

const LANES: usize = 64;

/// Pages of a block that is not erased, in columns: states (0 erased, 1 damaged, else 2 + role), logical pages,
/// sequence numbers, and sequence number minus version.
///
/// ```text
/// 0 width of each column (1 each)   4 flag: marks follow (1)   5 base of each column (8 each)
/// 37 distances of the columns, then marks: a bit per page, set if it is known to be outdated
/// ```
#[derive(Clone, Copy)]
pub(crate) struct BlockPages<'a> {
    states: Column<'a>,
    lpns: Column<'a>,
    sequences: Column<'a>,
    ages: Column<'a>,
    /// One bit per page that marks outdated copies; None if no page is marked.
    outdated: Option<&'a [u8]>,
}

impl<'a> BlockPages<'a> {
    /// Appends the encoded pages of a block to `into`.
    pub fn encode(pages: &[Found], into: &mut Vec<u8>) {
        let states = pages.iter().map(|page| state_of(page) as i64);
        let (lowest, highest) = (states.clone().min().unwrap_or(0), states.clone().max().unwrap_or(0));
        let programmed = || pages.iter().enumerate().filter_map(|(at, page)| offsets_of(at, page));
        let first = programmed().next().unwrap_or_default();
        let (mut least, mut most) = (first, first);
        for offsets in programmed() {
            least = from_fn(|column| least[column].min(offsets[column]));
            most = from_fn(|column| most[column].max(offsets[column]));
        }
        let of_states = Line::below(SLOPES[0], lowest, highest);
        let others: [Line; 3] = from_fn(|column| Line::below(SLOPES[1 + column], least[column], most[column]));
        let lines = || [of_states].into_iter().chain(others);
        let is_marked = |page: &Found| matches!(page, Found::Programmed { outdated: true, .. });
        let marked = pages.iter().any(is_marked);
        into.extend(lines().map(|line| line.width));
        into.push(marked.into());
        into.extend(lines().flat_map(|line| line.base.to_le_bytes()));
        of_states.distances(states, into);
        for (column, line) in others.into_iter().enumerate() {
            // A page that is not programmed has no numbers. It repeats the offset of the previous page, which keeps the
            // distances small.
            let mut beside = first[column];
            let offsets = pages.iter().enumerate().map(|(at, page)| {
                beside = offsets_of(at, page).map_or(beside, |offsets| offsets[column]);
                beside
            });
            line.distances(offsets, into);
        }
        if marked {
            let bits = |pages: &[Found]| pages.iter().rev().fold(0, |bits, page| bits << 1 | u8::from(is_marked(page)));
            into.extend(pages.chunks(8).map(bits));
        }
    }

    /// Splits the pages of a block off the front of `bytes`; None if the bytes are incomplete.
    #[inline]
    pub fn take(count: usize, bytes: &mut &'a [u8]) -> Option<Self> {
        let (widths, rest) = bytes.split_first_chunk::<4>()?;
        let (&[marked], rest) = rest.split_first_chunk()?;
        let (bases, mut rest) = rest.split_first_chunk::<32>()?;
        let mut column = |number: usize| {
            let base = u64::from_le_bytes(bases.as_chunks().0[number]);
            let line = Line { base, slope: SLOPES[number], width: widths[number] };
            Column::take(line, count, &mut rest)
        };
        let (states, lpns, sequences, ages) = (column(0)?, column(1)?, column(2)?, column(3)?);
        let (marks, rest) = rest.split_at_checked(usize::from(marked) * count.div_ceil(8))?;
        *bytes = rest;
        Some(Self { states, lpns, sequences, ages, outdated: (marked != 0).then_some(marks) })
    }

    /// Prefetches the encoded page at offset `at`, from columns with these widths.
    #[inline]
    pub fn expect(bytes: &[u8], widths: [u8; 4], count: usize, at: usize) {
        let mut column = HEADER_BYTES;
        prefetch(bytes, 0);
        for width in widths.map(usize::from).into_iter().filter(|&width| width > 0) {
            prefetch(bytes, column + width * at);
            column += width * count;
        }
    }

    /// Returns the damaged pages among the first `count` pages of the block; None if a page state is invalid.
    pub fn damaged(self, count: usize) -> Option<Vec<u32>> {
        let state = |at: u32| self.states.number(at as usize);
        if self.states.is_straight() && PROGRAMMED <= state(0) && state(0) < STATES {
            return Some(Vec::new());
        }
        let pages = || 0..count as u32;
        pages().all(|at| state(at) < STATES).then(|| pages().filter(|&at| state(at) == DAMAGED).collect())
    }

    /// Returns the page at offset `at` of the block. If the block is `closed`, its erased pages cannot be programmed.
    #[inline]
    pub fn page(&self, at: usize, closed: bool) -> Found {
        let Self { states, lpns, sequences, ages, .. } = self;
        let numbers = [states.number(at), lpns.number(at), sequences.number(at), ages.number(at)];
        page_of(numbers, self.is_outdated(at), closed)
    }

    #[inline]
    fn is_outdated(&self, at: usize) -> bool {
        self.outdated.is_some_and(|marks| marks[at / 8] >> (at % 8) & 1 != 0)
    }

    /// Decodes all pages of the block into `pages`.
    pub fn all(&self, closed: bool, pages: &mut [Found]) {
        let mut numbers = [[0; LANES]; 4];
        for (first, pages) in (0..).step_by(LANES).zip(pages.chunks_mut(LANES)) {
            for (column, numbers) in [self.states, self.lpns, self.sequences, self.ages].iter().zip(&mut numbers) {
                column.numbers(first, &mut numbers[..pages.len()]);
            }
            let [states, lpns, sequences, ages] = &numbers;
            for (at, page) in pages.iter_mut().enumerate() {
                let numbers = [states[at], lpns[at], sequences[at], ages[at]];
                *page = page_of(numbers, self.is_outdated(first + at), closed);
            }
        }
    }
}

#[inline]
const fn state_of(page: &Found) -> u64 {
    match page {
        Found::Erased => ERASED,
        Found::Programmed { oob, .. } => PROGRAMMED + oob.role as u64,
        Found::Unreadable => DAMAGED,
    }
}

/// Returns the offsets ([`Line::offset`]) of a page's logical page number, sequence number and age; None if the page is
/// not programmed.
#[inline]
const fn offsets_of(at: usize, page: &Found) -> Option<[i64; 3]> {
    let Found::Programmed { oob: SpareArea { lpn, sequence, .. }, version, .. } = *page else { return None };
    Some([
        Line::offset(SLOPES[1], at, lpn.0 as u64),
        Line::offset(SLOPES[2], at, sequence),
        Line::offset(SLOPES[3], at, sequence.wrapping_sub(version)),
    ])
}

/// Builds a page entry from its state, logical page, sequence number and age.
#[inline]
fn page_of([state, lpn, sequence, age]: [u64; 4], outdated: bool, closed: bool) -> Found {
    match ROLES.get(state.wrapping_sub(PROGRAMMED) as usize) {
        Some(&role) => {
            let oob = SpareArea { lpn: Lpn(lpn as u32), sequence, role };
            Found::Programmed { oob, version: sequence.wrapping_sub(age), outdated }
        }
        None if state == ERASED && !closed => Found::Erased,
        None => Found::Unreadable,
    }
}

/// Memory location of the encoded pages of a block that is not erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Index of the memory piece in [`Parts`] that holds the block's encoded pages; `at` is their offset in this piece.
    pub part: usize,
    pub at: usize,
    /// Bytes per number in each column of the block.
    pub widths: [u8; 4],
    /// True if the block's erased pages must not be programmed.
    pub closed: bool,
}

/// Encoded blocks. They are stored in a few large pieces of memory, because pages are looked up in random order.
struct Parts {
    parts: Vec<HugeVec<u8>>,
    /// Number of bytes used in the last element of `parts`.
    taken: usize,
    /// Buffer for the block that is being encoded.
    block: Vec<u8>,
}

impl Parts {
    /// Encodes and appends a block. If the block is `closed`, its erased pages cannot be programmed.
    fn add(&mut self, pages: &[Found], closed: bool) -> Written {
        self.block.clear();
        BlockPages::encode(pages, &mut self.block);
        let bytes = self.block.len();
        if self.parts.last().is_none_or(|part| part.len() - self.taken < bytes) {
            let before = self.parts.last().map_or(0, |part| part.len());
            self.parts.push(HugeVec::zeros((2 * before).clamp(LEAST_PART, MOST_PART).max(bytes)));
            self.taken = 0;
        }
        let (part, at) = (self.parts.len() - 1, self.taken);
        self.parts[part][at..at + bytes].copy_from_slice(&self.block);
        self.taken += bytes;
        Written { part, at, widths: *self.block.first_chunk().expect("widths come first"), closed }
    }

    fn from(&self, written: Written) -> &[u8] {
        &self.parts[written.part][written.at..]
    }
}

/// Contents of all pages, and states of the blocks.
pub(crate) struct PageTable {
    /// Encoded blocks: the blocks of the checkpoint, followed by the blocks that were read again.
    parts: Parts,
    written: Vec<Option<Written>>,
    pages_per_block: usize,
    /// True if the marks of outdated pages in the checkpoint are valid.
    pub trusts_marks: bool,
    /// Value returned by [`Scan::erased_before`].
    pub erased_before: u64,
    /// A number greater than the sequence number of every page.
    pub sequence: u64,
    pub bad: Vec<bool>,
    pub erases: Vec<u32>,
}

impl PageTable {
    pub fn erased(geometry: &Geometry) -> Self {
        let blocks = geometry.blocks as usize;
        Self::of(geometry, HugeVec::zeros(0), vec![None; blocks], 0, vec![0; blocks])
    }

    /// Creates the table for flash with blocks that a checkpoint describes completely, in the encoding of the
    /// checkpoint.
    pub fn of(
        geometry: &Geometry,
        bytes: HugeVec<u8>,
        written: Vec<Option<Written>>,
        sequence: u64,
        erases: Vec<u32>,
    ) -> Self {
        let (pages_per_block, bad) = (geometry.pages_per_block as usize, vec![false; written.len()]);
        let parts = Parts { taken: bytes.len(), parts: vec![bytes], block: Vec::new() };
        Self { parts, written, pages_per_block, trusts_marks: true, erased_before: u64::MAX, sequence, bad, erases }
    }

    /// Replaces the contents of a block with `pages`. If the block is `closed`, its erased pages cannot be programmed.
    pub fn set(&mut self, block: BlockId, pages: &[Found], closed: bool) {
        self.written[block.index()] = Some(self.parts.add(pages, closed));
        for page in pages {
            if let Found::Programmed { oob, .. } = page {
                self.sequence = self.sequence.max(oob.sequence + 1);
            }
        }
    }

    /// Keeps only those versions in `wanted` that have a valid copy in a usable block. Recovery ignores bad blocks.
    pub fn keep_held(&self, wanted: &mut BTreeSet<(Lpn, u64)>) {
        if wanted.is_empty() {
            return;
        }
        let mut held = BTreeSet::new();
        let mut pages = vec![Found::Erased; self.pages_per_block];
        let usable = (0..self.written.len() as u32).map(BlockId).filter(|&block| !self.is_bad(block));
        for block in usable {
            self.block(block, &mut pages);
            for page in &pages {
                if let Found::Programmed { oob, version, outdated: false } = *page
                    && wanted.contains(&(oob.lpn, version))
                {
                    held.insert((oob.lpn, version));
                }
            }
        }
        *wanted = held;
    }

    fn block(&self, block: BlockId, pages: &mut [Found]) {
        match self.written[block.index()] {
            Some(written) => self.pages(written).all(written.closed, pages),
            None => pages.fill(Found::Erased),
        }
    }

    #[inline]
    fn pages(&self, written: Written) -> BlockPages<'_> {
        let pages = BlockPages::take(self.pages_per_block, &mut self.parts.from(written));
        let pages = pages.expect("every stored block is complete");
        BlockPages { outdated: pages.outdated.filter(|_| self.trusts_marks), ..pages }
    }
}

impl Scan for PageTable {
    #[inline]
    fn expect(&self, ppn: Ppn) {
        let (block, in_block) = (ppn.index() / self.pages_per_block, ppn.index() % self.pages_per_block);
        if let Some(written) = self.written[block] {
            BlockPages::expect(self.parts.from(written), written.widths, self.pages_per_block, in_block);
        }
    }

    #[inline]
    fn page(&self, ppn: Ppn) -> Found {
        let (block, at) = (ppn.index() / self.pages_per_block, ppn.index() % self.pages_per_block);
        match self.written[block] {
            Some(written) => self.pages(written).page(at, written.closed),
            None => Found::Erased,
        }
    }

    fn blocks(&self, blocks: u32, pages_per_block: u32, visit: &(dyn Fn(BlockId, &[Found]) + Sync)) {
        share(processors(blocks), blocks, |own| {
            let mut pages = vec![Found::Erased; pages_per_block as usize];
            for block in own {
                self.block(block, &mut pages);
                visit(block, &pages);
            }
        });
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }

    fn erased_before(&self) -> u64 {
        self.erased_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a version is not kept if its only copy is in a bad block, because recovery ignores bad blocks.
    #[test]
    fn a_copy_in_a_bad_block_does_not_count() {
        let geometry = Geometry::single_plane(512, 1, 2);
        let mut table = PageTable::erased(&geometry);
        for block in 0..2 {
            let oob = SpareArea { lpn: Lpn(block), sequence: 9, role: ROLES[0] };
            table.set(BlockId(block), &[Found::Programmed { oob, version: 5, outdated: false }], false);
        }
        table.bad[1] = true;
        let mut wanted = BTreeSet::from([(Lpn(0), 5), (Lpn(1), 5)]);
        table.keep_held(&mut wanted);
        assert_eq!(wanted, BTreeSet::from([(Lpn(0), 5)]));
    }

    /// Goal: decoding a block returns the mark of each outdated page if the marks are trusted. Method: encodes and
    /// decodes blocks of 1 to 130 pages, in which every third page is marked as outdated.
    #[test]
    fn marks_of_outdated_pages_are_decoded() {
        for pages in 1..=130 {
            let oob = |lpn| SpareArea { lpn: Lpn(lpn), sequence: 7, role: ROLES[0] };
            let is_marked = |at: u32| at.is_multiple_of(3);
            let page = |at, outdated| Found::Programmed { oob: oob(at), version: 5, outdated };
            let contents: Vec<Found> = (0..pages).map(|at| page(at, is_marked(at))).collect();
            let mut bytes = Vec::new();
            BlockPages::encode(&contents, &mut bytes);
            assert!(BlockPages::take(pages as usize, &mut &bytes[..bytes.len() - 1]).is_none(), "marks are missing");
            let mut checkpoint = HugeVec::zeros(bytes.len());
            checkpoint.copy_from_slice(&bytes);
            let geometry = Geometry::single_plane(512, pages, 1);
            let written =
                vec![Some(Written { part: 0, at: 0, widths: *bytes.first_chunk().expect("widths"), closed: false })];
            let mut table = PageTable::of(&geometry, checkpoint, written, 8, vec![0]);
            for trusted in [true, false] {
                table.trusts_marks = trusted;
                let expected = |at| page(at, trusted && is_marked(at));
                let mut contents = vec![Found::Erased; pages as usize];
                table.block(BlockId(0), &mut contents);
                for (at, page_found) in (0..pages).zip(contents) {
                    assert_eq!((page_found, table.page(Ppn(at))), (expected(at), expected(at)));
                }
            }
        }
    }
}
