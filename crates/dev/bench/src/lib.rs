//! Benchmarks. The ordinary tests run them at a small size. Rows of simulations end with a hash of the result.
#![allow(clippy::print_stdout, missing_docs, reason = "a development tool that prints its results")]

pub mod baseline;
pub mod cache;
pub mod codec;
pub mod drive;
pub mod flash;
pub mod ingest;
pub mod log_blocks;
pub mod machine;
pub mod map_advice;
pub mod maps;
pub mod pool;
pub mod sched;
pub mod stack;
mod text;

use std::time::Instant;

use ssdlab_config::{Config, ConfigError, Layer, Settings};
use ssdlab_sim::{Control, Monitor, Phase, Setup, Status, Summary};
use ssdlab_trace::{Generator, Workload};

/// Size of a benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Small size, which only tests that the benchmark runs.
    Smoke,
    /// Full size of the benchmark, for measurements.
    Real,
}

impl Scale {
    fn pick<T>(self, smoke: T, real: T) -> T {
        match self {
            Self::Smoke => smoke,
            Self::Real => real,
        }
    }
}

/// Prints the head of a table, given the names of its columns, separated by ` | `.
fn head(columns: &str) {
    println!("| {columns} |\n|{}", "---|".repeat(columns.split(" | ").count()));
}

/// Monitor that records the processor time at which the measured phase starts. Other processes affect processor time
/// less than elapsed time.
struct Clocked {
    began: Option<f64>,
}

impl Monitor for Clocked {
    fn report(&mut self, status: &Status) -> Control {
        // Every report during the warm-up overwrites the start time. The last of these reports comes when the measured
        // phase starts.
        if status.phase == Phase::Warmup {
            self.began = Some(machine::processor_seconds());
        }
        Control::Continue
    }
}

/// Name of the single-chip preset.
const CHIP: &str = "tlc-chip";

/// Returns the settings of a preset with the given changes.
fn settings_of(preset: &str, sets: &[String]) -> Result<Settings, ConfigError> {
    let sets: Vec<_> = sets.iter().map(|set| Layer { origin: "--set".into(), text: set.clone() }).collect();
    Config::resolve(Some(preset), &[], &sets)?.settings(None)
}

/// Runs a workload with a warm-up. Returns the processor seconds of the measured phase, and the summary of the run.
fn clocked(setup: &Setup, workload: &Workload) -> (f64, Summary) {
    let mut source = Generator::new(workload).expect("the workload is valid");
    let mut clocked = Clocked { began: None };
    let outcome = ssdlab_sim::run(setup, &mut source, &mut clocked).expect("the device is valid");
    let seconds = machine::processor_seconds() - clocked.began.expect("the workload has a warm-up");
    (seconds, outcome.summary)
}

/// Simulates the single-chip preset with the given changes; see [`clocked`] for the result.
fn measured(sets: &[String]) -> (f64, Summary) {
    let settings = settings_of(CHIP, sets).expect("the settings are valid");
    clocked(&settings.setup, &settings.workload)
}

/// Simulates the single-chip preset with the given changes; returns the elapsed seconds and the number of flash
/// programs.
pub fn simulate(sets: &[String]) -> Result<(f64, u64), String> {
    let settings = settings_of(CHIP, sets).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut source = Generator::new(&settings.workload).map_err(|error| error.to_string())?;
    let outcome = ssdlab_sim::run(&settings.setup, &mut source, &mut ()).map_err(|error| error.to_string())?;
    Ok((began.elapsed().as_secs_f64(), outcome.summary.flash.0.programmed()))
}
