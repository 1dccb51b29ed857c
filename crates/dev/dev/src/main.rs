//! `cargo run -p ssdlab-dev -- generate [--check]`: writes the generated pages, or reports which are out of date.
#![allow(clippy::print_stderr, reason = "a command-line tool for developers")]

use ssdlab_dev::pages::{root, stale, write};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p ssdlab-dev -- generate [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["generate"] => match write(&root()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failure(&error.to_string()),
        },
        ["generate", "--check"] => match stale(&root()) {
            Ok(pages) if pages.is_empty() => ExitCode::SUCCESS,
            Ok(pages) => {
                failure(&format!("out of date: {}; run cargo run -p ssdlab-dev -- generate", pages.join(", ")))
            }
            Err(error) => failure(&error.to_string()),
        },
        _ => failure(USAGE),
    }
}

fn failure(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
