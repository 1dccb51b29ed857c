//! What the spare areas of a drive say, in memory: all that recovery asks of the flash.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Found, Oob, Scan};

use crate::spare::{Content, ROLES, Spare};

const ERASED: u8 = 0;
const DAMAGED: u8 = 1;
/// States from here on are roles.
const PROGRAMMED: u8 = 2;

/// Contents of all pages, and what is known of the blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PageTable {
    states: Vec<u8>,
    lpns: Vec<u32>,
    versions: Vec<u64>,
    sequences: Vec<u64>,
    pub bad: Vec<bool>,
    pub erases: Vec<u32>,
}

impl PageTable {
    /// Erased flash.
    pub fn new(pages: u64, blocks: u32) -> Self {
        let (pages, blocks) = (pages as usize, blocks as usize);
        Self {
            states: vec![ERASED; pages],
            lpns: vec![0; pages],
            versions: vec![0; pages],
            sequences: vec![0; pages],
            bad: vec![false; blocks],
            erases: vec![0; blocks],
        }
    }

    /// Above the sequence number of every page.
    pub fn next_sequence(&self) -> u64 {
        let programmed = self.states.iter().zip(&self.sequences).filter(|&(&state, _)| state >= PROGRAMMED);
        programmed.map(|(_, &sequence)| sequence + 1).max().unwrap_or(0)
    }

    pub fn set(&mut self, ppn: Ppn, content: Content) {
        let at = ppn.index();
        self.states[at] = match content {
            Content::Erased => ERASED,
            Content::Damaged => DAMAGED,
            Content::Programmed(Spare { oob, version, .. }) => {
                self.lpns[at] = oob.lpn.0;
                self.versions[at] = version;
                self.sequences[at] = oob.sequence;
                PROGRAMMED + oob.role as u8
            }
        };
    }
}

impl Scan for PageTable {
    fn page(&self, ppn: Ppn) -> Found {
        let at = ppn.index();
        match self.states[at] {
            ERASED => Found::Erased,
            DAMAGED => Found::Unreadable,
            role => {
                let role = ROLES[usize::from(role - PROGRAMMED)];
                let oob = Oob { lpn: Lpn(self.lpns[at]), sequence: self.sequences[at], role };
                Found::Programmed { oob, version: self.versions[at] }
            }
        }
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }
}
