//! A configuration written as TOML and read again is the same.

use common::{picks, set, sets};
use proptest::prelude::*;
use ssdlab_config::{Config, Layer};

mod common;

fn values(config: &Config) -> Vec<(&'static str, String)> {
    config.leaves().into_iter().map(|leaf| (leaf.key, leaf.value)).collect()
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(256))]

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

    /// A written configuration gives the same settings or errors, for traces of any size.
    #[test]
    fn written_toml_gives_the_same_settings_or_errors(picks in picks(), fit in prop::sample::select(vec!["error", "compact"]), extent in 1u64..1 << 32) {
        let mut sets = sets(&picks);
        sets.push(set(format!("host.fit={fit}")));
        let config = Config::resolve(None, &[], &sets).unwrap();
        let file = Layer { origin: "again.toml".into(), text: config.to_toml() };
        let again = Config::resolve(None, &[file], &[]).unwrap();
        let settings = |config: &Config| config.settings(Some(extent)).map(|settings| format!("{settings:?}")).ok();
        prop_assert_eq!(settings(&again), settings(&config));
    }

    /// No text causes a panic.
    #[test]
    fn no_text_causes_a_panic(text in "[a-z\\[\\].=\"0-9%{},\n ]{0,60}", set in ".{0,30}".prop_map(set)) {
        let file = Layer { origin: "any.toml".into(), text };
        if let Ok(config) = Config::resolve(None, &[file], &[set]) {
            let _ = config.settings(None);
        }
    }

    /// No values in range cause a panic.
    #[test]
    fn no_values_cause_a_panic(picks in picks(), extent: Option<u64>) {
        let config = Config::resolve(None, &[], &sets(&picks)).unwrap();
        if let Ok(settings) = config.settings(extent) {
            let setup = settings.setup;
            let data = setup.logical_pages.div_ceil(setup.geometry.pages_per_block);
            prop_assert!(setup.geometry.blocks >= data + setup.reserve_blocks());
        }
    }
}

/// A written configuration keeps the requested values, not those fitted to a trace or to other settings.
#[test]
fn written_configurations_keep_the_requested_values() {
    for sets in [
        &["host.fit=compact"][..],
        &["host.fit=compact", "host.repeat=until-steady"],
        &["preset=sata-mlc", "host.fit=compact"],
        &["preset=small-tlc", "ftl=sbfast", "cache.policy=lru", "time=serial"],
        &["preset=small-tlc", "host.fit=compact", "ftl=sbfast", "cache.policy=arc", "time=serial"],
        &["host.fit=compact", "time=event", "block.scheduler=pardispatcher"],
    ] {
        let preset = sets.iter().find_map(|set| set.strip_prefix("preset="));
        let layers: Vec<Layer> =
            sets.iter().filter(|text| !text.starts_with("preset=")).map(|text| set((*text).to_owned())).collect();
        let config = Config::resolve(preset, &[], &layers).unwrap();
        let file = Layer { origin: "again.toml".into(), text: config.to_toml() };
        let again = Config::resolve(None, &[file], &[]).unwrap();
        let settings =
            |config: &Config| config.settings(Some(16 << 20)).map(|settings| format!("{settings:?}")).unwrap();
        assert_eq!(settings(&again), settings(&config), "{sets:?}");
    }
}
