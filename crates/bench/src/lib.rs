//! Benchmarks, with a smoke size that the ordinary tests run and a result hash beside every figure.
#![allow(clippy::print_stdout, missing_docs, reason = "a development tool that prints its findings")]

pub mod baseline;
pub mod flash;
pub mod machine;

/// How much to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Enough to see that the benchmark runs.
    Smoke,
    /// Enough to measure.
    Real,
}
