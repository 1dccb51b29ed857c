//! Tests of the whole cache. They are inside the crate to count what shards hold and to damage what they keep.

mod adaptive;
mod configuration;
mod faults;
mod naive;
mod simulated;
mod storage;
mod threads;
mod twin;
