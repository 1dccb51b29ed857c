//! Test tiers: the environment variable `SSDLAB_TESTS` sets the number of cases of property tests.
//!
//! ```text
//! quick   a twentieth of the cases, while editing
//! ci      the number of cases that each test specifies; the default
//! deep    twenty times as many cases with a random seed, overnight
//! ```
//! `quick` and `ci` use a fixed seed, so that failures depend on the change and not on chance. `PROPTEST_CASES` and
//! `PROPTEST_RNG_SEED` take precedence. The Python tests use the same variable (`tests/conftest.py`).

use proptest::test_runner::{Config, RngSeed};

/// Name of the environment variable.
pub const VARIABLE: &str = "SSDLAB_TESTS";

/// Arbitrary fixed seed.
const SEED: u64 = 1;

/// Returns the configuration of a property test with `ci` cases in tier `ci`.
///
/// # Panics
/// If the value of the variable is not a tier.
pub fn cases(ci: u32) -> Config {
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return Config::default();
    }
    let tier = std::env::var(VARIABLE).ok();
    let default = Config::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random if tier.as_deref() != Some("deep") => RngSeed::Fixed(SEED),
        explicit => explicit,
    };
    Config { cases: scaled(ci, tier.as_deref()), rng_seed, ..default }
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
