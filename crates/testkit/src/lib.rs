//! What the tests of several crates share: analytic formulas, a slow twin of the page-mapped FTL, random
//! set-ups and requests. Development only.

pub mod analytic;
pub mod strategies;
pub mod twin;

use ssdlab_ftl::page::{Allocation, PageOptions, Survivors, Trigger, VictimChoice};
use ssdlab_nand::Geometry;
use ssdlab_sim::{Clock, Fit, FtlChoice, Overwrite, Precondition, Replay, Setup};

/// A small untimed device: `blocks` blocks of `pages_per_block` 4 KiB pages, of which the options' reserve
/// and `spare_blocks` more are over-provisioned; greedy collection on a shared frontier; not preconditioned.
pub fn small_setup(blocks: u32, pages_per_block: u32, spare_blocks: u32) -> Setup {
    let options = PageOptions {
        gc: VictimChoice::Greedy,
        survivors: Survivors::Shared,
        trigger: Trigger::Victim,
        allocation: Allocation::Fifo,
    };
    Setup {
        geometry: Geometry { page_bytes: 4096, pages_per_block, blocks },
        logical_pages: (blocks - options.reserve_blocks() - spare_blocks) * pages_per_block,
        endurance_cycles: 3000,
        ftl: FtlChoice::Page(options),
        clock: Clock::Count,
        replay: Replay::Closed,
        fit: Fit::Error,
        warmup_requests: 0,
        precondition: Precondition { fill: 0.0, overwrite: Overwrite::None },
        check: false,
        seed: 1,
    }
}
