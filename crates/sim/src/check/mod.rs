//! The oracles: shadows of the data that every operation and read is checked against.

pub(crate) mod buffer;
pub mod data_checker;
