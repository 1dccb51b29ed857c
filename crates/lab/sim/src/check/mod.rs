//! Oracles that check every flash operation and every read.

pub(crate) mod buffer;
pub mod data_checker;
