//! Reads first: host reads overtake all other operations, and other reads overtake programs and erases.
//!
//! ```text
//! next = earliest ready host read, or else the suspended operation,
//!        or else the earliest ready read of collection, or else the earliest ready
//! ```
//! Reading a page takes much less time than a program. If reads for garbage collection precede programs, the data for
//! the next programs of all dies arrive in time. Unlike host reads, these reads never suspend an operation.

use super::{Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// Registry entry of this die scheduler.
pub static INFO: DieSchedulerInfo = DieSchedulerInfo {
    name: "reads_first",
    help: "host reads first, then reads of garbage collection, merges and the map",
    source: "",
    parameters: &[],
    role: DieSchedulerRules { pick, in_order: false, internal_read: Class::InternalRead },
};

fn pick(view: &DieView) -> Option<Class> {
    view.earliest(&[Class::HostRead])
        .or_else(|| view.earliest(&[Class::InternalRead]))
        .or_else(|| view.earliest(&[Class::HostProgram, Class::Internal]))
}
