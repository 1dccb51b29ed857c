//! Every preset is valid, and has a source for each number.

use ssdlab_config::{Config, Fallback, OPTIONS, presets};
use ssdlab_sim::Clock;

#[test]
fn the_default_settings_are_valid() {
    let config = Config::resolve(None, &[], &[]).unwrap();
    let settings = config.settings(None).unwrap();
    assert_eq!(settings.setup.capacity_bytes(), 4 << 30);
    // 1 TB in 768 word lines is 4 GiB in 3.3. 3 word lines of 768 units: 1,048,576 units x 1.0993 / 2,304 = 500.3.
    assert_eq!((settings.setup.geometry.pages_per_block, settings.setup.geometry.blocks), (2_304, 501));
}

#[test]
fn every_preset_is_valid() {
    for preset in presets() {
        let config = Config::resolve(Some(preset.name), &[], &[]).unwrap_or_else(|error| panic!("{error}"));
        let settings = config.settings(None).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        let setup = settings.setup;
        let blocks = setup.logical_pages.div_ceil(setup.geometry.pages_per_block) + setup.reserve_blocks();
        assert!(setup.geometry.blocks > blocks, "{}", preset.name);
    }
}

/// Presets with several planes use the event clock.
#[test]
fn parallel_presets_run_in_time() {
    let serial = ["sbfast", "faster", "mapcache", "dftl", "tlc-chip"];
    for preset in presets() {
        let setup = Config::resolve(Some(preset.name), &[], &[]).unwrap().settings(None).unwrap().setup;
        let planes = setup.geometry.parallelism.planes();
        assert_eq!(planes == 1, serial.contains(&preset.name), "{}", preset.name);
        assert_eq!(planes > 1, matches!(setup.clock, Clock::Event(..)), "{}", preset.name);
    }
}

#[test]
fn every_figure_of_a_preset_has_a_source() {
    for preset in presets() {
        let sourced: Vec<String> = preset.sources().into_iter().map(|(key, _)| key).collect();
        let config = Config::resolve(Some(preset.name), &[], &[]).unwrap();
        let own = format!("preset {}", preset.name);
        let leaves = config.leaves();
        // Unless it is set, the nominal capacity of a scale model is the capacity of the preset.
        let nominal = "device.scale.blocks.capacity";
        let derived = |key: &str| key == nominal && !sourced.iter().any(|key| key == nominal);
        let own = leaves.iter().filter(|leaf| leaf.origin == own && !derived(leaf.key));
        let own: Vec<&str> = own.map(|leaf| leaf.key).collect();
        // A variant that is only implied by its parameters needs no source.
        let implied = |key: &str| own.iter().any(|other| other.starts_with(&format!("{key}.")));
        let set: Vec<&str> = own.iter().copied().filter(|key| !implied(key)).collect();
        assert_eq!(set, sourced_in_order(&sourced), "{}: what is set and what has a source", preset.name);
        let every_preset_says = OPTIONS.iter().filter(|option| option.fallback == Fallback::Preset);
        for key in every_preset_says.map(|option| option.key) {
            let said = leaves.iter().any(|leaf| leaf.key == key && leaf.origin.starts_with("preset "));
            assert!(said, "{}: {key} is in no preset that it builds on", preset.name);
        }
        assert!(!preset.title().is_empty());
    }
}

fn sourced_in_order(keys: &[String]) -> Vec<&str> {
    let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
