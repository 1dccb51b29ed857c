//! Diagnosis of a run: a ranked list of findings, each with its share and evidence.
//!
//! Limits of throughput come first, then parts of slow reads and writes, then all other findings by share. Report pages
//! add the words.

mod amplification;
mod cached;
mod inputs;
mod mixing;
mod slow;
mod throughput;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::Outcome;
use crate::setup::Setup;
use crate::setup::what_if::WhatIf;

/// Subject of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Causes that limit the throughput.
    Throughput,
    /// Waits of the requests of a host with a cache.
    Host,
    /// Parts of slow reads.
    SlowReads,
    /// Parts of slow writes.
    SlowWrites,
    /// Parts of slow reads below a cache.
    SlowReadsBelow,
    /// Parts of slow writes below a cache.
    SlowWritesBelow,
    /// Causes of write amplification.
    WriteAmplification,
    /// Wear of blocks.
    Wear,
    /// Inputs that make results misleading.
    Input,
}

/// A finding.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// Subject.
    pub about: Subject,
    /// Name.
    pub name: &'static str,
    /// Share of the time or work that the finding explains, 0 to 1.
    pub share: f64,
    /// Figures by name.
    pub evidence: BTreeMap<&'static str, f64>,
    /// Changes that would confirm the finding.
    pub what_ifs: Vec<WhatIf>,
}

impl Finding {
    fn new(about: Subject, name: &'static str, share: f64) -> Self {
        Self { about, name, share: share.clamp(0.0, 1.0), evidence: BTreeMap::new(), what_ifs: Vec::new() }
    }

    fn with(mut self, name: &'static str, value: f64) -> Self {
        self.evidence.insert(name, value);
        self
    }

    fn with_any(self, name: &'static str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn tried_by(mut self, what_ifs: &[WhatIf]) -> Self {
        self.what_ifs = what_ifs.to_vec();
        self
    }
}

/// Returns the findings of a run, the weightiest first.
pub(crate) fn diagnose(setup: &Setup, outcome: &Outcome) -> Vec<Finding> {
    let summary = &outcome.summary;
    let mut findings = Vec::new();
    findings.extend(throughput::limits(setup, outcome));
    findings.extend(cached::host(summary));
    findings.extend(slow::requests(setup, summary));
    let first = findings.len();
    findings.extend(amplification::findings(setup, summary));
    // In a short run, victims reflect writes before the run.
    if inputs::too_short(outcome).is_none() {
        findings.extend(mixing::hot_with_cold(setup, summary, outcome.written_share));
    }
    findings.extend(inputs::findings(setup, outcome));
    // Findings with equal shares stay in the order of the subjects.
    findings[first..].sort_by(|a, b| b.share.total_cmp(&a.share));
    for finding in &mut findings {
        finding.what_ifs.retain(|what_if| what_if.applied_to(setup).is_some());
    }
    findings
}
