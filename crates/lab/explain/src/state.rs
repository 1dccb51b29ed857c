//! State of a drive, as shown in a picture: pages, blocks and the map.

use serde::Serialize;
use ssdlab_ftl::Shape;

use crate::Step;

/// State of a flash page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PageState {
    /// Logical page that was programmed to this flash page; `None` if the page is erased.
    pub lpn: Option<u32>,
    /// True if the page got a second chance and is in the log for the second time (FASTer).
    pub second: bool,
}

/// Current use of an erase block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// The block is erased.
    #[default]
    Free,
    /// Data block; with block mapping, the data block of one logical block.
    Data,
    /// Block of the log for random writes, or log block of one logical block.
    Log,
    /// Log block for sequential writes (FAST, FASTer, SBFAST).
    Sequential,
    /// Block of the isolation area (FASTer).
    Isolation,
    /// Block that holds pages of the map.
    Map,
    /// Block of the SLC cache, in SLC mode.
    Slc,
    /// Bad block, which is no longer used.
    Bad,
}

impl Use {
    fn of(role: &str) -> Self {
        match role {
            "log" => Self::Log,
            "sequential" => Self::Sequential,
            "isolation" => Self::Isolation,
            "map" => Self::Map,
            "slc" => Self::Slc,
            _ => Self::Data,
        }
    }
}

/// State of an erase block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BlockState {
    /// Current use of the block, such as data or log.
    #[serde(rename = "use")]
    pub used: Use,
    /// Logical block to which all pages in the block belong; `None` if they belong to several logical blocks.
    pub owner: Option<u32>,
    /// Index of this block among the open blocks of its plane: 0 for the host's open block, higher for the other open
    /// blocks of the FTL.
    pub frontier: u8,
    /// Number of erases of the block.
    pub erases: u32,
}

/// State of the whole drive after a step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct State {
    /// State of each flash page.
    pub pages: Vec<PageState>,
    /// State of each block.
    pub blocks: Vec<BlockState>,
    /// Flash page with the newest copy of each logical page, followed by the same for each map page.
    pub map: Vec<Option<u32>>,
    #[serde(skip)]
    pages_per_block: u32,
}

impl State {
    /// Creates the state of an erased drive. `mapped` is the total number of logical pages and map pages.
    pub fn new(shape: &Shape, mapped: u32) -> Self {
        Self {
            pages: vec![PageState::default(); (shape.blocks * shape.pages_per_block) as usize],
            blocks: vec![BlockState::default(); shape.blocks as usize],
            map: vec![None; mapped as usize],
            pages_per_block: shape.pages_per_block,
        }
    }

    /// Returns the block of a flash page.
    pub fn block_of(&self, ppn: u32) -> u32 {
        ppn / self.pages_per_block
    }

    /// True if the flash page is the newest copy of its logical page.
    pub fn is_valid(&self, ppn: u32) -> bool {
        self.pages[ppn as usize].lpn.is_some_and(|lpn| self.map[lpn as usize] == Some(ppn))
    }

    /// Advances the state by `step`.
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
        let first_page = ppn / self.pages_per_block * self.pages_per_block;
        let block_pages = &self.pages[first_page as usize..(first_page + self.pages_per_block) as usize];
        let is_erased = block_pages.iter().all(|page| page.lpn.is_none());
        let lbn = Some(lpn / self.pages_per_block);
        if is_erased {
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
