//! Goal: after a power loss at any time, an FTL rebuilt from spare areas has every acknowledged page and continues to
//! work. Method: random requests to small drives that lose power after a number of operations; the last operation may
//! be half done. Every page is then compared with its allowed contents, and the drive continues under the NAND rules
//! until the next power loss.

mod drives;
mod failing;

use proptest::prelude::*;
use ssdlab_conformance::power::{Faults, Flash, Happened, Last, Look, Mistake, World, requests};
use ssdlab_core::{Ppn, Rng};
use ssdlab_nand::{Found, Scan};

/// Lets power fail at each operation of the requests, and then at each operation of the recovery.
fn exhaust(number: usize, seed: u64, faults: Option<Faults>) -> Result<Happened, String> {
    let (ftl, shape) = drives::drive(seed, number);
    // With program units of several pages, the same number of operations needs more requests.
    let requests = requests(shape, seed, if shape.program_unit > 1 { 60 } else { 40 });
    let live = |cuts: Vec<(u64, Last)>| {
        let mut world = World { ftl, shape, seed, cuts, faults: None };
        if let Some(faults) = faults {
            world = world.with_faults(faults);
        }
        world.live(&requests, Look::RIGHT).map_err(|error| format!("{error}\nin {world:?}"))
    };
    let mut all = Happened { operations: live(Vec::new())?.operations, ..Happened::default() };
    for cut in 1..=all.operations {
        for last in [Last::Undone, Last::Torn] {
            let happened = live(vec![(cut, last)])?;
            all.recovering += happened.recovering;
            all.failures += happened.failures;
            for second in 1..=happened.recovering {
                for last_again in [Last::Undone, Last::Torn] {
                    let cuts = vec![(cut, last), (second, last_again)];
                    all.lost_in_recovery += live(cuts)?.lost_in_recovery;
                }
            }
        }
    }
    Ok(all)
}

/// Returns a random drive of an FTL or map, with random power losses.
fn random_world(seed: u64, number: usize) -> World {
    let (ftl, shape) = drives::drive(seed, number);
    let mut rng = Rng::named(seed, "cuts");
    let cuts = (0..rng.below(8)).map(|_| {
        let most = if rng.below(2) == 0 { 8 } else { 200 };
        (1 + rng.below(most), [Last::Undone, Last::Torn][rng.below(2) as usize])
    });
    World { ftl, shape, seed, cuts: cuts.collect(), faults: None }
}

fn lives(world: &World, look: Look) -> Result<Happened, String> {
    world.live(&requests(world.shape, world.seed, 300), look).map_err(|error| format!("{error}\nin {world:?}"))
}

/// Returns the names of the FTLs and maps for which random drives detect that recovery has the wrong view `look`.
fn found_out(look: Look) -> Vec<&'static str> {
    let fails = |number| (0..200).any(|seed| lives(&random_world(seed, number), look).is_err());
    drives::names().enumerate().filter(|&(number, _)| fails(number)).map(|(_, name)| name).collect()
}

const ALL: [&str; 7] = ["ram", "segments", "dftl", "bast", "fast", "faster", "sbfast"];

/// A recovery that ignores versions confuses older and newer copies if an FTL copies outdated pages, as SBFAST does.
#[test]
fn ignoring_versions_is_detected() {
    let by_sequence: fn(&Flash, Ppn) -> Found = |flash, ppn| match flash.page(ppn) {
        Found::Programmed { oob, .. } => Found::Programmed { oob, version: oob.sequence, outdated: false },
        other => other,
    };
    assert!(found_out(Look { page: by_sequence, ..Look::RIGHT }).contains(&"sbfast"));
}

#[test]
fn ignoring_sequences_is_detected() {
    let by_chance: fn(&Flash, Ppn) -> Found = |flash, ppn| match flash.page(ppn) {
        Found::Programmed { oob, .. } => Found::Programmed { oob, version: 1, outdated: false },
        other => other,
    };
    assert_eq!(found_out(Look { page: by_chance, ..Look::RIGHT }), ALL);
}

#[test]
fn ignoring_trims_is_detected() {
    assert_eq!(found_out(Look { trims: |_| Vec::new(), ..Look::RIGHT }), ALL);
}

#[test]
fn losing_the_last_trim_is_detected() {
    assert_eq!(found_out(Look { trims: |all| all[..all.len().saturating_sub(1)].to_vec(), ..Look::RIGHT }), ALL);
}

/// A recovery that considers half-programmed pages and half-erased blocks erased would program them again.
#[test]
fn treating_unreadable_pages_as_erased_is_detected() {
    let blind: fn(&Flash, Ppn) -> Found = |flash, ppn| match flash.page(ppn) {
        Found::Unreadable => Found::Erased,
        other => other,
    };
    assert_eq!(found_out(Look { page: blind, ..Look::RIGHT }), ALL);
}

#[test]
fn mistakes_with_program_units_are_detected() {
    for mistake in [Mistake::FlushWithoutPadding, Mistake::EraseBeforeProgram, Mistake::ReadFromCells] {
        assert_eq!(found_out(Look { mistake, ..Look::RIGHT }), ["ram", "segments", "dftl"], "{mistake:?}");
    }
}

#[test]
fn power_may_fail_at_any_operation_and_again_during_recovery() {
    for (number, name) in drives::names().enumerate() {
        let mut all = Happened::default();
        for seed in 0..3 {
            let happened = exhaust(number, seed, None).unwrap_or_else(|error| panic!("{name}: {error}"));
            all.recovering += happened.recovering;
            all.lost_in_recovery += happened.lost_in_recovery;
        }
        assert!(all.recovering > 100 && all.lost_in_recovery > 100, "{name}: {all:?}");
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(5_000))]

    #[test]
    fn power_fails_again_and_again(seed in any::<u64>(), number in 0..drives::names().count()) {
        let done = lives(&random_world(seed, number), Look::RIGHT);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
