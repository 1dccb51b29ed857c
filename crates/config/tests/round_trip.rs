//! A resolved configuration, written as TOML and read again, is the same configuration.

use proptest::prelude::*;
use ssdlab_config::{Config, Kind, Layer, OPTIONS, OptionSpec};

/// A valid value of the option, as `--set` takes it.
fn value(option: &OptionSpec, random: u64) -> String {
    let between = |min: u64, max: u64| min + random % (max - min + 1).max(1);
    match option.kind {
        Kind::Stepped(&kind, _) => value(&OptionSpec { kind, ..*option }, random),
        Kind::Bytes { min, max } => format!("{}B", between(min, max)),
        Kind::Nanos { min, max } => format!("{}ns", between(min, max)),
        Kind::Durations { max } => {
            let durations: Vec<String> =
                (0..=random % 4).map(|page_type| format!("{}ns", between(0, max - page_type))).collect();
            durations.join(",")
        }
        Kind::Percent { min, max } => {
            format!("{}%", (min + random as f64 / u64::MAX as f64 * (max - min)).clamp(min, max))
        }
        Kind::Count { min, max } => between(min, max).to_string(),
        Kind::Counts { min, max, most } => {
            let counts: Vec<String> = (0..1 + random % most as u64).map(|_| between(min, max).to_string()).collect();
            counts.join(",")
        }
        Kind::Float { min, max } => {
            format!("{:?}", (min + random as f64 / u64::MAX as f64 * (max - min)).clamp(min, max))
        }
        Kind::Bool => (random.is_multiple_of(2)).to_string(),
        Kind::Rate => format!("{}/s", between(1, 1_000_000_000)),
        Kind::Bandwidth if random.is_multiple_of(4) => "none".into(),
        Kind::Bandwidth => format!("{}kB/s", between(1_000, 1_000_000_000)),
        Kind::Sizes => {
            let share = between(1, 99);
            format!("{}B:{share}%,{}KiB:{}%", between(512, 1 << 30), between(1, 1 << 20), 100 - share)
        }
        Kind::Span if random.is_multiple_of(4) => "device".into(),
        Kind::Span => format!("{}B", between(512, u64::MAX - 1)),
        Kind::LogSpace => match random % 3 {
            0 => "all".into(),
            1 => format!("{}%", between(0, 1000)),
            _ => between(1, u64::from(u32::MAX)).to_string(),
        },
        Kind::Choice(variants) => variants[random as usize % variants.len()].name.into(),
    }
}

/// Values for some options. A variant is chosen first, and only its parameters are set.
fn sets(picks: &[Option<u64>]) -> Vec<Layer> {
    let mut sets: Vec<String> = Vec::new();
    for (option, pick) in OPTIONS.iter().zip(picks) {
        let applies = option.conditions().all(|(choice, variant)| sets.contains(&format!("{}={variant}", choice.key)));
        let replaced = option.alternative().is_some_and(|other| sets.iter().any(|set| set.starts_with(other)));
        // What a chosen variant requires is set whatever was picked.
        let pick = if option.key.ends_with(".rate") { pick.or(Some(7)) } else { *pick };
        if let Some(random) = pick.filter(|_| applies && !replaced) {
            sets.push(format!("{}={}", option.key, value(option, random)));
        }
    }
    sets.into_iter().map(set).collect()
}

fn set(text: String) -> Layer {
    Layer { origin: "--set".into(), text }
}

fn values(config: &Config) -> Vec<(&'static str, String)> {
    config.leaves().into_iter().map(|leaf| (leaf.key, leaf.value)).collect()
}

/// For each option of the table, whether to set it and at random to what.
fn picks() -> impl Strategy<Value = Vec<Option<u64>>> {
    prop::collection::vec(prop::option::of(any::<u64>()), OPTIONS.len())
}

proptest! {
    #[test]
    fn toml_reads_back(picks in picks()) {
        let config = Config::resolve(None, &[], &sets(&picks)).unwrap();
        for text in [config.to_toml(), config.to_toml_with_origins()] {
            let file = Layer { origin: "again.toml".into(), text: text.clone() };
            let again = Config::resolve(None, &[file], &[]);
            let again = again.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(values(&again), values(&config));
            prop_assert_eq!(again.to_toml(), config.to_toml());
            prop_assert!(again.leaves().iter().all(|leaf| leaf.origin.starts_with("again.toml:")));
        }
    }

    /// What is written means the same as what was set, however small the trace: settings, or why there are none.
    #[test]
    fn toml_does_the_same(picks in picks(), fit in prop::sample::select(vec!["error", "compact"]), extent in 1u64..1 << 32) {
        let mut sets = sets(&picks);
        sets.push(set(format!("host.fit={fit}")));
        let config = Config::resolve(None, &[], &sets).unwrap();
        let file = Layer { origin: "again.toml".into(), text: config.to_toml() };
        let again = Config::resolve(None, &[file], &[]).unwrap();
        let found = |config: &Config| config.settings(Some(extent)).map(|settings| format!("{settings:?}")).ok();
        prop_assert_eq!(found(&again), found(&config));
    }

    /// Whatever is written, there is an answer and no panic.
    #[test]
    fn any_text_is_answered(text in "[a-z\\[\\].=\"0-9%{},\n ]{0,60}", set in ".{0,30}".prop_map(set)) {
        let file = Layer { origin: "any.toml".into(), text };
        if let Ok(config) = Config::resolve(None, &[file], &[set]) {
            let _ = config.settings(None);
        }
    }

    /// Values in range never panic on the way to settings either.
    #[test]
    fn any_values_are_answered(picks in picks(), extent: Option<u64>) {
        let config = Config::resolve(None, &[], &sets(&picks)).unwrap();
        if let Ok(settings) = config.settings(extent) {
            prop_assert!(settings.device.op_without_reserve >= 0.0);
            prop_assert_eq!(settings.setup.capacity_bytes(), settings.device.capacity_bytes);
        }
    }
}

/// A configuration that was fitted to a small trace, or to what is beside it, is written as what was asked for.
#[test]
fn what_was_fitted_is_fitted_again() {
    for sets in [
        &["host.fit=compact"][..],
        &["host.fit=compact", "host.repeat=until-steady"],
        &["preset=sata-mlc", "host.fit=compact"],
        &["ftl=sbfast", "cache.policy=lru", "time=serial"],
        &["host.fit=compact", "ftl=sbfast", "cache.policy=arc", "time=serial"],
        &["host.fit=compact", "time=event", "block.scheduler=pardispatcher"],
    ] {
        let preset = sets.iter().find_map(|one| one.strip_prefix("preset="));
        let layers: Vec<Layer> =
            sets.iter().filter(|one| !one.starts_with("preset=")).map(|one| set((*one).to_owned())).collect();
        let config = Config::resolve(preset, &[], &layers).unwrap();
        let file = Layer { origin: "again.toml".into(), text: config.to_toml() };
        let again = Config::resolve(None, &[file], &[]).unwrap();
        let found = |config: &Config| config.settings(Some(16 << 20)).map(|settings| format!("{settings:?}")).unwrap();
        assert_eq!(found(&again), found(&config), "{sets:?}");
    }
}
