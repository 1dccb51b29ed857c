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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_runs() {
        flash::report(Scale::Smoke);
        drive::report(Scale::Smoke);
        log_blocks::report(Scale::Smoke);
        maps::report(Scale::Smoke);
        map_advice::report(Scale::Smoke);
        cache::report(Scale::Smoke);
        ingest::report(Scale::Smoke);
        sched::report(Scale::Smoke);
        codec::report(Scale::Smoke);
        pool::report(Scale::Smoke);
        let sets = ["device.capacity=64MiB", "workload.requests=1000"].map(String::from);
        assert!(simulate(&sets).is_ok_and(|(_, programs)| programs >= 700));
        assert!(simulate(&["device.capcity=1GiB".into()]).is_err_and(|error| error.contains("device.capacity")));
    }

    /// The bare loop is only worth racing if it simulates the same thing.
    #[test]
    fn the_bare_loop_has_the_analytic_write_amplification() {
        let (blocks, shift) = (2_002, 6);
        let pages = 2_000 * 64 * 9 / 10;
        let mut device = baseline::Loop::filled(pages, blocks, shift, 1);
        device.overwrite(6 * u64::from(pages));
        let work = device.overwrite(3 * u64::from(pages));
        let amplification = work.programs as f64 / work.host as f64;
        assert!((amplification / 4.8159 - 1.0).abs() < 0.015, "{amplification} against 4.8159");
    }
}
