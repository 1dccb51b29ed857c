//! Random configurations with values for all options.

use proptest::prelude::*;
use ssdlab_config::{Kind, Layer, OPTIONS, OptionSpec};

/// Returns a valid value of the option in the form of `--set`.
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
        Kind::Queues if random.is_multiple_of(4) => "none".into(),
        Kind::Queues => {
            let group = |count, arrival| format!("{count}:{arrival}:{}/s:{}%", between(1, 1_000_000), between(0, 100));
            format!("{},{}", group(between(1, 8), "fixed"), group(between(1, 8), "poisson"))
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

/// Returns values for some options: variants first, then parameters of the chosen variants.
pub fn sets(picks: &[Option<u64>]) -> Vec<Layer> {
    let mut sets: Vec<String> = Vec::new();
    for (option, pick) in OPTIONS.iter().zip(picks) {
        let applies = option.conditions().all(|(choice, variant)| sets.contains(&format!("{}={variant}", choice.key)));
        let replaced = option.alternative().is_some_and(|other| sets.iter().any(|set| set.starts_with(other)));
        // Required parameters are always set.
        let pick = if option.key.ends_with(".rate") { pick.or(Some(7)) } else { *pick };
        if let Some(random) = pick.filter(|_| applies && !replaced) {
            sets.push(format!("{}={}", option.key, value(option, random)));
        }
    }
    sets.into_iter().map(set).collect()
}

pub fn set(text: String) -> Layer {
    Layer { origin: "--set".into(), text }
}

/// Generates for each option a random number that selects its value, or `None` if the option is not set.
pub fn picks() -> impl Strategy<Value = Vec<Option<u64>>> {
    prop::collection::vec(prop::option::of(any::<u64>()), OPTIONS.len())
}
