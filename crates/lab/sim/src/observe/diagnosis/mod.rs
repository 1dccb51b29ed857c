//! Diagnosis of a run: a ranked list of findings, each with its share and evidence.
//!
//! Limits of throughput come first, then the causes of slow reads and writes, then all other findings in descending
//! order of share. Report pages put the findings into words.

mod amplification;
mod cached;
mod inputs;
mod mixing;
mod slow;
mod throughput;

use crate::observe::finding::Finding;
use crate::run::Outcome;
use crate::setup::Setup;

/// Returns the findings of a run, sorted by importance.
pub(crate) fn diagnose(setup: &Setup, outcome: &Outcome) -> Vec<Finding> {
    let summary = &outcome.summary;
    let mut findings = Vec::new();
    findings.extend(throughput::limits(setup, outcome));
    findings.extend(cached::host(summary));
    findings.extend(slow::requests(setup, summary));
    let first = findings.len();
    findings.extend(amplification::findings(setup, summary));
    // In a short run, victims still reflect writes from before the run.
    if inputs::too_short(outcome).is_none() {
        findings.extend(mixing::hot_with_cold(setup, summary, outcome.written_share));
    }
    findings.extend(inputs::findings(setup, outcome));
    // The sort is stable. So findings that explain equal shares of the time stay in the order in which they were added.
    findings[first..].sort_by(|a, b| b.share.total_cmp(&a.share));
    for finding in &mut findings {
        finding.what_ifs.retain(|what_if| what_if.applied_to(setup).is_some());
    }
    findings
}
