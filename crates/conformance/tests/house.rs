//! Goal: every built-in component passes the tests for components of other crates. Method: runs all checks on all
//! registered components.

use std::fmt::Debug;

use ssdlab_cache::{ADMISSIONS, POLICIES};
use ssdlab_conformance::{Check, Verdict, cache_policy, die_scheduler, drive, ftl, io_scheduler, workload};
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_nand::backend::parallel::scheduler::DIE_SCHEDULERS;
use ssdlab_sched::SCHEDULERS;
use ssdlab_trace::PATTERNS;

/// Runs all checks on all components of a kind.
fn pass<C: Copy + Debug>(components: impl Iterator<Item = C>, checks: &[Check<C>]) {
    let mut failed = Vec::new();
    for component in components {
        for (name, check) in checks {
            match check(component) {
                Ok(Verdict::Refused) => {
                    failed.push(format!("{name}: {component:?} rejects its parameters in every test case"))
                }
                Ok(_) => {}
                Err(counterexample) => failed.push(counterexample.to_string()),
            }
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n\n"));
}

#[test]
fn every_ftl() {
    pass(LOG_FTLS.iter().map(|&info| drive::Part::Ftl(info)), ftl::CHECKS);
}

#[test]
fn every_victim_policy() {
    pass(VICTIMS.iter().map(|&info| drive::Part::Victim(info)), ftl::CHECKS);
}

#[test]
fn every_placement_policy() {
    pass(PLACEMENTS.iter().map(|&info| drive::Part::Placement(info)), ftl::CHECKS);
}

#[test]
fn every_map() {
    pass(MAPS.iter().map(|&info| drive::Part::Map(info)), ftl::CHECKS);
}

#[test]
fn every_cache_policy() {
    pass(POLICIES.iter().map(|&info| cache_policy::Part::Policy(info)), cache_policy::CHECKS);
}

#[test]
fn every_admission_policy() {
    pass(ADMISSIONS.iter().map(|&info| cache_policy::Part::Admission(info)), cache_policy::CHECKS);
}

#[test]
fn every_io_scheduler() {
    pass(SCHEDULERS.iter().copied(), io_scheduler::CHECKS);
}

#[test]
fn every_die_scheduler() {
    pass(DIE_SCHEDULERS.iter().copied(), die_scheduler::CHECKS);
}

#[test]
fn every_workload_pattern() {
    pass(PATTERNS.iter().copied(), workload::CHECKS);
}
