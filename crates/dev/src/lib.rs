//! Development tools: generated reference pages and the rules of the repository.

pub mod counters;
pub mod layers;
pub mod pages;
