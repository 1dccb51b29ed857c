//! How hard property tests try, by one variable: `SSDLAB_TESTS`.
//!
//! ```text
//! quick   a twentieth of the cases, for an edit
//! ci      the cases that each test names, for a change; the default
//! deep    twenty times as many and others each time, for a night
//! ```
//! Cases of `quick` and `ci` are drawn from one seed: a change is judged by what it changes, not by its luck.
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` go before it. The Python tests know the same variable
//! (`tests/conftest.py`).

use proptest::test_runner::{Config, RngSeed};

/// The variable.
pub const VARIABLE: &str = "SSDLAB_TESTS";

/// Any will do; with another, other cases are tried.
const SEED: u64 = 1;

/// The configuration of a property test that tries so many cases in tier `ci`.
///
/// # Panics
/// If the variable names no tier.
pub fn cases(ci: u32) -> Config {
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return Config::default();
    }
    let tier = std::env::var(VARIABLE).ok();
    let default = Config::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random if tier.as_deref() != Some("deep") => RngSeed::Fixed(SEED),
        chosen => chosen,
    };
    Config { cases: scaled(ci, tier.as_deref()), rng_seed, ..default }
}

fn scaled(ci: u32, tier: Option<&str>) -> u32 {
    match tier {
        Some("quick") => (ci / 20).max(1),
        None | Some("" | "ci") => ci,
        Some("deep") => ci * 20,
        Some(other) => panic!("{VARIABLE} is {other:?}; it is quick, ci or deep"),
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
    fn a_tier_that_does_not_exist_is_refused() {
        scaled(1, Some("fast"));
    }
}
