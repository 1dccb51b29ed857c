//! What is the matter with a run: a ranked list of findings, each with its share and its evidence.
//!
//! First what bounds throughput, then what slow reads and writes are made of; behind these the others, by share. Words
//! are those of whoever shows them.

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

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// What bounds throughput.
    Throughput,
    /// What requests of a host with a cache above the drive wait for.
    Host,
    /// What slow reads are made of.
    SlowReads,
    /// What slow writes are made of.
    SlowWrites,
    /// What slow reads below a cache are made of.
    SlowReadsBelow,
    /// What slow writes below a cache are made of.
    SlowWritesBelow,
    /// Why more is programmed than the host wrote.
    WriteAmplification,
    /// How blocks wear.
    Wear,
    /// Whether the run says what it seems to say.
    Input,
}

/// Something that is the matter.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// What it is about.
    pub about: Subject,
    /// What it is.
    pub name: &'static str,
    /// How much of what it is about it explains, 0 to 1.
    pub share: f64,
    /// Figures that show it.
    pub evidence: BTreeMap<&'static str, f64>,
    /// Changes that would tell whether it is so.
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

/// The findings of a run, the weightiest first.
pub(crate) fn diagnose(setup: &Setup, outcome: &Outcome) -> Vec<Finding> {
    let summary = &outcome.summary;
    let mut found = Vec::new();
    found.extend(throughput::limits(setup, outcome));
    found.extend(cached::host(summary));
    found.extend(slow::requests(setup, summary));
    let first = found.len();
    found.extend(amplification::findings(setup, summary));
    // Before that, victims are as earlier writes left them.
    if inputs::too_short(outcome).is_none() {
        found.extend(mixing::hot_with_cold(setup, summary, outcome.written_share));
    }
    found.extend(inputs::findings(setup, outcome));
    // Equal shares stay in the order of the subjects.
    found[first..].sort_by(|a, b| b.share.total_cmp(&a.share));
    for finding in &mut found {
        finding.what_ifs.retain(|what_if| what_if.applied_to(setup).is_some());
    }
    found
}
