//! Measurement: the figures of a run, its series, merges, map look-ups, busy times of dies and channels.

pub(crate) mod activity;
pub(crate) mod apart;
pub(crate) mod concentration;
mod counts;
pub(crate) mod diagnosis;
pub(crate) mod intervals;
pub(crate) mod lifetime;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod measurement;
pub(crate) mod parts;
pub(crate) mod series;
pub(crate) mod so_far;
pub(crate) mod summary;
pub(crate) mod waits;
