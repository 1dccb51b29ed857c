//! Flash translation layers decide where each page is written, and which blocks are erased.
//!
//! An [`Ftl`] turns writes, reads and trims of logical pages into operations of a [`FlashSink`]. It never waits, and it
//! does not handle page contents. `write`, `read`, `trim` and `lookup` are required. Other capabilities, such as
//! recovery after a power loss, return an error by default. The setting `check=true` checks every operation and every
//! page read.
//!
//! An FTL with log blocks can implement [`Log`] instead. [`LogFtl`] then writes pages in place, merges, recovers and
//! handles failed programs. The [`Log`] decides where all other pages are written, and which blocks are merged to make
//! space.
//!
//! In tests, [`Counts`] can serve as the [`FlashSink`]. An FTL must obey the rules of the flash. The pages of a block
//! are programmed in order, each once between two erases. The only copy of a page must not be erased. A barrier must
//! separate copies from the erase of their originals.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/ftl.rs"))]
//! ```

use ssdlab_ftl::choice::LOG_FTLS;
pub use ssdlab_ftl::log::{
    HostPage, Log, LogBlock, LogBlocks, LogDevice, LogFtl, LogInfo as FtlInfo, LogRules as FtlRules, PageAddress,
};
pub use ssdlab_ftl::{DynFtl, Ftl, Problem, Shape, WriteContext};
pub use ssdlab_nand::{
    Cause, Counts, FlashSink, MergeCost, MergeKind, Note, ProgramOrder, RetireReason, Role, Source, SpareArea,
    VictimReason,
};

use crate::NameTaken;

/// Adds an FTL to ssdlab; fails if another FTL has the same name.
pub fn register(info: &'static FtlInfo) -> Result<(), NameTaken> {
    LOG_FTLS.register(info)
}
