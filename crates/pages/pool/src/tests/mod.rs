//! Tests of the whole cache. They are inside the crate to audit shards and to corrupt pages.

mod adaptive;
mod configuration;
mod faults;
mod naive;
mod simulated;
mod storage;
mod threads;
mod twin;
