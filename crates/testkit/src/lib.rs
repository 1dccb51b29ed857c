//! What the tests of several crates share: analytic formulas, a slow twin of the page-mapped FTL, random
//! set-ups and requests. Development only.

pub mod analytic;
pub mod any_ftl;
pub mod drives;
pub mod strategies;
pub mod twin;

use ssdlab_core::Rng;
use ssdlab_ftl::gc;
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{FtlChoice, placement};
use ssdlab_nand::{Geometry, Parallelism, ProgramOrder};
use ssdlab_sim::Setup;
use ssdlab_trace::{Op, Request};

/// Options of the small devices: greedy collection on a shared frontier.
pub const SMALL_OPTIONS: PageOptions = PageOptions::new(gc::greedy::INFO.defaults(), &placement::shared::INFO);

/// A small untimed device: `blocks` blocks of `pages_per_block` 4 KiB pages, of which the options' reserve
/// and `spare_blocks` more are over-provisioned; [`SMALL_OPTIONS`]; not preconditioned.
pub fn small_setup(blocks: u32, pages_per_block: u32, spare_blocks: u32) -> Setup {
    let geometry = Geometry {
        page_bytes: 4096,
        pages_per_block,
        blocks,
        order: ProgramOrder::Ascending,
        parallelism: Parallelism::SINGLE,
    };
    let logical_pages = (blocks - SMALL_OPTIONS.reserve_blocks() - spare_blocks) * pages_per_block;
    Setup::new(geometry, logical_pages, FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()))
}

/// `count` writes of a page each at random addresses of a small device, drawn from `seed`.
pub fn random_writes(setup: &Setup, seed: u64, count: usize) -> Vec<Request> {
    let mut rng = Rng::named(seed, "writes");
    let mut request = || Request {
        time_ns: 0,
        offset: rng.below(setup.logical_pages.into()) * 4096,
        bytes: 4096,
        op: Op::Write,
        flags: 0,
        stream: 0,
    };
    (0..count).map(|_| request()).collect()
}
