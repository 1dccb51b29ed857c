//! Writes a configuration as sorted TOML, which can be read again as the same configuration.

use crate::config::Config;
use crate::table::{Entry, OptionSpec, below};
use crate::value::Value;
use ssdlab_core::suggest::split;
use std::collections::BTreeMap;

impl Config {
    /// Returns the whole configuration as TOML.
    pub fn to_toml(&self) -> String {
        self.render(false)
    }

    /// Returns the whole configuration as TOML. A comment on each line states the origin of the value.
    pub fn to_toml_with_origins(&self) -> String {
        self.render(true)
    }

    fn render(&self, origins: bool) -> String {
        let comment = |entry: &Entry| if origins { format!("  # {}", entry.origin) } else { String::new() };
        let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (&key, entry) in &self.entries {
            if self.has_table(key, entry) {
                continue;
            }
            let (table, name) = split(key);
            let line = format!("{name} = {}{}", entry.value.to_toml(), comment(entry));
            tables.entry(table).or_default().push(line);
        }
        let mut text = String::new();
        for (table, lines) in tables {
            if !table.is_empty() {
                // If the table contains the parameters of a variant, the comment is about the choice of the variant.
                let choice = OptionSpec::of(split(table).0).and_then(|option| self.entries.get(option.key));
                text.push_str(&format!("\n[{table}]{}\n", choice.map_or_else(String::new, comment)));
            }
            lines.iter().for_each(|line| text.extend([line.as_str(), "\n"]));
        }
        text
    }

    /// True if the option needs no line of its own in the rendered configuration, because its variant has a table of
    /// parameters. The header of that table names the variant.
    fn has_table(&self, key: &str, entry: &Entry) -> bool {
        let Value::Choice(variant) = entry.value else { return false };
        self.entries.keys().any(|other| below(key, other).and_then(|rest| below(variant, rest)).is_some())
    }
}
