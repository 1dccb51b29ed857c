//! Comparison with libCacheSim on a real trace.
//!
//! Set `SSDLAB_TRACES` to the directory of the trace; otherwise the tests print a note and are skipped.

use std::path::PathBuf;

use ssdlab_cache::{AccessTrace, Granularity, POLICIES, Trims};
use ssdlab_trace::{ReadOptions, Request, Source, TraceReader};

#[expect(clippy::print_stderr, reason = "a skipped test must report it")]
fn skip(why: &str) -> Option<Vec<Request>> {
    eprintln!("skipped: {why}");
    None
}

/// Returns the requests of libCacheSim's CloudPhysics trace, if available.
pub fn cloud_physics() -> Option<Vec<Request>> {
    let Some(root) = std::env::var_os("SSDLAB_TRACES") else {
        return skip("SSDLAB_TRACES does not name the directory of real traces");
    };
    let path = PathBuf::from(root).join("libcachesim/cloudPhysicsIO.vscsi");
    if !path.exists() {
        return skip(&format!("{} is missing", path.display()));
    }
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let mut requests = Vec::new();
    while reader.fill(&mut requests, 4096).unwrap() > 0 {}
    Some(requests)
}

#[test]
fn misses_match_libcachesim() {
    let Some(requests) = cloud_physics() else { return };
    let trace = AccessTrace::new(&requests, Granularity::Objects, Trims::Ignore).unwrap();
    assert_eq!(trace.accesses().len(), 113_872);
    let mut wrong = Vec::new();
    for row in include_str!("../data/libcachesim.csv").lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let changes = fields[1].split_once('=').map(|(name, value)| (name.to_owned(), value.parse().unwrap()));
        let (capacity, misses): (u64, u64) = (fields[2].parse().unwrap(), fields[3].parse().unwrap());
        let info = POLICIES.get(fields[0]).unwrap();
        let simulated = trace.simulate(info, &Vec::from_iter(changes.clone()), capacity).unwrap().misses;
        if simulated != misses {
            wrong.push(format!("{row}: simulated {simulated}"));
        }
        if let Some(one_pass) = info.role.one_pass.filter(|_| changes.is_none()) {
            assert_eq!(one_pass(&trace, capacity as u32).unwrap().misses()[capacity as usize - 1], misses, "{row}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks the table of policies that differ from libCacheSim in docs/cache.md.
#[test]
fn documented_differences_from_libcachesim_are_current() {
    let Some(requests) = cloud_physics() else { return };
    let trace = AccessTrace::new(&requests, Granularity::Objects, Trims::Ignore).unwrap();
    let page = include_str!("../../../../../docs/cache.md");
    let (_, table) = page.split_once("| in libCacheSim |\n|---|---|---|---|---|---|\n").unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 5);
    let mut wrong = Vec::new();
    for row in rows {
        let name = row[1].trim_matches('`');
        for (capacity, documented) in [(4897, row[3]), (19_590, row[5])] {
            let misses = trace.simulate(POLICIES.get(name).unwrap(), &[], capacity).unwrap().misses;
            if documented.replace(',', "") != misses.to_string() {
                wrong.push(format!("{name} of {capacity}: simulated {misses}, documented {documented}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
