//! Page mapping.

pub mod options;

pub use options::{Allocation, PageOptions, Survivors, Trigger, VictimChoice};
