//! What can be chosen about the page-mapped FTL.

/// Which block garbage collection takes next; one file each under `gc/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimChoice {
    /// Fewest valid pages.
    Greedy,
    /// Oldest sealed block.
    Fifo,
    /// Any sealed block.
    Random,
    /// Fewest valid pages among `d` drawn at random.
    DChoices {
        /// Blocks drawn, at least 1.
        d: u32,
    },
    /// Highest benefit `(1 - u) * age / 2u`.
    CostBenefit,
    /// Fewest valid pages among the `window` oldest.
    WindowedGreedy {
        /// Blocks considered, at least 1.
        window: u32,
    },
}

/// Where garbage collection writes the pages that survive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Survivors {
    /// On the block that host writes fill (the classic models).
    Shared,
    /// On a block of their own (cheaper under skew).
    Own,
}

/// When garbage collection runs, and how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// One victim whenever free pages are short: many short stalls.
    Victim,
    /// At a block boundary with fewer than `low` free blocks, collect until `high` are free: few long stalls.
    Batch {
        /// Free blocks below which a batch starts.
        low: u32,
        /// Free blocks at which it ends.
        high: u32,
    },
}

/// Which free block is written next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// The one erased longest ago.
    Fifo,
    /// The one with the fewest erases (dynamic wear levelling); ties by block number.
    LeastWorn,
}

/// Options of the page-mapped FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageOptions {
    /// Victim policy.
    pub gc: VictimChoice,
    /// Where survivors go.
    pub survivors: Survivors,
    /// When collection runs.
    pub trigger: Trigger,
    /// Free-block choice.
    pub allocation: Allocation,
}

impl PageOptions {
    /// Blocks that must exist beyond those holding data: open frontiers and the spare a collection writes to.
    pub const fn reserve_blocks(&self) -> u32 {
        let frontiers = match self.survivors {
            Survivors::Shared => 2,
            Survivors::Own => 3,
        };
        match self.trigger {
            Trigger::Victim => frontiers,
            Trigger::Batch { high, .. } => frontiers.saturating_add(high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_batch_reserves_more_than_any_device_holds() {
        let trigger = Trigger::Batch { low: 2, high: u32::MAX };
        let options =
            PageOptions { gc: VictimChoice::Greedy, survivors: Survivors::Own, trigger, allocation: Allocation::Fifo };
        assert_eq!(options.reserve_blocks(), u32::MAX);
    }
}
