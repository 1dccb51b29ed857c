//! Measurement: metrics, series, merges, map look-ups, activity and diagnosis of a run.

pub(crate) mod activity;
pub(crate) mod attribution;
pub(crate) mod breakdown;
pub(crate) mod concentration;
pub(crate) mod controller;
pub(crate) mod diagnosis;
pub(crate) mod finding;
pub(crate) mod intervals;
pub(crate) mod latency;
pub(crate) mod lifetime;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod measurement;
pub(crate) mod meter;
pub(crate) mod replayed;
pub(crate) mod requests;
pub(crate) mod series;
pub(crate) mod summary;
