//! Out of order: the earliest emitted among the operations that are ready.
//!
//! ```text
//! next = argmin of number over all ready
//! ```
//! A die never waits while it has something it could do.

use super::{Class, DieView};

/// See the module.
pub(super) fn pick(view: &DieView) -> Option<Class> {
    view.earliest(&[Class::HostRead, Class::HostProgram, Class::Internal])
}
