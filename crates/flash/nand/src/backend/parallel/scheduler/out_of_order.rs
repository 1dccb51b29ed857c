//! Out of order: the earliest emitted among the operations that are ready.
//!
//! ```text
//! next = argmin of number over all ready
//! ```
//! A die never idles while an operation is ready.

use super::{Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// The registration.
pub static INFO: DieSchedulerInfo = DieSchedulerInfo {
    name: "out_of_order",
    help: "in the order in which they become ready",
    source: "",
    parameters: &[],
    role: DieSchedulerRules { pick, in_order: false },
};

pub(super) fn pick(view: &DieView) -> Option<Class> {
    view.earliest(&[Class::HostRead, Class::HostProgram, Class::Internal])
}
