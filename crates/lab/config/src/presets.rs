//! Presets: drives from publications and the market, with the source of every number.

use ssdlab_core::suggest::{list, named, nearest};

/// Name of the default preset.
pub const DEFAULT_PRESET: &str = "small-nvme";

/// Prefix of a value's origin if the value comes from the default drive.
pub(crate) const OF_DEFAULT_DRIVE: &str = "default (preset ";

/// A named configuration that ships with ssdlab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// Name of the preset, as in `preset = "..."`.
    pub name: &'static str,
    /// TOML document of the preset; the first line is the title, comments give the sources.
    pub text: &'static str,
}

static PRESETS: &[Preset] = &[
    Preset { name: "sbfast", text: include_str!("../presets/sbfast.toml") },
    Preset { name: "faster", text: include_str!("../presets/faster.toml") },
    Preset { name: "mapcache", text: include_str!("../presets/mapcache.toml") },
    Preset { name: "dftl", text: include_str!("../presets/dftl.toml") },
    Preset { name: "tlc-chip", text: include_str!("../presets/tlc-chip.toml") },
    Preset { name: "small-nvme", text: include_str!("../presets/small-nvme.toml") },
    Preset { name: "small-tlc", text: include_str!("../presets/small-tlc.toml") },
    Preset { name: "tlc-nvme", text: include_str!("../presets/tlc-nvme.toml") },
    Preset { name: "sata-mlc", text: include_str!("../presets/sata-mlc.toml") },
    Preset { name: "enterprise-nvme", text: include_str!("../presets/enterprise-nvme.toml") },
    Preset { name: "mobile-ufs", text: include_str!("../presets/mobile-ufs.toml") },
    Preset { name: "client-nvme", text: include_str!("../presets/client-nvme.toml") },
    Preset { name: "pe8110-960", text: include_str!("../presets/pe8110-960.toml") },
    Preset { name: "pm9a3-960", text: include_str!("../presets/pm9a3-960.toml") },
    Preset { name: "7450-pro-960", text: include_str!("../presets/7450-pro-960.toml") },
    Preset { name: "7450-max-800", text: include_str!("../presets/7450-max-800.toml") },
    Preset { name: "980-pro-1tb", text: include_str!("../presets/980-pro-1tb.toml") },
    Preset { name: "980-pro-1tb-slc", text: include_str!("../presets/980-pro-1tb-slc.toml") },
    Preset { name: "qlc-client", text: include_str!("../presets/qlc-client.toml") },
];

/// Returns all presets that ship with ssdlab.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

impl Preset {
    /// Returns the preset's title.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }

    /// Returns each key that has a source, together with the source, in the order of the preset's file.
    pub fn sources(&self) -> Vec<(String, String)> {
        let mut sources = Vec::new();
        let mut table = "";
        let mut source: Option<String> = None;
        for line in self.text.lines() {
            if let Some(name) = line.strip_prefix('[') {
                table = name.trim_end_matches(']');
            } else if let Some(start) = line.strip_prefix("# source:") {
                source = Some(start.trim().into());
            } else if let (Some(more), Some(source)) = (line.strip_prefix('#'), &mut source) {
                source.push(' ');
                source.push_str(more.trim());
            } else if let Some((key, _)) = line.split_once(" = ") {
                sources.extend(source.take().map(|source| (format!("{table}.{key}"), source)));
            }
        }
        sources
    }
}

/// Finds a preset by its name.
pub(crate) fn find_preset(presets: &'static [Preset], name: &str) -> Result<&'static Preset, String> {
    let names = || presets.iter().map(|preset| preset.name);
    if let Some(preset) = named(name, names()).and_then(|name| presets.iter().find(|preset| preset.name == name)) {
        return Ok(preset);
    }
    let hint = nearest(name, names()).map_or_else(String::new, |meant| format!("did you mean {meant:?}? "));
    Err(format!("unknown preset {name:?}; {hint}presets are {}", list(names())))
}
