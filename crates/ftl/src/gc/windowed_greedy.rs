//! Windowed greedy: the fewest valid pages among the `window` blocks sealed longest ago.
//!
//! ```text
//! victim = argmin of valid(b) over the oldest `window` sealed blocks; oldest on ties
//! ```
//! Between FIFO (window 1) and greedy (window of all). X.-Y. Hu et al., "Write amplification analysis in
//! flash-based solid state drives", SYSTOR 2009.

use ssdlab_core::BlockId;

use super::VictimPolicy;
use crate::blocks::PlaneView;

/// One line for help and documentation.
pub const HELP: &str = "Fewest valid pages among the `window` blocks sealed longest ago.";

pub(super) struct WindowedGreedy {
    window: usize,
}

impl WindowedGreedy {
    pub(super) fn new(window: u32) -> Self {
        Self { window: window as usize }
    }
}

impl VictimPolicy for WindowedGreedy {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.oldest_first().take(self.window).min_by_key(|&block| plane.valid(block))
    }
}
