//! Goal: the tests of an FTL find every kind of bug, and show it with few operations. Method: plants bugs in the FTL of
//! `ssdlab new ftl`.

mod ftl;
mod others;

use ftl::{Bug, with};
use ssdlab_conformance::drive::Part;
use ssdlab_conformance::ftl::CHECKS;
use ssdlab_conformance::{Counterexample, Verdict};

/// Returns one counterexample from each check that finds the bug.
fn found(bug: Bug) -> Vec<Counterexample> {
    let part = Part::Ftl(with(bug));
    CHECKS.iter().filter_map(|(_, check)| check(part).err().map(|counterexample| *counterexample)).collect()
}

#[test]
fn an_ftl_without_a_bug_passes() {
    assert_eq!(found(Bug::None), []);
}

/// The template cannot recover from a power loss and has no parameters; the checks for these features must be skipped.
#[test]
fn checks_of_missing_features_are_skipped() {
    let part = Part::Ftl(with(Bug::None));
    let skipped = CHECKS.iter().filter(|(_, check)| matches!(check(part), Ok(Verdict::Skipped(_))));
    let names: Vec<&str> = skipped.map(|(name, _)| *name).collect();
    assert_eq!(names, ["power_may_fail_at_any_operation", "parameters_work_at_their_limits"]);
}

/// Asserts that the check `check` finds the bug with at most `operations` operations and a message that contains
/// `words`.
fn is_found(bug: Bug, check: &str, words: &str, operations: usize) {
    let all = found(bug);
    let counterexample = all.iter().find(|counterexample| counterexample.check == check);
    let counterexample = counterexample.unwrap_or_else(|| panic!("{check} does not find {bug:?}; found by {all:?}"));
    let shown = counterexample.to_string();
    assert!(shown.contains(words), "{shown}");
    assert!(counterexample.operations.len() <= operations, "{shown}");
    assert!(shown.contains("reproduce: PROPTEST_RNG_SEED=1 PROPTEST_CASES="), "{shown}");
}

#[test]
fn a_lost_update_is_found() {
    is_found(Bug::LostUpdate, "reads_return_the_last_write", "old version", 20);
}

#[test]
fn a_page_that_is_programmed_twice_is_found() {
    is_found(Bug::DoubleProgram, "reads_return_the_last_write", "sequence", 20);
}

#[test]
fn an_erase_of_valid_data_is_found() {
    is_found(Bug::ErasesValidData, "reads_return_the_last_write", "only copy", 20);
}

#[test]
fn a_wrong_trim_is_found() {
    is_found(Bug::WrongTrim, "reads_return_the_last_write", "is lost", 20);
}

#[test]
fn an_off_by_one_error_is_found() {
    is_found(Bug::OffByOne, "reads_return_the_last_write", "only copy", 20);
}

#[test]
fn a_forgotten_copy_is_found() {
    is_found(Bug::ForgottenCopy, "reads_return_the_last_write", "only copy", 20);
}

#[test]
fn the_document_shows_a_counterexample() {
    let document = include_str!("../../../../docs/your-own/conformance.md");
    let found = found(Bug::ForgottenCopy);
    assert!(document.contains(&format!("```\n{}\n```", found[0])), "{}", found[0]);
}

#[test]
fn a_leak_of_blocks_is_found() {
    is_found(Bug::LeakedBlock, "reads_return_the_last_write", "garbage collection keeps a block free", 20);
}

#[test]
fn an_ftl_that_is_not_deterministic_is_found() {
    is_found(Bug::NotDeterministic, "equal_runs_are_equal", "of the second run", 20);
}
