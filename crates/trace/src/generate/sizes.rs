//! How large each request is.

use ssdlab_core::Rng;

use super::wrong;
use crate::TraceError;

/// Sizes with the sum of the weights up to and including each.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    steps: Vec<(f64, u32)>,
    rng: Rng,
}

impl Sizes {
    /// Checks sizes in bytes with their weights.
    pub fn new(sizes: &[(u32, f64)], rng: Rng) -> Result<Self, TraceError> {
        let mut steps = Vec::with_capacity(sizes.len());
        let mut total = 0.0;
        for &(size, weight) in sizes {
            if size == 0 {
                return wrong("sizes", "0 bytes is no request; remove that size");
            }
            if !(weight.is_finite() && weight >= 0.0) {
                return wrong("sizes", format!("weight {weight} of {size} bytes is not a number from 0 up"));
            }
            if weight > 0.0 {
                total += weight;
                steps.push((total, size));
            }
        }
        match steps.last() {
            Some(_) if total.is_finite() => Ok(Self { steps, rng }),
            Some(_) => wrong("sizes", "the weights add up to infinity; scale them down"),
            None => wrong("sizes", "no size has a weight above 0; write at least one, such as 4KiB with weight 1"),
        }
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
