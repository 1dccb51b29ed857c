//! Settings of a configuration that describe the drive, and changes to these settings.

use ssdlab_ftl::FtlChoice;

use crate::config::Config;
use crate::document::Layer;
use crate::error::ConfigError;
use crate::value::{LogSpace, Value};

/// Sections and options that describe the drive.
const DRIVE: [&str; 6] = ["device", "drive", "ftl", "nand", "seed", "time"];

impl Config {
    /// Returns the settings that describe the drive, as keys and values for `--set`.
    pub fn drive_settings(&self) -> Vec<(String, String)> {
        let is_drive = |key: &str| DRIVE.contains(&key.split('.').next().unwrap_or(key));
        let drive = self.entries.iter().filter(|(key, _)| is_drive(key));
        drive.map(|(key, entry)| (key.to_string(), entry.value.as_set())).collect()
    }

    /// If the log uses all spare blocks, returns the setting that halves the number of log blocks, so that the other
    /// half can replace failed blocks. Returns `None` for other drives; fails if the drive is invalid.
    pub fn spared(&self) -> Result<Option<(&'static str, String)>, ConfigError> {
        let all = Value::LogSpace(LogSpace::All);
        let Some((key, _)) = self.entries.iter().find(|(_, entry)| entry.value == all) else { return Ok(None) };
        let FtlChoice::Log(_, blocks) = self.settings(None)?.setup.ftl else { return Ok(None) };
        Ok(Some((key, blocks.div_ceil(2).to_string())))
    }

    /// Returns the configuration with one setting changed; fails like [`Self::resolve`].
    pub fn with(&self, key: &str, value: &str) -> Result<Self, ConfigError> {
        let all = Layer { origin: "configuration".into(), text: self.to_toml() };
        let set = Layer { origin: "change".into(), text: format!("{key}={value}") };
        Self::resolve(None, &[all], &[set])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::presets;
    use ssdlab_ftl::choice::{LOG_FTLS, MAPS};

    #[test]
    fn the_settings_of_a_drive_describe_it() {
        for preset in presets() {
            let config = Config::resolve(Some(preset.name), &[], &[]).expect("a preset");
            let settings = config.drive_settings();
            let typed =
                |(key, value): &(String, String)| Layer { origin: "--set".into(), text: format!("{key}={value}") };
            let sets: Vec<_> = settings.iter().map(typed).collect();
            let again = Config::resolve(None, &[], &sets).expect("settings in the form of --set");
            assert_eq!(again.drive_settings(), settings, "{}", preset.name);
        }
    }

    /// Goal: the lines in drive files that describe settings use the names and values of the configuration. Method:
    /// checks every FTL and map. Keys with brackets are counts derived from settings.
    #[test]
    fn drive_files_use_the_names_of_settings() {
        let set = |text: String| Layer { origin: "--set".into(), text };
        let ftls = LOG_FTLS.iter().map(|info| format!("ftl={}", info.name));
        for ftl in ftls.chain(MAPS.iter().map(|info| format!("ftl.page.map={}", info.name))) {
            let config = Config::resolve(Some("tlc-nvme"), &[], &[set(ftl.clone()), set("device.spare=20%".into())])
                .expect("a drive");
            let (settings, setup) = (config.drive_settings(), config.settings(None).expect("a drive").setup);
            for (key, value) in setup.lines() {
                let was_set = settings.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str());
                // In the line of a collection trigger, the trigger's name is followed by its parameters, which are not
                // compared.
                let value = value.split(',').next();
                assert!(key.ends_with(')') || was_set == value, "{ftl}: {key} = {value:?}, not {was_set:?}");
            }
        }
    }

    #[test]
    fn sparing_halves_the_log_and_changes_nothing_else() {
        let set = |text: &str| Layer { origin: "--set".into(), text: text.into() };
        let config =
            Config::resolve(Some("small-tlc"), &[], &[set("ftl=fast"), set("device.spare=20%")]).expect("a drive");
        let (key, half) = config.spared().expect("a drive").expect("its log is all");
        let spared = config.with(key, &half).expect("half a log");
        let differ: Vec<_> =
            spared.leaves().into_iter().zip(config.leaves()).filter(|(a, b)| a.value != b.value).collect();
        assert_eq!(differ.len(), 1, "{differ:?}");
        assert_eq!(differ[0].0.key, "ftl.fast.log");
        assert_eq!(spared.spared().expect("a drive"), None);
    }
}
