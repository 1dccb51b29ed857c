//! What a picture shows: pages, blocks and the map.

use serde::Serialize;
use ssdlab_ftl::Shape;

use crate::Step;

/// A flash page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PageState {
    /// The logical page programmed here; none while it is erased.
    pub lpn: Option<u32>,
    /// Whether it goes through the log for the second time (FASTer).
    pub second: bool,
}

/// What a block is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Erased.
    #[default]
    Free,
    /// Data: under block mapping the data block of a logical block.
    Data,
    /// The random log, or the log of a logical block.
    Log,
    /// The log for sequential writes.
    Sequential,
    /// FASTer's isolation area.
    Isolation,
    /// Pages of the map.
    Map,
    /// Not used any more.
    Bad,
}

impl Use {
    fn of(role: &str) -> Self {
        match role {
            "log" => Self::Log,
            "sequential" => Self::Sequential,
            "isolation" => Self::Isolation,
            "map" => Self::Map,
            _ => Self::Data,
        }
    }
}

/// An erase block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BlockState {
    /// What it is used for.
    #[serde(rename = "use")]
    pub used: Use,
    /// The logical block that all its pages belong to, as far as they do.
    pub owner: Option<u32>,
    /// The frontier of the FTL that it was opened for.
    pub frontier: u8,
    /// How often it has been erased.
    pub erases: u32,
}

/// Everything drawn at one time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct State {
    /// Every flash page.
    pub pages: Vec<PageState>,
    /// Every block.
    pub blocks: Vec<BlockState>,
    /// Where each logical page is, and behind these each page of the map.
    pub map: Vec<Option<u32>>,
    #[serde(skip)]
    pages_per_block: u32,
}

impl State {
    /// An erased drive, with so many pages mapped.
    pub fn new(shape: &Shape, mapped: u32) -> Self {
        Self {
            pages: vec![PageState::default(); (shape.blocks * shape.pages_per_block) as usize],
            blocks: vec![BlockState::default(); shape.blocks as usize],
            map: vec![None; mapped as usize],
            pages_per_block: shape.pages_per_block,
        }
    }

    /// The block of a page.
    pub fn block_of(&self, ppn: u32) -> u32 {
        ppn / self.pages_per_block
    }

    /// Whether the page is the newest copy of what it holds.
    pub fn is_valid(&self, ppn: u32) -> bool {
        self.pages[ppn as usize].lpn.is_some_and(|lpn| self.map[lpn as usize] == Some(ppn))
    }

    /// What is drawn after `step`.
    pub fn apply(&mut self, step: &Step) {
        match *step {
            Step::Program { ppn, lpn, .. } => self.put(ppn, lpn, false, true),
            Step::Copy { to, lpn, cause, newest, .. } => self.put(to, lpn, cause == "second_chance", newest),
            Step::Erase { block, .. } => {
                let first = (block * self.pages_per_block) as usize;
                self.pages[first..first + self.pages_per_block as usize].fill(PageState::default());
                let erases = self.blocks[block as usize].erases + 1;
                self.blocks[block as usize] = BlockState { erases, ..BlockState::default() };
            }
            Step::Trim { lpn, count } => self.map[lpn as usize..(lpn + count) as usize].fill(None),
            Step::Opened { block, role, frontier } => {
                let opened = &mut self.blocks[block as usize];
                (opened.used, opened.frontier) = (Use::of(role), frontier);
            }
            Step::Merged { data: Some(block), .. } => self.blocks[block as usize].used = Use::Data,
            Step::Bad { block } => self.blocks[block as usize].used = Use::Bad,
            Step::Rotated { block } => {
                let first = (block * self.pages_per_block) as usize;
                self.pages[first..first + self.pages_per_block as usize].iter_mut().for_each(|page| page.second = true);
            }
            _ => {}
        }
    }

    fn put(&mut self, ppn: u32, lpn: u32, second: bool, newest: bool) {
        let block = &mut self.blocks[(ppn / self.pages_per_block) as usize];
        let empty = ppn / self.pages_per_block * self.pages_per_block;
        let lbn = Some(lpn / self.pages_per_block);
        let first =
            self.pages[empty as usize..(empty + self.pages_per_block) as usize].iter().all(|page| page.lpn.is_none());
        if first {
            block.owner = lbn;
        } else if block.owner != lbn {
            block.owner = None;
        }
        self.pages[ppn as usize] = PageState { lpn: Some(lpn), second };
        if newest {
            self.map[lpn as usize] = Some(ppn);
        }
    }
}
