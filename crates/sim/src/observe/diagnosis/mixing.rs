//! Whether write amplification comes of hot data in the blocks of cold data.
//!
//! Pages that are written seldom stay valid; where they share blocks with those that are written often, every victim
//! holds some, and they are copied again and again. Victims are then no emptier than if all pages were written evenly,
//! though most writes fall on few of them. On these alone, with the same spare, victims would be emptier: that bounds
//! what keeping the others apart can gain. Under even writes, first in, first out leaves the share v of a victim valid
//! where v = exp(-a (1 - v)), for a times as many physical pages (Desnoyers 2014), and greedy somewhat less.

use super::amplification::NOTEWORTHY;
use super::{Finding, Subject};
use crate::observe::summary::Summary;
use crate::setup::Setup;
use crate::setup::what_if::WhatIf;

/// Writes are concentrated if they would fall evenly on no more than this share of the pages.
const CONCENTRATED: f64 = 0.5;

/// Hot data mixed with cold; `written_share` of the pages would take writes as concentrated evenly.
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

/// The valid share of victims under even writes, first in, first out, with `alpha` physical pages for each logical one.
fn valid_share(alpha: f64) -> f64 {
    // The lesser solution; the other one is 1.
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
