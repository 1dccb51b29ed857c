//! Goal: following the remedies leads to valid settings. Method: random values for all options; applies the remedy of
//! the first message, which must end that violation, until none is left.

use common::{picks, set, sets};
use proptest::prelude::*;
use proptest::sample::select;
use ssdlab_config::{Config, ConfigError, Layer, Settings, Violation, presets};

mod common;

/// Checks groups of settings on a preset.
fn check(preset: Option<&str>, layers: &[Vec<Layer>], extent: Option<u64>) -> Result<Settings, ConfigError> {
    let preset = preset.map(|name| Layer { origin: "preset".into(), text: name.into() });
    Config::resolve_on(preset, &[], layers)?.settings(extent)
}

/// Returns the settings of a remedy: the part after the last semicolon, such as `lower it to 4KiB` or
/// `raise device.capacity to 8GiB and device.op to 7%`.
fn remedy(Violation { key, message, .. }: &Violation) -> Vec<String> {
    let (_, remedy) = message.rsplit_once("; ").unwrap_or_else(|| panic!("{key}: {message}: no remedy"));
    let (remedy, _) = remedy.split_once(" instead of ").unwrap_or((remedy, ""));
    let setting = |part: &str| {
        let (change, value) = part.split_once(" to ").unwrap_or_else(|| panic!("{key}: {message}: no value"));
        let name = change.split(' ').next_back().unwrap();
        format!("{}={}", if name == "it" { key } else { name }, value.trim_matches('"'))
    };
    remedy.split(" and ").map(setting).collect()
}

/// Returns the key and the message of a violation without numbers and names, which identify the violated rule.
fn rule(Violation { key, message, .. }: &Violation) -> (String, String) {
    let (problem, _) = message.rsplit_once("; ").unwrap_or((message, ""));
    let words =
        problem.split(' ').map(|word| if word.contains(|c: char| c.is_ascii_digit() || c == '"') { "#" } else { word });
    (key.clone(), words.collect::<Vec<_>>().join(" "))
}

/// Follows remedies until the settings are valid; each must end its violation.
fn follow(preset: Option<&str>, first: Vec<Layer>, extent: Option<u64>) {
    let (mut preset, mut layers) = (preset.map(String::from), vec![first]);
    for _ in 0..40 {
        let Err(error) = check(preset.as_deref(), &layers, extent) else { return };
        let violation = &error.0[0];
        assert_eq!(violation.to_string().lines().count(), 1, "{violation}");
        match violation.message.rsplit_once("; use preset ") {
            Some((_, name)) => preset = Some(name.into()),
            None => layers.push(remedy(violation).iter().map(|text| set(text.clone())).collect()),
        }
        if let Err(after) = check(preset.as_deref(), &layers, extent) {
            let again = after.0.iter().find(|other| rule(other) == rule(violation));
            assert!(again.is_none(), "{violation}\nthen: {}\n{}", again.unwrap(), typed(&layers));
        }
    }
    panic!("no end: {}\n{}", check(preset.as_deref(), &layers, extent).unwrap_err(), typed(&layers));
}

fn typed(layers: &[Vec<Layer>]) -> String {
    layers.iter().flatten().map(|layer| layer.text.clone()).collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(75))]

    #[test]
    fn remedies_lead_to_valid_settings(picks in picks(), extent: Option<u64>) {
        follow(None, sets(&picks), extent);
    }

    #[test]
    fn remedies_lead_to_valid_settings_with_a_small_trace(picks in picks(), extent in 1_u64..1 << 32) {
        let mut sets = sets(&picks);
        sets.push(set("host.fit=compact".into()));
        follow(None, sets, Some(extent));
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(2_000))]

    /// Too few blocks: any preset and FTL, with various capacities, over-provisioning and planes.
    #[test]
    fn remedies_for_too_few_blocks_work(
        preset in select(presets().iter().map(|preset| preset.name).collect::<Vec<_>>()),
        capacity in select(&["128KiB", "8MiB", "100MiB", "300MiB", "1500MiB", "60GiB"]),
        space in select(&["op=7%", "op=0%", "op=0.5%", "op=3%", "op=37.5%", "spare=0%", "spare=1%"]),
        more in select(&[
            "seed=1",
            "nand.planes=16",
            "nand.ways=7",
            "device.reserve=extra",
            "ftl=bast",
            "ftl=fast",
            "ftl=faster",
            "ftl.fast.log=9",
            "ftl.sbfast.slb=9",
        ]),
    ) {
        let sets = [format!("device.capacity={capacity}"), format!("device.{space}"), more.to_string()];
        follow(Some(preset), sets.into_iter().map(set).collect(), None);
    }
}
