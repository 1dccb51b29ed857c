//! Oracles that check every flash operation and every host read.

pub(crate) mod buffer;
pub mod data_checker;
