//! Goal: whenever power fails, an FTL rebuilt from spare areas has every page that was acknowledged, and goes on. Method:
//! random requests to small drives whose power fails after so many operations, the last of which may be half done; then
//! every page is compared with what it may be, and the drive goes on under the chip's rules, until power fails again.

mod drives;
mod flash;
mod world;

use flash::Last;
use proptest::prelude::*;
use ssdlab_core::Rng;
use world::{Happened, Look, World, requests};

/// Every FTL and map, power failing after each operation, and then after each of recovery.
fn exhaust(number: usize, seed: u64, look: Look) -> Result<Happened, String> {
    let (ftl, shape) = drives::drive(seed, number);
    let requests = requests(shape, seed, 80);
    let live = |cuts: Vec<(u64, Last)>| {
        let world = World { ftl, shape, seed, cuts };
        world.live(&requests, look).map_err(|error| format!("{error}\nin {world:?}"))
    };
    let mut all = Happened { operations: live(Vec::new())?.operations, ..Happened::default() };
    for cut in 1..=all.operations {
        for last in [Last::Undone, Last::Torn] {
            let happened = live(vec![(cut, last)])?;
            all.recovering += happened.recovering;
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

#[test]
fn power_may_fail_at_any_operation_and_again_in_recovery() {
    for (number, name) in drives::names().enumerate() {
        let mut all = Happened::default();
        for seed in 0..6 {
            let happened = exhaust(number, seed, Look::RIGHT).unwrap_or_else(|error| panic!("{name}: {error}"));
            all.recovering += happened.recovering;
            all.lost_in_recovery += happened.lost_in_recovery;
        }
        assert!(all.recovering > 100 && all.lost_in_recovery > 100, "{name}: {all:?}");
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(10_000))]

    #[test]
    fn power_fails_again_and_again(seed in any::<u64>(), number in 0..drives::names().count()) {
        let (ftl, shape) = drives::drive(seed, number);
        let mut rng = Rng::named(seed, "cuts");
        let cuts = (0..rng.below(8)).map(|_| {
            let most = if rng.below(2) == 0 { 8 } else { 200 };
            (1 + rng.below(most), if rng.below(2) == 0 { Last::Undone } else { Last::Torn })
        });
        let cuts = cuts.collect();
        let world = World { ftl, shape, seed, cuts };
        let done = world.live(&requests(shape, seed, 300), Look::RIGHT);
        prop_assert!(done.is_ok(), "{} in {world:?}", done.unwrap_err());
    }
}
