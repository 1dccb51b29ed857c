//! What the spare areas of a drive say, in memory: all that recovery asks of the flash.
//!
//! It is kept as it stands in a checkpoint, so that a mount copies nothing; blocks that were read again come behind.

use ssdlab_core::{BlockId, HugeVec, Lpn, Ppn};
use ssdlab_nand::{Found, Geometry, Oob, Scan};

use crate::column::{Column, Line};
use crate::spare::{Content, ROLES, Spare};

const ERASED: u64 = 0;
const DAMAGED: u64 = 1;
/// States from here on are roles.
const PROGRAMMED: u64 = 2;

const STATES: u64 = PROGRAMMED + ROLES.len() as u64;

/// Of the columns of a block, in their order.
const SLOPES: [u64; 4] = [0, 1, 1, 0];

/// Pages decoded at a time.
const LANES: usize = 64;

/// The pages of a block that is not erased, in columns for states (0 erased, 1 damaged, 2 and on: 2 + role), logical
/// pages, sequence numbers, and what sequence numbers are above versions.
///
/// ```text
/// 0 width of each column (1 each)   4 whether there are marks (1)   5 base of each column (8 each)
/// 37 distances of the columns, then marks: a bit for each page, set if it is known to be outdated
/// ```
#[derive(Clone, Copy)]
pub(crate) struct BlockPages<'a> {
    states: Column<'a>,
    lpns: Column<'a>,
    sequences: Column<'a>,
    ages: Column<'a>,
    /// None if no page is marked.
    outdated: Option<&'a [u8]>,
}

impl<'a> BlockPages<'a> {
    /// Appends the pages of a block, of which some are `outdated`.
    pub fn encode(contents: &[Content], outdated: &[bool], into: &mut Vec<u8>) {
        let marked = outdated.contains(&true);
        let states = contents.iter().map(|content| match content {
            Content::Erased => ERASED,
            Content::Damaged => DAMAGED,
            Content::Programmed(spare) => PROGRAMMED + spare.oob.role as u64,
        });
        let spares = contents.iter().map(|content| match content {
            Content::Programmed(spare) => Some(spare),
            Content::Erased | Content::Damaged => None,
        });
        let lpns = spares.clone().map(|spare| Some(spare?.oob.lpn.0.into()));
        let sequences = spares.clone().map(|spare| Some(spare?.oob.sequence));
        let age = |&Spare { oob, version, .. }: &Spare| oob.sequence.wrapping_sub(version);
        let (states, ages) = (states.map(Some), spares.map(|spare| spare.map(age)));
        let lines = [
            Line::below(SLOPES[0], states.clone()),
            Line::below(SLOPES[1], lpns.clone()),
            Line::below(SLOPES[2], sequences.clone()),
            Line::below(SLOPES[3], ages.clone()),
        ];
        into.extend(lines.map(|line| line.width));
        into.push(marked.into());
        into.extend(lines.iter().flat_map(|line| line.base.to_le_bytes()));
        lines[0].distances(states, into);
        lines[1].distances(lpns, into);
        lines[2].distances(sequences, into);
        lines[3].distances(ages, into);
        if marked {
            let bits = |pages: &[bool]| pages.iter().rev().fold(0, |bits, &page| bits << 1 | u8::from(page));
            into.extend(outdated.chunks(8).map(bits));
        }
    }

    /// Takes the pages of a block off the front of `bytes`; none if they are not there.
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

    /// Which of so many pages are damaged; none if one is in a state that there is not.
    pub fn damaged(self, count: usize) -> Option<Vec<u32>> {
        let state = |at: u32| self.states.number(at as usize);
        if self.states.is_straight() && PROGRAMMED <= state(0) && state(0) < STATES {
            return Some(Vec::new());
        }
        let pages = || 0..count as u32;
        pages().all(|at| state(at) < STATES).then(|| pages().filter(|&at| state(at) == DAMAGED).collect())
    }

    #[inline]
    fn page(&self, at: usize, closed: bool) -> Found {
        let Self { states, lpns, sequences, ages, .. } = self;
        let numbers = [states.number(at), lpns.number(at), sequences.number(at), ages.number(at)];
        found(numbers, self.is_outdated(at), closed)
    }

    #[inline]
    fn is_outdated(&self, at: usize) -> bool {
        self.outdated.is_some_and(|marks| marks[at / 8] >> (at % 8) & 1 != 0)
    }

    fn all(&self, closed: bool, pages: &mut [Found]) {
        let mut numbers = [[0; LANES]; 4];
        for (first, pages) in (0..).step_by(LANES).zip(pages.chunks_mut(LANES)) {
            for (column, numbers) in [self.states, self.lpns, self.sequences, self.ages].iter().zip(&mut numbers) {
                column.numbers(first, &mut numbers[..pages.len()]);
            }
            let [states, lpns, sequences, ages] = &numbers;
            for (at, page) in pages.iter_mut().enumerate() {
                let numbers = [states[at], lpns[at], sequences[at], ages[at]];
                *page = found(numbers, self.is_outdated(first + at), closed);
            }
        }
    }
}

/// A page from its state, logical page, sequence number and age.
#[inline]
fn found([state, lpn, sequence, age]: [u64; 4], outdated: bool, closed: bool) -> Found {
    match ROLES.get(state.wrapping_sub(PROGRAMMED) as usize) {
        Some(&role) => {
            let oob = Oob { lpn: Lpn(lpn as u32), sequence, role };
            Found::Programmed { oob, version: sequence.wrapping_sub(age), outdated }
        }
        None if state == ERASED && !closed => Found::Erased,
        None => Found::Unreadable,
    }
}

/// A block that is not erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Where its pages are: from the first byte of the checkpoint on, behind which are those that were read again.
    pub at: usize,
    /// Whether its erased pages must not be programmed.
    pub closed: bool,
}

/// Contents of all pages, and what is known of the blocks.
pub(crate) struct PageTable {
    checkpoint: HugeVec<u8>,
    read_again: Vec<u8>,
    written: Vec<Option<Written>>,
    pages_per_block: usize,
    /// Whether pages that are marked as outdated are so.
    pub trusts_marks: bool,
    /// Above the sequence number of every page.
    pub sequence: u64,
    pub bad: Vec<bool>,
    pub erases: Vec<u32>,
}

impl PageTable {
    /// Erased flash.
    pub fn erased(geometry: &Geometry) -> Self {
        let blocks = geometry.blocks as usize;
        Self::of(geometry, HugeVec::zeros(0), vec![None; blocks], 0, vec![0; blocks])
    }

    /// Flash with these blocks in the bytes of a checkpoint, where they were found whole.
    pub fn of(
        geometry: &Geometry,
        checkpoint: HugeVec<u8>,
        written: Vec<Option<Written>>,
        sequence: u64,
        erases: Vec<u32>,
    ) -> Self {
        let (pages_per_block, bad) = (geometry.pages_per_block as usize, vec![false; written.len()]);
        Self { checkpoint, read_again: Vec::new(), written, pages_per_block, trusts_marks: true, sequence, bad, erases }
    }

    /// Sets all pages of a block; erased ones of a block that is closed cannot be programmed.
    pub fn set(&mut self, block: BlockId, contents: &[Content], closed: bool) {
        self.written[block.index()] = Some(Written { at: self.checkpoint.len() + self.read_again.len(), closed });
        BlockPages::encode(contents, &[], &mut self.read_again);
        for content in contents {
            if let Content::Programmed(spare) = content {
                self.sequence = self.sequence.max(spare.oob.sequence + 1);
            }
        }
    }

    /// A block as a checkpoint holds it, if it is not erased.
    pub fn encoded(&self, block: BlockId) -> Option<&[u8]> {
        let written = self.written[block.index()]?;
        let from = self.bytes_from(written.at);
        let mut behind = from;
        BlockPages::take(self.pages_per_block, &mut behind)?;
        Some(&from[..from.len() - behind.len()])
    }

    #[inline]
    fn bytes_from(&self, at: usize) -> &[u8] {
        match at.checked_sub(self.checkpoint.len()) {
            None => &self.checkpoint[at..],
            Some(at) => &self.read_again[at..],
        }
    }

    #[inline]
    fn pages(&self, written: Written) -> BlockPages<'_> {
        let pages = BlockPages::take(self.pages_per_block, &mut self.bytes_from(written.at));
        let pages = pages.expect("only whole blocks are placed");
        BlockPages { outdated: pages.outdated.filter(|_| self.trusts_marks), ..pages }
    }
}

impl Scan for PageTable {
    #[inline]
    fn page(&self, ppn: Ppn) -> Found {
        let (block, at) = (ppn.index() / self.pages_per_block, ppn.index() % self.pages_per_block);
        match self.written[block] {
            Some(written) => self.pages(written).page(at, written.closed),
            None => Found::Erased,
        }
    }

    fn block(&self, block: BlockId, pages: &mut [Found]) {
        match self.written[block.index()] {
            Some(written) => self.pages(written).all(written.closed, pages),
            None => pages.fill(Found::Erased),
        }
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_nand::{Parallelism, ProgramOrder};

    /// Goal: marks are found at their pages, as long as they are trusted. Method: blocks of 1 to 130 pages, every third of
    /// them marked.
    #[test]
    fn marks_come_back() {
        for pages in 1..=130 {
            let oob = |lpn| Oob { lpn: Lpn(lpn), sequence: 7, role: ROLES[0] };
            let contents: Vec<Content> =
                (0..pages).map(|lpn| Content::Programmed(Spare { oob: oob(lpn), version: 5, lost: false })).collect();
            let marks: Vec<bool> = (0..pages).map(|at| at % 3 == 0).collect();
            let mut bytes = Vec::new();
            BlockPages::encode(&contents, &marks, &mut bytes);
            assert!(BlockPages::take(pages as usize, &mut &bytes[..bytes.len() - 1]).is_none(), "marks are missing");
            let mut checkpoint = HugeVec::zeros(bytes.len());
            checkpoint.copy_from_slice(&bytes);
            let (order, parallelism) = (ProgramOrder::Ascending, Parallelism::SINGLE);
            let geometry = Geometry { page_bytes: 512, pages_per_block: pages, blocks: 1, order, parallelism };
            let written = vec![Some(Written { at: 0, closed: false })];
            let mut table = PageTable::of(&geometry, checkpoint, written, 8, vec![0]);
            for trusted in [true, false] {
                table.trusts_marks = trusted;
                let expected =
                    |at: u32| Found::Programmed { oob: oob(at), version: 5, outdated: trusted && marks[at as usize] };
                let mut found = vec![Found::Erased; pages as usize];
                table.block(BlockId(0), &mut found);
                for (at, found) in (0..pages).zip(found) {
                    assert_eq!((found, table.page(Ppn(at))), (expected(at), expected(at)));
                }
            }
        }
    }
}
