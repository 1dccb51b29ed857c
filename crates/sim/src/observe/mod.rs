//! What is measured: the figures of a run, its series, merges, map look-ups, who was busy when.

pub(crate) mod activity;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod measurement;
pub(crate) mod series;
pub(crate) mod summary;
