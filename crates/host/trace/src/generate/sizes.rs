//! Draws the sizes of generated requests.

use ssdlab_core::Rng;

use super::check::ensure;
use crate::TraceError;

/// Checks the request sizes (in bytes) and their weights.
pub(super) fn check(sizes: &[(u32, f64)]) -> Result<(), TraceError> {
    for &(size, weight) in sizes {
        ensure!(size > 0, "sizes", "a request must have at least 1 byte; remove the size 0");
        let is_valid = weight.is_finite() && weight >= 0.0;
        ensure!(is_valid, "sizes", "the weight {weight} of size {size} bytes must be at least 0");
    }
    let why = "no size has a weight above 0; set at least one, such as 4KiB with weight 1";
    ensure!(weighted(sizes).next().is_some(), "sizes", "{why}");
    let sum: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    ensure!(sum.is_finite(), "sizes", "the sum of the weights is infinite; use smaller weights");
    Ok(())
}

/// Returns the sizes with a weight above 0.
pub(super) fn weighted(sizes: &[(u32, f64)]) -> impl Iterator<Item = u32> {
    sizes.iter().filter(|(_, weight)| *weight > 0.0).map(|(size, _)| *size)
}

/// Distribution of request sizes in bytes, with cumulative weights.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    steps: Vec<(f64, u32)>,
    rng: Rng,
}

impl Sizes {
    pub fn new(sizes: &[(u32, f64)], rng: Rng) -> Self {
        let mut total = 0.0;
        let weighted = sizes.iter().filter(|(_, weight)| *weight > 0.0);
        let step = |&(size, weight): &(u32, f64)| {
            total += weight;
            (total, size)
        };
        Self { steps: weighted.map(step).collect(), rng }
    }

    /// Returns the request size in bytes if all requests have the same size; otherwise `None`.
    pub fn only(&self) -> Option<u32> {
        let (_, first) = self.steps[0];
        self.steps.iter().all(|(_, size)| *size == first).then_some(first)
    }

    pub fn draw(&mut self) -> u32 {
        let (total, last) = self.steps[self.steps.len() - 1];
        if self.steps.len() == 1 {
            return last;
        }
        let point = self.rng.unit() * total;
        self.steps.iter().find(|(until, _)| point < *until).map_or(last, |(_, size)| *size)
    }
}
