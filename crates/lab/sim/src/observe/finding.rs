//! Findings of the diagnosis of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::setup::what_if::WhatIf;

/// Subject of a finding, such as limits of throughput.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Limits of throughput.
    Throughput,
    /// Reasons why host requests wait if the host has a cache.
    Host,
    /// Causes of slow reads.
    SlowReads,
    /// Causes of slow writes.
    SlowWrites,
    /// Causes of slow reads below a cache.
    SlowReadsBelow,
    /// Causes of slow writes below a cache.
    SlowWritesBelow,
    /// Causes of write amplification.
    WriteAmplification,
    /// Uneven wear of blocks.
    Wear,
    /// Inputs that make results misleading.
    Input,
}

/// A finding of the diagnosis.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// Subject of the finding.
    pub about: Subject,
    /// Name of the finding.
    pub name: &'static str,
    /// Share of the time or work that the finding explains, from 0 to 1.
    pub share: f64,
    /// Metrics that support the finding, by name.
    pub evidence: BTreeMap<&'static str, f64>,
    /// Changes to simulate in order to confirm the finding.
    pub what_ifs: Vec<WhatIf>,
}

impl Finding {
    pub(crate) fn new(about: Subject, name: &'static str, share: f64) -> Self {
        Self { about, name, share: share.clamp(0.0, 1.0), evidence: BTreeMap::new(), what_ifs: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: f64) -> Self {
        self.evidence.insert(name, value);
        self
    }

    pub(crate) fn with_any(self, name: &'static str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn tried_by(mut self, what_ifs: &[WhatIf]) -> Self {
        self.what_ifs = what_ifs.to_vec();
        self
    }
}
