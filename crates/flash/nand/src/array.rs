//! A flash array that enforces the NAND rules and stores the programmed pages.
//!
//! The payload is a 64-bit stamp per page, which identifies every version of every page. It takes 12 bytes for each
//! page that was ever programmed. Rules (ONFI; every NAND data sheet): a page is programmed once between erases; the
//! pages of a block are programmed in the chip's order; only programmed pages can be read; all pages of a block are in
//! the same mode, and a block in SLC mode has one flash page per word line.

use ssdlab_core::{Archive, Archived, BlockId, Entry, HugeVec, Lpn, Ppn, Reciprocal};

use crate::{Geometry, ProgramOrder, Role};

/// Message about a violated NAND rule, with operation, page and rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation(pub String);

/// Contents of a programmed page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageData {
    /// Logical page stored in the spare area.
    pub lpn: Lpn,
    /// Payload: the stamp that identifies the version of the page.
    pub stamp: u64,
}

/// The pages and blocks of a device, with their contents.
#[derive(Debug)]
pub struct FlashArray {
    pages_per_block: u32,
    block_of: Reciprocal,
    order: ProgramOrder,
    /// Number of pages of a block in SLC mode.
    slc_pages: u32,
    /// For each block, the offset of the page after the last programmed page.
    next: Vec<u32>,
    /// For each block, true if it is in SLC mode.
    slc: Vec<bool>,
    /// Logical page stored in each flash page; an erased page stores none.
    lpns: HugeVec<Entry>,
    stamps: HugeVec<u64>,
}

impl FlashArray {
    /// Returns an array whose pages are all erased.
    pub fn new(geometry: &Geometry) -> Self {
        let pages = geometry.pages() as usize;
        Self {
            pages_per_block: geometry.pages_per_block,
            block_of: Reciprocal::new(geometry.pages_per_block),
            order: geometry.order,
            slc_pages: geometry.pages_per_block / geometry.units.word_line,
            slc: vec![false; geometry.blocks as usize],
            next: vec![0; geometry.blocks as usize],
            lpns: HugeVec::zeros(pages),
            stamps: HugeVec::zeros(pages),
        }
    }

    fn locate(&self, ppn: Ppn, operation: &str) -> Result<(usize, u32), Violation> {
        if ppn.index() >= self.lpns.len() {
            return Err(Violation(format!("{operation} of page {ppn}: the device has only {} pages", self.lpns.len())));
        }
        let block = self.block_of.divide(ppn.0);
        Ok((block as usize, ppn.0 - block * self.pages_per_block))
    }

    /// Reads a programmed page; fails if the read breaks a rule of the chip.
    pub fn read(&self, ppn: Ppn) -> Result<PageData, Violation> {
        let (block, _) = self.locate(ppn, "read")?;
        if self.lpns[ppn.index()] == Entry::NONE {
            return Err(Violation(format!("read of page {ppn}: not programmed since the last erase of block {block}")));
        }
        Ok(PageData { lpn: Lpn(self.lpns[ppn.index()].page()), stamp: self.stamps[ppn.index()] })
    }

    /// Programs a page; fails if the program breaks a rule of the chip.
    pub fn program(&mut self, ppn: Ppn, data: PageData, role: Role) -> Result<(), Violation> {
        let (block, page) = self.locate(ppn, "program")?;
        let next = self.next[block];
        let slc = role == Role::Slc;
        if next == 0 {
            self.slc[block] = slc;
        }
        // Padding may be programmed in blocks of either mode.
        if slc != self.slc[block] && role != Role::Padding {
            return Err(Violation(format!(
                "program of page {ppn} as {role:?}: the role does not match the mode of block {block} (SLC or native)"
            )));
        }
        if self.slc[block] && page >= self.slc_pages {
            let pages = self.slc_pages;
            return Err(Violation(format!("program of page {ppn}: block {block} in SLC mode has only {pages} pages")));
        }
        if self.lpns[ppn.index()] != Entry::NONE {
            return Err(Violation(format!(
                "program of page {ppn}: already programmed since the last erase of block {block}"
            )));
        }
        if self.order == ProgramOrder::Ascending && page < next {
            let why = format!("the next page of block {block} is {next}, not {page}");
            return Err(Violation(format!("program of page {ppn}: {why}")));
        }
        self.next[block] = next.max(page + 1);
        self.lpns[ppn.index()] = Entry::of(data.lpn.0);
        self.stamps[ppn.index()] = data.stamp;
        Ok(())
    }

    /// True if a block is in SLC mode; the first program after an erase sets the mode.
    pub fn is_slc(&self, block: BlockId) -> bool {
        self.slc[block.index()]
    }

    /// Returns the numbers of all programmed pages, in ascending order.
    pub fn programmed(&self) -> impl Iterator<Item = Ppn> + '_ {
        (0..).zip(self.lpns.iter()).filter(|&(_, &lpn)| lpn != Entry::NONE).map(|(ppn, _)| Ppn(ppn))
    }

    /// Saves or loads the contents of all pages.
    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { pages_per_block: _, block_of: _, order: _, slc_pages: _, next, slc, lpns, stamps } = self;
        archive.array(next)?;
        archive.value(slc)?;
        archive.array(lpns)?;
        archive.array(stamps)
    }

    /// Erases a block; fails if the erase breaks a rule of the chip.
    pub fn erase(&mut self, block: BlockId) -> Result<(), Violation> {
        let Some(next) = self.next.get_mut(block.index()) else {
            return Err(Violation(format!("erase of block {block}: the device has only {} blocks", self.next.len())));
        };
        let first = block.index() * self.pages_per_block as usize;
        self.lpns[first..first + *next as usize].fill(Entry::NONE);
        *next = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Units;

    fn array() -> FlashArray {
        array_with(ProgramOrder::Ascending)
    }

    fn array_with(order: ProgramOrder) -> FlashArray {
        FlashArray::new(&Geometry { order, ..Geometry::single_plane(4096, 3, 2) })
    }

    fn data(lpn: u32) -> PageData {
        PageData { lpn: Lpn(lpn), stamp: 100 + u64::from(lpn) }
    }

    #[test]
    fn pages_keep_their_contents_until_the_erase() {
        let mut array = array();
        array.program(Ppn(3), data(7), Role::Data).unwrap();
        array.program(Ppn(4), data(8), Role::Data).unwrap();
        assert_eq!(array.read(Ppn(4)), Ok(data(8)));
        array.erase(BlockId(1)).unwrap();
        assert!(array.read(Ppn(4)).unwrap_err().0.contains("not programmed"));
        array.program(Ppn(3), data(9), Role::Data).unwrap();
        assert_eq!(array.read(Ppn(3)), Ok(data(9)));
    }

    #[test]
    fn broken_rules_are_refused() {
        let mut array = array();
        array.program(Ppn(1), data(0), Role::Data).unwrap();
        assert!(array.program(Ppn(1), data(0), Role::Data).unwrap_err().0.contains("already programmed"));
        assert!(array.program(Ppn(0), data(0), Role::Data).unwrap_err().0.contains("block 0 is 2, not 0"));
        assert!(array.read(Ppn(0)).unwrap_err().0.contains("not programmed"));
        assert!(array.read(Ppn(6)).unwrap_err().0.contains("6 pages"));
        assert!(array.erase(BlockId(2)).is_err());
    }

    #[test]
    fn a_chip_without_order_takes_any_erased_page() {
        let mut array = array_with(ProgramOrder::Any);
        array.program(Ppn(2), data(2), Role::Data).unwrap();
        array.program(Ppn(0), data(0), Role::Data).unwrap();
        assert!(array.read(Ppn(1)).unwrap_err().0.contains("not programmed"));
        assert!(array.program(Ppn(0), data(0), Role::Data).unwrap_err().0.contains("already programmed"));
        array.erase(BlockId(0)).unwrap();
        array.program(Ppn(0), data(5), Role::Data).unwrap();
        assert_eq!(array.read(Ppn(0)), Ok(data(5)));
        assert!(array.read(Ppn(2)).is_err());
    }

    #[test]
    fn a_block_in_slc_mode_has_one_flash_page_per_word_line() {
        let units = Units { word_line: 3, ..Units::PAGE };
        let mut array = FlashArray::new(&Geometry { units, ..Geometry::single_plane(4096, 6, 2) });
        let mut program = |page: u32, role| array.program(Ppn(page), data(page), role);
        assert_eq!(program(0, Role::Slc), Ok(()));
        assert!(program(1, Role::Data).unwrap_err().0.contains("does not match the mode"));
        assert_eq!(program(1, Role::Padding), Ok(()));
        assert!(program(2, Role::Slc).unwrap_err().0.contains("SLC mode has only 2 pages"));
        assert_eq!(program(6, Role::Data), Ok(()));
        assert!(program(7, Role::Slc).unwrap_err().0.contains("does not match the mode"));
        array.erase(BlockId(0)).unwrap();
        assert_eq!(array.program(Ppn(0), data(0), Role::Data), Ok(()));
    }
}
