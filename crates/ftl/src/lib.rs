//! Flash translation layers.

pub mod page;
