//! What of a configuration describes the drive.

use crate::config::Config;

/// The sections that describe a drive, and what else does.
const OF_DRIVE: [&str; 6] = ["device", "drive", "ftl", "nand", "seed", "time"];

impl Config {
    /// All that describes the drive, as `key` and the value that `--set` takes.
    pub fn drive_settings(&self) -> Vec<(String, String)> {
        let of_drive = |key: &str| OF_DRIVE.contains(&key.split('.').next().unwrap_or(key));
        let drive = self.entries.iter().filter(|(key, _)| of_drive(key));
        drive.map(|(key, entry)| (key.to_string(), entry.value.as_set())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layer;
    use crate::presets::presets;

    #[test]
    fn the_settings_of_a_drive_describe_it() {
        for preset in presets() {
            let config = Config::resolve(Some(preset.name), &[], &[]).expect("a preset");
            let settings = config.drive_settings();
            let typed =
                |(key, value): &(String, String)| Layer { origin: "--set".into(), text: format!("{key}={value}") };
            let sets: Vec<_> = settings.iter().map(typed).collect();
            let again = Config::resolve(None, &[], &sets).expect("what can be typed");
            assert_eq!(again.drive_settings(), settings, "{}", preset.name);
        }
    }
}
