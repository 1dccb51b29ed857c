//! Out of order: begins the ready operation that was emitted first.
//!
//! ```text
//! next = argmin of number over all ready
//! ```
//! A die never idles while an operation is ready.

use super::{Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// Registry entry of this die scheduler.
pub static INFO: DieSchedulerInfo = DieSchedulerInfo {
    name: "out_of_order",
    help: "the earliest issued of the ready operations",
    source: "",
    parameters: &[],
    role: DieSchedulerRules { pick, in_order: false, internal_read: Class::Internal },
};

pub(super) fn pick(view: &DieView) -> Option<Class> {
    view.earliest(&[Class::HostRead, Class::HostProgram, Class::Internal])
}
