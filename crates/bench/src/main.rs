//! `ssdlab-bench`: every benchmark, as Markdown. `ssdlab-bench simulate KEY=VALUE...`: one simulation
//! called from Rust, as "seconds programs", for comparison with the same call from Python.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a development tool that prints its findings")]

use std::process::ExitCode;

use ssdlab_bench::{Scale, codec, drive, flash, ingest, log_blocks, machine, map_advice, maps, pool, simulate};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("simulate", sets)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return match simulate(sets) {
            Ok((seconds, programs)) => {
                println!("{seconds} {programs}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(2)
            }
        };
    }
    println!("Machine: {}\n", machine::describe());

    flash::report(Scale::Real);
    drive::report(Scale::Real);
    log_blocks::report(Scale::Real);
    maps::report(Scale::Real);
    map_advice::report(Scale::Real);
    ingest::report(Scale::Real);
    codec::report(Scale::Real);
    pool::report(Scale::Real);
    ExitCode::SUCCESS
}
