//! Shared test utilities: analytic formulas, a slow reference FTL with page mapping, random set-ups and requests.

pub mod analytic;
pub mod drives;
pub mod strategies;
pub mod twin;

use ssdlab_core::Rng;
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::gc;
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{FtlChoice, placement};
use ssdlab_nand::Geometry;
use ssdlab_sim::Setup;
use ssdlab_trace::{Op, Request};

/// FTL options of the small devices: greedy garbage collection that copies pages to the host's open block.
pub const SMALL_OPTIONS: PageOptions = PageOptions::new(gc::greedy::INFO.defaults(), &placement::shared::INFO);

/// Returns a small untimed device with [`SMALL_OPTIONS`] and no preconditioning. It has `blocks` blocks of
/// `pages_per_block` 4 KiB pages. The over-provisioning is the FTL's reserve plus `spare_blocks` blocks.
pub fn small_setup(blocks: u32, pages_per_block: u32, spare_blocks: u32) -> Setup {
    let geometry = Geometry::single_plane(4096, pages_per_block, blocks);
    let logical_pages = (blocks - SMALL_OPTIONS.reserve_blocks() - spare_blocks) * pages_per_block;
    Setup::new(geometry, logical_pages, FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()))
}

/// Builds the FTL of `setup` and passes it to `visitor`.
///
/// # Panics
/// Panics if the set-up is invalid.
pub fn visit<V: Visitor>(setup: &Setup, visitor: V) -> V::Output {
    setup.ftl.build(setup.shape(), setup.seed, visitor).expect("the set-up is valid")
}

/// Returns `count` writes of one page each at random addresses of a small device.
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
