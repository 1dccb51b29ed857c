//! Pictures of a drive after each step, for viewers that cannot apply steps themselves.

use serde::Serialize;

use crate::label::Labelled;
use crate::{Recording, State, Step, Use};

/// Picture of the drive after a number of steps.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Frame {
    /// Erase blocks, in the order of their numbers.
    pub blocks: Vec<Block>,
    /// Number of pages that the host has written since the start of the recording.
    pub host: u32,
    /// Number of flash pages programmed since the start of the recording, including copies.
    pub programs: u32,
    /// Number of blocks erased since the start of the recording.
    pub erases: u32,
}

/// An erase block in a picture.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Block {
    /// Name of the block, as used in the sentences that describe steps.
    pub name: String,
    /// Use of the block, in words.
    pub text: String,
    /// Use of the block, as an enumeration value.
    #[serde(rename = "use")]
    pub used: Use,
    /// Index of the block among the open blocks; see [`BlockState`](crate::BlockState).
    pub frontier: u8,
    /// Number of erases of the block.
    pub erases: u32,
    /// Pages of the block.
    pub pages: Vec<Page>,
}

/// A flash page in a picture.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Page {
    /// Number of the logical page, with the letter `m` for a map page; empty if the flash page is erased.
    pub text: String,
    /// True if this flash page is the newest copy of its logical page.
    pub valid: bool,
    /// True if the page got a second chance and is in the log for the second time.
    pub second: bool,
}

impl Recording {
    /// Returns the pictures of the drive after `first`, `first + 1`, ..., `last` steps.
    ///
    /// # Panics
    /// Panics if the recording has fewer steps.
    pub fn frames(&self, first: usize, last: usize) -> Vec<Frame> {
        let mut now = Labelled::new(&self.drive, &self.start);
        let (mut host, mut programs, mut erases) = (0, 0, 0);
        let mut frames = Vec::new();
        for at in 0..=last {
            if at > 0 {
                let step = &self.steps[at - 1];
                now.apply(at - 1, step);
                host += u32::from(matches!(step, Step::Program { cause: "host", .. }));
                programs += u32::from(matches!(step, Step::Program { .. } | Step::Copy { .. }));
                erases += u32::from(matches!(step, Step::Erase { .. }));
            }
            if at >= first {
                frames.push(Frame { blocks: blocks(&now), host, programs, erases });
            }
        }
        frames
    }
}

fn blocks(now: &Labelled<'_>) -> Vec<Block> {
    let State { blocks, pages, .. } = &now.state;
    let size = pages.len() / blocks.len();
    let page = |(state, ppn): (&crate::PageState, u32)| {
        let valid = now.state.is_valid(ppn);
        Page { text: state.lpn.map_or(String::new(), |lpn| now.page_number(lpn)), valid, second: state.second && valid }
    };
    let block = |(state, number): (&crate::BlockState, u32)| {
        let first = number as usize * size;
        // In SLC mode, a word line holds one page.
        let used_pages = if state.used == Use::Slc { size / now.drive.word_line as usize } else { size };
        let pages = pages[first..first + used_pages].iter().zip(first as u32..).map(page).collect();
        let (used, frontier, erases) = (state.used, state.frontier, state.erases);
        Block { name: now.block(number), text: now.block_use(number), used, frontier, erases, pages }
    };
    blocks.iter().zip(0..).map(block).collect()
}
