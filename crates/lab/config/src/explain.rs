//! Describes an option in words, for the reference page and `ssdlab config explain`.

use crate::config::Config;
use crate::kind::Kind;
use crate::presets::{OF_DEFAULT_DRIVE, find_preset, presets};
use crate::table::{Entries, Fallback, OptionSpec, SECOND};
use ssdlab_core::units::{write_bytes, write_nanos, write_percent};
use ssdlab_nand::timing::MAX_PAGE_TYPES;

/// Value of an option in a preset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stated {
    /// Name of the preset that sets the value.
    pub preset: &'static str,
    /// Value in TOML syntax.
    pub value: String,
    /// Source of the value: a paper, data sheet or program.
    pub source: String,
}

impl OptionSpec {
    /// Describes the option's default, including its value in the default drive.
    pub fn describe_default(&self) -> String {
        let default = self.describe_fallback();
        let drive = Config::resolve(None, &[], &[]).map_or_else(|_| Vec::new(), |config| config.leaves());
        let of_default =
            drive.into_iter().find(|leaf| leaf.key == self.key && leaf.origin.starts_with(OF_DEFAULT_DRIVE));
        match of_default.map(|leaf| format!("`{}`", leaf.value)).filter(|value| *value != default) {
            Some(value) => format!("{default}; {value} in the default drive"),
            None => default,
        }
    }

    fn describe_fallback(&self) -> String {
        let entry = self.default_entry(&Entries::new()).ok().flatten();
        match (self.fallback, entry.map(|entry| entry.value.to_toml())) {
            (Fallback::Preset, _) => "set by the preset".into(),
            (Fallback::Unless(_, cases), Some(value)) => {
                let cases = cases.chunk_by(|case, next| case.value == next.value).map(|alike| {
                    let conditions: Vec<String> = alike.iter().map(|case| format!("`{}`", case.condition())).collect();
                    format!("`{}` if {}", alike[0].value, conditions.join(" or "))
                });
                format!("`{value}`, but {}", cases.collect::<Vec<_>>().join(", "))
            }
            (Fallback::Derived(derived), _) => derived.rule.into(),
            (_, Some(value)) => format!("`{value}`"),
            (Fallback::InsteadOf(other), None) => format!("none; replaces `{other}`"),
            (_, None) => "none; must be set if this variant is chosen".into(),
        }
    }

    /// Returns the value and its source for each preset that sets the option.
    pub fn stated(&self) -> Vec<Stated> {
        let stated = |preset: &'static str| {
            let leaf =
                Config::resolve(Some(preset), &[], &[]).ok()?.leaves().into_iter().find(|leaf| leaf.key == self.key)?;
            // The source of an inherited value is given in the preset that sets the value.
            let file = find_preset(presets(), leaf.origin.strip_prefix("preset ")?).ok()?;
            let source = file.sources().into_iter().find(|(key, _)| key == self.key).map(|(_, source)| source);
            Some(Stated { preset, value: leaf.value, source: source.unwrap_or_default() })
        };
        presets().iter().filter_map(|preset| stated(preset.name)).collect()
    }
}

impl Kind {
    /// Returns the type and range of the option in words.
    pub fn describe(&self) -> String {
        match *self {
            Self::Stepped(kind, _) => kind.describe(),
            Self::Bytes { min, max } => format!("size, {} to {}", write_bytes(min), write_bytes(max)),
            Self::Nanos { min: 0, max } => format!("duration, up to {} s", max / SECOND),
            Self::Nanos { min, max } => format!("duration, {} to {} s", write_nanos(min), max / SECOND),
            Self::Durations { max } => {
                format!("one duration up to {} s, or up to {MAX_PAGE_TYPES} durations, one per page type", max / SECOND)
            }
            Self::Percent { min, max } => format!("share, {} to {}", write_percent(min), write_percent(max)),
            Self::Count { min, max: 0x7FFF_FFFF_FFFF_FFFF } => format!("whole number from {min}"),
            Self::Count { min, max } => format!("whole number, {min} to {max}"),
            Self::Counts { min, max, most } => format!("up to {most} whole numbers, {min} to {max}"),
            Self::Float { min, max } => format!("number, {min} to {max}"),
            Self::Bool => "`true` or `false`".into(),
            Self::Rate => "rate above 0".into(),
            Self::Bandwidth => "bandwidth, 1MB/s to 1000GB/s, or `\"none\"`".into(),
            Self::Sizes => "size, or a mix of sizes with shares, 512B to 1GiB each".into(),
            Self::Queues => {
                "up to 16 queues, as `count:arrival:rate:reads` with `fixed` or `poisson` arrivals, or `\"none\"`"
                    .into()
            }
            Self::Span => "size from 512B, or `\"device\"`".into(),
            Self::LogSpace => "number of blocks, percentage of the data blocks, or `\"all\"`".into(),
            Self::Choice(_) => "one of the names below".into(),
        }
    }

    /// Returns the units of the option's values; empty for numbers and names.
    pub const fn units(&self) -> &'static str {
        match self {
            Self::Stepped(kind, _) => kind.units(),
            Self::Bytes { .. } | Self::Sizes | Self::Span => "B, KiB, MiB, GiB, TiB (1,024) or kB, MB, GB, TB (1,000)",
            Self::Nanos { .. } | Self::Durations { .. } => "ns, us, ms or s",
            Self::Percent { .. } => "%",
            Self::Rate => "/s, k/s or M/s",
            Self::Queues => "/s, k/s or M/s for rates, % for reads",
            Self::Bandwidth => "kB/s, MB/s, GB/s, KiB/s, MiB/s or GiB/s",
            Self::LogSpace => "% of the data blocks, or a number of blocks without a unit",
            Self::Count { .. } | Self::Counts { .. } | Self::Float { .. } | Self::Bool | Self::Choice(_) => "",
        }
    }
}
