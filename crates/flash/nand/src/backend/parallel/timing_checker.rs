//! Checks the order in which dies execute operations in simulated time.
//!
//! Operations on one block begin in the order of emission. A page is read only after its program has ended, and
//! programmed only after its erase. A block is erased only after every copy from it has been programmed.
//!
//! If program units are gathered in memory, blocks are die blocks, and reads need not keep the order of emission. A die
//! block is erased only after every read emitted before the erase has ended. A page is read from memory only until its
//! program has ended. A fine pass begins only after the coarse passes of its page and of the following word lines that
//! it requires.

use std::collections::{BTreeMap, VecDeque};

use super::ops::{Kind, Pass, Seen};
use crate::Geometry;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    Erased,
    Programming,
    /// The coarse pass has ended.
    Coarse,
    Programmed,
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// Operations on the block that were emitted but have not begun on the die.
    order: VecDeque<Seen>,
    /// Operations that must end before the block's next erase: copies from the block, or its reads if program units are
    /// gathered. Maps the number of each operation to the number of erases emitted before it.
    before_erase: BTreeMap<u32, u64>,
    erases_emitted: u64,
    erases_begun: u64,
}

/// Detects flash operations that begin in an order that no chip allows.
///
/// The methods of the checker are never inlined, to keep drives without checks fast.
#[derive(Debug)]
pub struct TimingChecker {
    /// Number of pages per die block.
    pages_per_block: usize,
    /// True if program units are gathered in memory.
    gathers: bool,
    /// Number of following pages in the die block whose coarse pass must begin before the fine pass of a page.
    pass_distance: usize,
    pages: Vec<Page>,
    blocks: Vec<Block>,
    violation: Option<String>,
}

impl TimingChecker {
    /// Creates a checker for an array in which all blocks are erased.
    pub fn new(geometry: &Geometry) -> Self {
        let pages_per_block = (geometry.pages_per_block / geometry.units_per_word_line()) as usize;
        let die_blocks = (geometry.blocks * geometry.dies_per_block()) as usize;
        Self {
            pages_per_block,
            gathers: geometry.gathers(),
            pass_distance: (geometry.units.pass_distance * geometry.program_unit()) as usize,
            pages: vec![Page::Erased; die_blocks * pages_per_block],
            blocks: vec![Block::default(); die_blocks],
            violation: None,
        }
    }

    fn blame(&mut self, seen: Seen, rule: &str) {
        let Seen { kind, block, page, .. } = seen;
        self.violation.get_or_insert_with(|| format!("timing check, {kind:?} of page {page} of block {block}: {rule}"));
    }

    fn at(&mut self, block: u32, page: u32) -> &mut Page {
        &mut self.pages[block as usize * self.pages_per_block + page as usize]
    }

    fn of_block(&mut self, block: u32) -> &mut [Page] {
        let first = block as usize * self.pages_per_block;
        &mut self.pages[first..first + self.pages_per_block]
    }

    fn take_turn(&mut self, seen: Seen, block: u32) {
        if self.blocks[block as usize].order.pop_front().map(|first| first.id) != Some(seen.id) {
            self.blame(seen, "the operation overtook an earlier operation on the block");
        }
    }

    /// Records that the FTL has emitted an operation.
    #[inline(never)]
    pub(super) fn emitted(&mut self, seen: Seen) {
        let block = &mut self.blocks[seen.block as usize];
        if self.gathers && seen.kind == Kind::Read {
            block.before_erase.insert(seen.id, block.erases_emitted);
            return;
        }
        block.order.push_back(seen);
        if seen.kind == Kind::Erase {
            block.erases_emitted += 1;
        }
        if let Some((from, _)) = seen.from {
            let source = &mut self.blocks[from as usize];
            source.before_erase.insert(seen.id, source.erases_emitted);
            if seen.kind == Kind::Copyback && from != seen.block {
                source.order.push_back(seen);
            }
        }
    }

    /// Checks an operation when its execution in the cells begins.
    #[inline(never)]
    pub(super) fn began(&mut self, seen: Seen) {
        if !self.gathers || seen.kind != Kind::Read {
            self.take_turn(seen, seen.block);
        }
        match seen.kind {
            Kind::Read => {
                if *self.at(seen.block, seen.page) != Page::Programmed {
                    self.blame(seen, "the page is not completely programmed");
                }
            }
            Kind::Program | Kind::Copyback => {
                if let (Kind::Copyback, Some((block, page))) = (seen.kind, seen.from) {
                    if block != seen.block {
                        self.take_turn(seen, block);
                    }
                    if *self.at(block, page) != Page::Programmed {
                        self.blame(seen, "the source page has not been programmed");
                    }
                }
                match (seen.pass, *self.at(seen.block, seen.page)) {
                    (Pass::Single | Pass::Coarse, Page::Erased) => {}
                    (Pass::Fine, Page::Coarse) => {
                        let ahead = seen.page as usize + self.pass_distance;
                        if self.of_block(seen.block).get(ahead) == Some(&Page::Erased) {
                            self.blame(seen, "the fine pass is too early");
                        }
                    }
                    (Pass::Single | Pass::Coarse, _) => self.blame(seen, "the page is not erased"),
                    (Pass::Fine, _) => self.blame(seen, "the fine pass does not follow a coarse pass"),
                }
                *self.at(seen.block, seen.page) = Page::Programming;
            }
            Kind::Erase => {
                let block = &mut self.blocks[seen.block as usize];
                let begun = block.erases_begun;
                block.erases_begun += 1;
                if block.before_erase.values().any(|&erases| erases <= begun) {
                    self.blame(seen, "copies or reads of the block's pages are not complete");
                }
                if self.of_block(seen.block).iter().any(|page| matches!(page, Page::Programming | Page::Coarse)) {
                    self.blame(seen, "a page of the block is being programmed");
                }
            }
        }
    }

    /// Records that the execution of an operation in the cells has ended.
    #[inline(never)]
    pub(super) fn ended(&mut self, seen: Seen) {
        match seen.kind {
            Kind::Read if self.gathers => {
                self.blocks[seen.block as usize].before_erase.remove(&seen.id);
            }
            Kind::Read => {}
            Kind::Program | Kind::Copyback => {
                let is_coarse = seen.pass == Pass::Coarse;
                *self.at(seen.block, seen.page) = if is_coarse { Page::Coarse } else { Page::Programmed };
                if let Some((from, _)) = seen.from {
                    self.blocks[from as usize].before_erase.remove(&seen.id);
                }
            }
            Kind::Erase => self.of_block(seen.block).fill(Page::Erased),
        }
    }

    /// Checks a read of a page from memory.
    #[inline(never)]
    pub(super) fn read_memory(&mut self, block: u32, page: u32) {
        let waits = |seen: &Seen| seen.kind == Kind::Program && seen.page == page;
        let waits = self.blocks[block as usize].order.iter().any(waits);
        if !waits && !matches!(*self.at(block, page), Page::Programming | Page::Coarse) {
            let pass = Pass::Single;
            self.blame(
                Seen { id: 0, kind: Kind::Read, pass, block, page, from: None },
                "the page was read from the controller's memory but is not stored there",
            );
        }
    }

    pub(super) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Units;

    fn seen(id: u32, kind: Kind, block: u32, page: u32) -> Seen {
        Seen { id, kind, pass: Pass::Single, block, page, from: None }
    }

    fn violation_of(act: &dyn Fn(&mut TimingChecker)) -> String {
        let mut checker = TimingChecker::new(&Geometry::single_plane(512, 4, 3));
        act(&mut checker);
        checker.violation().unwrap_or_default().to_owned()
    }

    fn done(checker: &mut TimingChecker, operation: Seen) {
        checker.emitted(operation);
        checker.began(operation);
        checker.ended(operation);
    }

    #[test]
    fn orders_that_no_chip_allows_are_found() {
        let program = seen(1, Kind::Program, 0, 0);
        let read = seen(2, Kind::Read, 0, 0);
        let in_turn = |checker: &mut TimingChecker| [program, read].iter().for_each(|&op| done(checker, op));
        assert_eq!(violation_of(&in_turn), "");
        let early = |checker: &mut TimingChecker| {
            [program, read].iter().for_each(|&operation| checker.emitted(operation));
            checker.began(program);
            checker.began(read);
        };
        assert!(violation_of(&early).contains("the page is not completely programmed"));
        let overtaking = |checker: &mut TimingChecker| {
            [program, seen(2, Kind::Program, 0, 1)].iter().for_each(|&operation| checker.emitted(operation));
            checker.began(seen(2, Kind::Program, 0, 1));
        };
        assert!(violation_of(&overtaking).contains("overtook"));
        let twice = |checker: &mut TimingChecker| {
            done(checker, program);
            done(checker, Seen { id: 2, ..program });
        };
        assert!(violation_of(&twice).contains("not erased"));
        let copy = Seen { from: Some((0, 0)), ..seen(2, Kind::Program, 1, 0) };
        let erase = seen(3, Kind::Erase, 0, 0);
        let destroying = |checker: &mut TimingChecker| {
            done(checker, program);
            [copy, erase].iter().for_each(|&operation| checker.emitted(operation));
            checker.began(copy);
            checker.began(erase);
        };
        assert!(violation_of(&destroying).contains("copies or reads of the block"));
        let in_order =
            |checker: &mut TimingChecker| [program, copy, erase].iter().for_each(|&operation| done(checker, operation));
        assert_eq!(violation_of(&in_order), "");
        let in_place = Seen { from: Some((1, 0)), ..seen(2, Kind::Copyback, 2, 0) };
        assert!(violation_of(&|checker| done(checker, in_place)).contains("the source page has not been programmed"));
    }

    /// Tests a block with three program units of two pages, whose fine passes follow one word line after the coarse
    /// passes.
    #[test]
    fn a_fine_pass_comes_after_the_coarse_pass_of_the_next_word_line() {
        let units = Units { word_line: 2, pass_distance: 1, ..Units::PAGE };
        let geometry = Geometry { units, ..Geometry::single_plane(512, 6, 2) };
        let violation_of = |passes: &[(Pass, u32)]| {
            let mut checker = TimingChecker::new(&geometry);
            for (id, &(pass, page)) in (0..).zip(passes) {
                done(&mut checker, Seen { pass, ..seen(id, Kind::Program, 0, page) });
            }
            checker.violation().unwrap_or_default().to_owned()
        };
        use Pass::{Coarse, Fine};
        assert_eq!(violation_of(&[(Coarse, 0), (Coarse, 1), (Coarse, 2), (Fine, 0), (Coarse, 3), (Fine, 1)]), "");
        assert_eq!(violation_of(&[(Coarse, 4), (Fine, 4)]), "", "no word line follows");
        assert!(violation_of(&[(Coarse, 0), (Coarse, 1), (Fine, 0)]).contains("too early"));
        assert!(violation_of(&[(Coarse, 2), (Fine, 0)]).contains("does not follow a coarse pass"));
        assert!(violation_of(&[(Coarse, 0), (Coarse, 0)]).contains("not erased"));
    }
}
