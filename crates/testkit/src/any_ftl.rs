//! Running the same test on whatever FTL a set-up asks for.

use ssdlab_ftl::Ftl;
use ssdlab_ftl::bast::BastFtl;
use ssdlab_ftl::fast::FastFtl;
use ssdlab_ftl::faster::FasterFtl;
use ssdlab_ftl::map::{Dftl, SegmentCache, WholeMap};
use ssdlab_ftl::page::PageFtl;
use ssdlab_ftl::sbfast::SbfastFtl;
use ssdlab_sim::{FtlChoice, Setup};

/// What is done with an FTL of any type.
pub trait Visitor {
    /// What it yields.
    type Output;

    /// Does it.
    fn visit<F: Ftl>(self, ftl: F) -> Self::Output;
}

/// Builds the FTL of `setup` and hands it to `visitor`.
///
/// # Panics
/// If the set-up is impossible.
pub fn visit<V: Visitor>(setup: &Setup, visitor: V) -> V::Output {
    let shape = setup.shape();
    match setup.ftl {
        FtlChoice::Page(options) => {
            let map = WholeMap { logical_pages: setup.logical_pages };
            visitor.visit(PageFtl::with_map(setup.page_device(), options, map, setup.seed).expect("large enough"))
        }
        FtlChoice::Segments(options, map) => {
            let map = SegmentCache::new(setup.logical_pages, setup.geometry.page_bytes, map).expect("a sound cache");
            visitor.visit(PageFtl::with_map(setup.page_device(), options, map, setup.seed).expect("large enough"))
        }
        FtlChoice::Dftl(options, map) => {
            let map = Dftl::new(setup.logical_pages, setup.geometry.page_bytes, map).expect("a sound table");
            visitor.visit(PageFtl::with_map(setup.page_device(), options, map, setup.seed).expect("large enough"))
        }
        FtlChoice::Bast(options) => visitor.visit(BastFtl::new(shape, options).expect("large enough")),
        FtlChoice::Fast(options) => visitor.visit(FastFtl::new(shape, options).expect("large enough")),
        FtlChoice::Faster(options) => visitor.visit(FasterFtl::new(shape, options).expect("large enough")),
        FtlChoice::Sbfast(options) => visitor.visit(SbfastFtl::new(shape, options).expect("large enough")),
    }
}
