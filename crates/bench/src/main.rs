//! `cargo run --release -p ssdlab-bench`: every benchmark, as Markdown.
#![allow(clippy::print_stdout, reason = "a development tool that prints its findings")]

use ssdlab_bench::{Scale, flash, machine};

fn main() {
    println!("Machine: {}\n", machine::describe());
    flash::report(if std::env::args().any(|a| a == "small") { Scale::Smoke } else { Scale::Real });
}
