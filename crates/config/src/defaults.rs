//! What holds where neither a preset nor anybody else says anything.

use crate::table::{Case, Entries, Entry, Fallback, Is, OptionSpec};
use crate::value::Value;

impl OptionSpec {
    /// Its default beside what is set, or that it must be set; `None` where there is nothing to set.
    pub(crate) fn default_entry(&self, entries: &Entries) -> Result<Option<Entry>, String> {
        let entry = |text, origin| Ok(Some(Entry { value: self.kind.read_plain(text)?, origin }));
        match self.fallback {
            Fallback::Value(text) => entry(text, "default".into()),
            Fallback::Unless(text, cases) => match cases.iter().find(|case| case.holds(entries)) {
                Some(case) => entry(case.value, format!("default ({})", case.condition())),
                None => entry(text, "default".into()),
            },
            Fallback::Derived(derived) => entry(&(derived.value)(entries), "default".into()),
            Fallback::Preset | Fallback::Required => Err(format!("must be set; write it like \"{}\"", self.example)),
            Fallback::InsteadOf(_) => Ok(None),
        }
    }
}

impl Case {
    /// Whether it holds. What is not set has its default, by which it does not.
    fn holds(&self, entries: &Entries) -> bool {
        match (self.is, entries.get(self.key).map(|entry| &entry.value)) {
            (Is::Many, Some(Value::Count(count))) => *count > 1,
            (Is::Variant(name), Some(Value::Choice(chosen))) => *chosen == name,
            _ => false,
        }
    }
}
