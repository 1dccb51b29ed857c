//! Runs every benchmark at smoke size.

use ssdlab_bench::{
    Scale, baseline, cache, codec, drive, flash, ingest, log_blocks, map_advice, maps, pool, sched, simulate,
};

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

/// The bare loop is a fair baseline only if it simulates the same behaviour.
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
