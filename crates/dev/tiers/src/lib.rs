//! Test tiers: the environment variable `SSDLAB_TESTS` sets the number of cases of property tests.
//!
//! ```text
//! quick   a twentieth of the cases, while editing
//! ci      the number of cases that each test specifies; the default
//! deep    twenty times as many cases with a random seed, overnight
//! ```
//! Cases of `quick` and `ci` are drawn from a fixed seed, so that the same cases are tried every time. No file of
//! earlier failures adds further cases. `deep` draws a seed for each test; a failing test shows how to replay it.
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` override the tier. The Python tests use the same variable
//! (`tests/conftest.py`).

#![allow(clippy::print_stdout, reason = "prints how to replay a failing test")]

use std::hash::{BuildHasher, RandomState};

use proptest::test_runner::{Config, RngSeed};

/// Name of the environment variable that selects the test tier.
pub const VARIABLE: &str = "SSDLAB_TESTS";

/// Seed of the random test cases in the tiers `quick` and `ci`; arbitrary but fixed.
const SEED: u64 = 1;

/// Returns the configuration of a property test that runs `ci` cases in tier `ci`, fewer in tier `quick` and more in
/// tier `deep`.
///
/// # Panics
/// Panics if `SSDLAB_TESTS` is set to an unknown tier.
pub fn cases(ci: u32) -> Config {
    let tier = std::env::var(VARIABLE).ok();
    // Proptest's default configuration reads `PROPTEST_CASES` and `PROPTEST_RNG_SEED`.
    let default = Config::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default.cases,
        None => scaled(ci, tier.as_deref()),
    };
    let rng_seed = match default.rng_seed {
        RngSeed::Random if is_deep() => RngSeed::Fixed(fresh_seed()),
        RngSeed::Random => RngSeed::Fixed(SEED),
        explicit => explicit,
    };
    if is_deep()
        && let RngSeed::Fixed(seed) = rng_seed
    {
        // The test harness shows this output only if the test fails.
        println!("replay with PROPTEST_CASES={cases} PROPTEST_RNG_SEED={seed}");
    }
    // Failing cases are not stored in a file, because the file would change the cases of the next run.
    Config { cases, rng_seed, failure_persistence: None, ..default }
}

/// True in tier `deep`.
pub fn is_deep() -> bool {
    std::env::var(VARIABLE).is_ok_and(|tier| tier == "deep")
}

/// Returns a seed that differs from run to run.
fn fresh_seed() -> u64 {
    BuildHasher::hash_one(&RandomState::new(), SEED)
}

fn scaled(ci: u32, tier: Option<&str>) -> u32 {
    match tier {
        Some("quick") => (ci / 20).max(1),
        None | Some("" | "ci") => ci,
        Some("deep") => ci * 20,
        Some(other) => panic!("invalid {VARIABLE} {other:?}; must be quick, ci or deep"),
    }
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn tiers_scale_the_cases() {
        assert_eq!(["quick", "ci", "deep"].map(|tier| scaled(100, Some(tier))), [5, 100, 2_000]);
        assert_eq!((scaled(100, None), scaled(3, Some("quick"))), (100, 1));
    }

    #[test]
    #[should_panic(expected = "quick, ci or deep")]
    fn unknown_tiers_are_rejected() {
        scaled(1, Some("fast"));
    }
}
