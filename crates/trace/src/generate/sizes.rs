//! How large each request is.

use ssdlab_core::Rng;

use super::wrong;
use crate::TraceError;

/// Checks sizes in bytes with their weights.
pub(super) fn check(sizes: &[(u32, f64)]) -> Result<(), TraceError> {
    for &(size, weight) in sizes {
        if size == 0 {
            return wrong("sizes", "0 bytes is no request; remove that size");
        }
        if !(weight.is_finite() && weight >= 0.0) {
            return wrong("sizes", format!("weight {weight} of {size} bytes is not a number from 0 up"));
        }
    }
    if weighted(sizes).next().is_none() {
        return wrong("sizes", "no size has a weight above 0; write at least one, such as 4KiB with weight 1");
    }
    if !sizes.iter().map(|(_, weight)| weight).sum::<f64>().is_finite() {
        return wrong("sizes", "the weights add up to infinity; scale them down");
    }
    Ok(())
}

/// The sizes that are drawn.
pub(super) fn weighted(sizes: &[(u32, f64)]) -> impl Iterator<Item = u32> {
    sizes.iter().filter(|(_, weight)| *weight > 0.0).map(|(size, _)| *size)
}

/// The size in bytes, if there is but one.
pub(super) fn only(sizes: &[(u32, f64)]) -> Option<u32> {
    let first = weighted(sizes).next()?;
    weighted(sizes).all(|size| size == first).then_some(first)
}

/// Sizes with the sum of the weights up to and including each.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    steps: Vec<(f64, u32)>,
    rng: Rng,
}

impl Sizes {
    /// Sizes in bytes with their weights.
    pub fn new(sizes: &[(u32, f64)], rng: Rng) -> Self {
        let mut total = 0.0;
        let weighted = sizes.iter().filter(|(_, weight)| *weight > 0.0);
        let step = |&(size, weight): &(u32, f64)| {
            total += weight;
            (total, size)
        };
        Self { steps: weighted.map(step).collect(), rng }
    }

    /// The largest size, bytes.
    pub fn largest(&self) -> u32 {
        self.steps.iter().map(|(_, size)| *size).max().unwrap_or(0)
    }

    /// The size in bytes, if there is but one.
    pub fn only(&self) -> Option<u32> {
        let (_, first) = self.steps[0];
        self.steps.iter().all(|(_, size)| *size == first).then_some(first)
    }

    /// Size of the next request, bytes.
    pub fn draw(&mut self) -> u32 {
        let (total, last) = self.steps[self.steps.len() - 1];
        if self.steps.len() == 1 {
            return last;
        }
        let point = self.rng.unit() * total;
        self.steps.iter().find(|(until, _)| point < *until).map_or(last, |(_, size)| *size)
    }
}
