//! Goal: on flash with failing programs, failing erases and power losses, written pages stay readable. The drive works
//! while it has spare blocks, and wears out only when more blocks fail at once than were reserved. Method: random
//! drives and requests.

use proptest::prelude::*;
use ssdlab_conformance::power::{Faults, Happened, Look, World, requests};
use ssdlab_core::Rng;

use crate::drives;
use crate::{exhaust, random_world};

/// Returns a random drive with faults; some drives reserve too few blocks for the faults.
fn failing_world(seed: u64, number: usize) -> World {
    let mut rng = Rng::named(seed, "faults");
    let faults = Faults { one_in: 5 + rng.below(200), kept: rng.below(4) as u32, spare: rng.below(8) as u32 };
    random_world(seed, number).with_faults(faults)
}

fn lives(seed: u64, number: usize) -> Result<Happened, String> {
    let world = failing_world(seed, number);
    world.live(&requests(world.shape, world.seed, 300), Look::RIGHT).map_err(|error| format!("{error}\nin {world:?}"))
}

/// Combines faults with a power loss at every operation.
#[test]
fn power_may_fail_at_any_operation_of_flash_that_fails_too() {
    for (number, name) in drives::names().enumerate() {
        let faults = Faults { one_in: 25, kept: 2, spare: 6 };
        let mut failures = 0;
        for seed in 0..2 {
            let happened = exhaust(number, seed, Some(faults)).unwrap_or_else(|error| panic!("{name}: {error}"));
            failures += happened.failures;
        }
        assert!(failures > 100, "{name}: {failures}");
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(5_000))]

    #[test]
    fn operations_fail_and_power_fails_again_and_again(seed in any::<u64>(), number in 0..drives::names().count()) {
        let lived = lives(seed, number);
        prop_assert!(lived.is_ok(), "seed {seed}: {}", lived.unwrap_err());
    }
}

/// Checks that the test is meaningful: with each FTL, many drives wear out and many do not.
#[test]
fn drives_wear_out() {
    for (number, name) in drives::names().enumerate() {
        let worn = (0..100).filter(|&seed| lives(seed, number).is_ok_and(|happened| happened.worn_out)).count();
        assert!((20..80).contains(&worn), "{name}: {worn} of 100 drives are worn out");
    }
}

/// Regression test of a drive that wears out because the target of a merge fails. The target holds pages of the current
/// request, which can be read until recovery discards them.
#[test]
fn a_request_that_wears_out_a_drive_is_kept_or_lost() {
    let happened = lives(6_340_810_420_049_339_431, 4).unwrap_or_else(|error| panic!("{error}"));
    assert!(happened.worn_out);
}
