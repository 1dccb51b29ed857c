//! First in, first out: operations of a die begin in the order in which the FTL emitted them.
//!
//! ```text
//! next = the operation emitted next; if it is not ready, the die waits
//! ```

use super::{Class, DieView};

/// See the module.
pub(super) fn pick(view: &DieView) -> Option<Class> {
    super::out_of_order::pick(view).filter(|&class| view.ready[class as usize] == view.begun)
}
