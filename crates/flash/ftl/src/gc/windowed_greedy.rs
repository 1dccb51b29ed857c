//! Windowed greedy: the block with the fewest valid pages among the `window` blocks closed longest ago.
//!
//! ```text
//! victim = argmin of valid(b) over the oldest `window` closed blocks; oldest on ties
//! ```
//! Window 1 is FIFO; a window of all blocks is greedy. X.-Y. Hu et al., "Write amplification analysis in flash-based
//! solid state drives", SYSTOR 2009.

use ssdlab_core::{Archive, Archived, BlockId, Parameter, Unit};

use super::{VictimInfo, VictimPolicy};
use crate::blocks::PlaneView;

/// Registry entry of this victim policy.
pub static INFO: VictimInfo = VictimInfo {
    name: "windowed_greedy",
    help: "The block with the fewest valid pages among the `window` blocks closed longest ago.",
    source: "Hu et al., SYSTOR 2009",
    parameters: &[WINDOW],
    role: &|settings, _| Box::new(WindowedGreedy { window: settings.get(WINDOW.name) as usize }),
};

const WINDOW: Parameter =
    Parameter::new("window", Unit::Count("blocks"), 256, [1, u32::MAX as u64], "Number of oldest blocks to compare.")
        .example(64);

struct WindowedGreedy {
    window: usize,
}

impl VictimPolicy for WindowedGreedy {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.oldest_first().take(self.window).min_by_key(|&block| plane.valid(block))
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}
