//! The FTLs with log blocks.

pub(super) mod bast;
pub(super) mod fast;
pub(super) mod faster;
pub(super) mod sbfast;
mod shared;

use crate::table::OptionSpec;

pub(super) fn options() -> Vec<OptionSpec> {
    [bast::OPTIONS, fast::OPTIONS, faster::OPTIONS, sbfast::OPTIONS].concat()
}
