//! `ssdlab-bench [SECTION...]` prints all or selected benchmarks as Markdown. `ssdlab-bench simulate KEY=VALUE...` runs
//! one simulation and prints "seconds programs", for comparison with the same call from Python.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a development tool that prints its results")]

use std::process::ExitCode;

use ssdlab_bench::{
    Scale, cache, codec, drive, flash, ingest, log_blocks, machine, map_advice, maps, pool, sched, simulate, stack,
};

/// Name of a section and the function that prints it.
type Section = (&'static str, fn(Scale));

const SECTIONS: [Section; 11] = [
    ("flash", flash::report),
    ("drive", drive::report),
    ("stack", stack::report),
    ("log_blocks", log_blocks::report),
    ("maps", maps::report),
    ("map_advice", map_advice::report),
    ("cache", cache::report),
    ("codec", codec::report),
    ("pool", pool::report),
    ("ingest", ingest::report),
    ("sched", sched::report),
];

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
    let selected = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    if let Some(unknown) = arguments.iter().find(|argument| SECTIONS.iter().all(|(name, _)| name != argument)) {
        let known: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
        eprintln!("unknown section {unknown:?}; sections are {}", known.join(", "));
        return ExitCode::from(2);
    }
    println!("Machine: {}\n", machine::describe());
    for (name, report) in SECTIONS {
        if selected(name) {
            report(Scale::Real);
            println!();
        }
    }
    ExitCode::SUCCESS
}
