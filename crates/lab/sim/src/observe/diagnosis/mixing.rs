//! Write amplification caused by hot and cold data in the same blocks.
//!
//! Cold pages stay valid. If they share blocks with hot pages, each victim holds some cold pages, which are copied
//! again and again. Victims have as many valid pages as under uniform writes, although most writes go to few pages. If
//! only the hot pages existed, with the same spare space, victims would have fewer valid pages; this bounds the gain
//! from separating hot and cold pages. Let `a` be the number of physical pages per logical page. Under uniform writes
//! and FIFO collection, the share v of valid pages in a victim is the solution of v = exp(-a (1 - v)) below 1
//! (Desnoyers 2014). Under greedy collection, v is somewhat lower.

use super::amplification::NOTEWORTHY;
use crate::observe::finding::{Finding, Subject};
use crate::observe::summary::Summary;
use crate::setup::Setup;
use crate::setup::what_if::WhatIf;

/// Maximum effective number of written pages, as a share of the logical pages, at which writes count as concentrated.
const CONCENTRATED: f64 = 0.5;

/// Returns a finding if hot and cold data share blocks; `written_share` is [`crate::Outcome::written_share`].
pub(super) fn hot_with_cold(setup: &Setup, summary: &Summary, written_share: Option<f64>) -> Option<Finding> {
    let (written, amplification) = (written_share?, summary.write_amplification?);
    let collection = summary.collection?;
    let (spare, valid) = (collection.effective_op?, collection.valid_share(setup.geometry.pages_per_block)?);
    if spare <= 0.0 {
        return None;
    }
    let evenly = valid_share(1.0 + spare);
    let apart = 1.0 / (1.0 - valid_share(1.0 + spare / written));
    let share = 1.0 - apart / amplification;
    (written <= CONCENTRATED && share >= NOTEWORTHY && valid >= evenly).then(|| {
        Finding::new(Subject::WriteAmplification, "hot_with_cold", share)
            .with("written_share", written)
            .with("valid_share_of_victims", valid)
            .with("valid_share_evenly", evenly)
            .with("write_amplification", amplification)
            .with("write_amplification_apart", apart)
            .tried_by(&[WhatIf::Placement])
    })
}

/// Returns the fraction of valid pages in victims under uniform writes and FIFO collection, for `alpha` physical pages
/// per logical page.
fn valid_share(alpha: f64) -> f64 {
    // The equation v = exp(-alpha (1 - v)) has two solutions, one of them 1. The smaller solution is the fraction of
    // valid pages.
    let (mut low, mut high) = (0.0, 1.0 / alpha);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle < (-alpha * (1.0 - middle)).exp() {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
