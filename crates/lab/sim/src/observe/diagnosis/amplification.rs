//! Finds causes of write amplification, and uneven wear of blocks.

use ssdlab_nand::Cause;

use crate::observe::finding::{Finding, Subject};
use crate::observe::summary::Summary;
use crate::setup::Setup;
use crate::setup::what_if::WhatIf;

/// Smallest share of program operations or of pages that is reported as a finding.
pub(super) const NOTEWORTHY: f64 = 0.1;

/// Minimum ratio of the most worn block's erases to the mean number of erases at which wear counts as uneven.
const UNEVEN_WEAR: f64 = 2.0;
/// Mean number of erases per block below which uneven wear may be due to chance.
const ENOUGH_ERASES: f64 = 10.0;

/// Returns the findings on pages programmed for internal work, on over-provisioning that collection cannot use, on
/// partial pages, and on uneven wear.
pub(super) fn findings(setup: &Setup, summary: &Summary) -> Vec<Finding> {
    let mut findings = Vec::new();
    let counts = &summary.flash.0;
    let programmed = counts.programmed();
    let share = |causes: &[Cause]| {
        let of: u64 = causes.iter().map(|&cause| counts.programs[cause as usize]).sum();
        of as f64 / programmed.max(1) as f64
    };
    // Without host writes there is no write amplification.
    let noteworthy = |share: f64| share >= NOTEWORTHY && summary.write_amplification.is_some();
    let about = Subject::WriteAmplification;

    let collected = share(&[Cause::Gc]);
    let effective_op = summary.collection.and_then(|collection| collection.effective_op);
    let valid = summary.collection.and_then(|collection| collection.valid_share(setup.geometry.pages_per_block));
    if noteworthy(collected) && summary.log.is_none() {
        findings.push(
            Finding::new(about, "collection", collected)
                .with_any("valid_share_of_victims", valid)
                .with_any("effective_op", effective_op)
                .with_any("write_amplification", summary.write_amplification)
                .tried_by(&[WhatIf::Spare, WhatIf::Placement]),
        );
    }
    let merged = share(&[Cause::SwitchMerge, Cause::PartialMerge, Cause::FullMerge]);
    if let Some(log) = summary.log.as_ref().filter(|_| noteworthy(merged)) {
        findings.push(
            Finding::new(about, "merges", merged)
                .with("full", log.merges.full.count as f64)
                .with("partial", log.merges.partial.count as f64)
                .with("switch", log.merges.switch.count as f64)
                .with_any("associativity", log.associativity_mean)
                .with_any("write_amplification", summary.write_amplification)
                .tried_by(&[WhatIf::Spare]),
        );
    }
    let within_log = share(&[Cause::SecondChance, Cause::Isolation]);
    if noteworthy(within_log) {
        findings.push(
            Finding::new(about, "log_copies", within_log)
                .with("second_chance", counts.programs[Cause::SecondChance as usize] as f64)
                .with("isolation", counts.programs[Cause::Isolation as usize] as f64)
                .with_any("write_amplification", summary.write_amplification)
                .tried_by(&[WhatIf::Spare]),
        );
    }
    let map = share(&[Cause::MapWriteBack, Cause::MapUpdate, Cause::MapGc]);
    if noteworthy(map) {
        findings.push(
            Finding::new(about, "map", map)
                .with_any("hit_ratio", summary.map.and_then(|map| map.all.hit_ratio))
                .with_any("write_amplification", summary.write_amplification)
                .tried_by(&[WhatIf::Map]),
        );
    }
    let partial = summary.host.partial_pages_written as f64 / summary.host.pages_written.max(1) as f64;
    if noteworthy(partial) {
        findings.push(
            Finding::new(about, "partial_pages", partial)
                .with("pages", summary.host.partial_pages_written as f64)
                .with("read_first", counts.reads[Cause::ReadModifyWrite as usize] as f64)
                .with("page_bytes", f64::from(setup.geometry.page_bytes)),
        );
    }
    let op = summary.device.op_over_logical;
    if let Some(effective_op) = effective_op.filter(|&effective| effective < 0.5 * op && noteworthy(collected)) {
        findings.push(
            Finding::new(about, "spare_held_back", 1.0 - effective_op / op)
                .with("op_over_logical", op)
                .with("effective_op", effective_op)
                .tried_by(&[WhatIf::Spare]),
        );
    }
    let wear = &summary.wear;
    if wear.erase_mean >= ENOUGH_ERASES && f64::from(wear.erase_max) >= UNEVEN_WEAR * wear.erase_mean {
        findings.push(
            Finding::new(Subject::Wear, "uneven_wear", 1.0 - wear.erase_mean / f64::from(wear.erase_max))
                .with("erase_mean", wear.erase_mean)
                .with("erase_max", f64::from(wear.erase_max)),
        );
    }
    findings
}
