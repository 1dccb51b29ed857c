//! Die schedulers decide which waiting operation a die starts next.
//!
//! A die scheduler is a function ([`DieSchedulerRules::pick`]) that receives the first ready operation of each class
//! ([`DieView`]) and returns the class to serve next, or None to wait. The classes are host reads, host programs and
//! internal operations; a scheduler may rank internal reads as a class of their own.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/die_scheduler.rs"))]
//! ```

use ssdlab_nand::backend::parallel::scheduler::DIE_SCHEDULERS;
pub use ssdlab_nand::backend::parallel::scheduler::{
    CLASSES, Class, DieSchedulerInfo, DieSchedulerRules, DieView, NOTHING,
};

use crate::NameTaken;

/// Adds a die scheduler to ssdlab; fails if another die scheduler has the same name.
pub fn register(info: &'static DieSchedulerInfo) -> Result<(), NameTaken> {
    DIE_SCHEDULERS.register(info)
}
