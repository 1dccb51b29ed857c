//! Assembles layers into a stack, replays requests through it and measures.

pub mod setup;

pub use setup::{Clock, Fit, FtlChoice, Overwrite, Precondition, Replay, Setup};
