//! First in, first out: operations of a die begin in the order in which the FTL emitted them.
//!
//! ```text
//! next = the operation that was emitted first; if it is not ready, the die waits
//! ```

use super::{Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// Registry entry of this die scheduler.
pub static INFO: DieSchedulerInfo = DieSchedulerInfo {
    name: "fifo",
    help: "in the order in which operations were issued",
    source: "",
    parameters: &[],
    role: DieSchedulerRules { pick, in_order: true, internal_read: Class::Internal },
};

fn pick(view: &DieView) -> Option<Class> {
    super::out_of_order::pick(view).filter(|&class| view.ready[class as usize] == view.begun)
}
