//! Benchmarks, with a smoke size that the ordinary tests run and a result hash beside every figure.
#![allow(clippy::print_stdout, missing_docs, reason = "a development tool that prints its findings")]

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

/// How much to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Enough to see that the benchmark runs.
    Smoke,
    /// Enough to measure.
    Real,
}

/// Notes when measuring began, in processor seconds, which neighbours disturb less.
struct Clocked {
    began: Option<f64>,
}

impl Monitor for Clocked {
    fn report(&mut self, status: &Status) -> Control {
        // The last look before measuring is the end of the warm-up.
        if status.phase == Phase::Warmup {
            self.began = Some(machine::processor_seconds());
        }
        Control::Continue
    }
}

/// One chip with these settings.
fn settings(sets: &[String]) -> Result<Settings, ConfigError> {
    settings_of("tlc-chip", sets)
}

/// A preset with these settings.
fn settings_of(preset: &str, sets: &[String]) -> Result<Settings, ConfigError> {
    let sets: Vec<_> = sets.iter().map(|set| Layer { origin: "--set".into(), text: set.clone() }).collect();
    Config::resolve(Some(preset), &[], &sets)?.settings(None)
}

/// Processor seconds of the measured phase of a workload, which has a warm-up, and the summary.
fn clocked(setup: &Setup, workload: &Workload) -> (f64, Summary) {
    let mut source = Generator::new(workload).expect("the workload is valid");
    let mut clocked = Clocked { began: None };
    let outcome = ssdlab_sim::run(setup, &mut source, &mut clocked).expect("the device is valid");
    let seconds = machine::processor_seconds() - clocked.began.expect("there was a warm-up");
    (seconds, outcome.summary)
}

/// The same of what `sets` configure.
fn measured(sets: &[String]) -> (f64, Summary) {
    let settings = settings(sets).expect("a sound benchmark");
    clocked(&settings.setup, &settings.workload)
}

/// Seconds that the workload configured by `sets` takes when called from Rust, and its flash programs.
pub fn simulate(sets: &[String]) -> Result<(f64, u64), String> {
    let settings = settings(sets).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut source = Generator::new(&settings.workload).map_err(|error| error.to_string())?;
    let outcome = ssdlab_sim::run(&settings.setup, &mut source, &mut ()).map_err(|error| error.to_string())?;
    Ok((began.elapsed().as_secs_f64(), outcome.summary.flash.0.programmed()))
}
