//! Remedies: changes of settings, tried before they are named.

use crate::checker::Checker;
use crate::config::merge;
use crate::registry::find;
use crate::settings::settings;
use crate::table::Entry;
use crate::value::Value;

/// A setting and another value of it.
pub(crate) type Change<'a> = (&'a str, Value);

/// What comes of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    NoDrive,
    /// A drive, but something else is wrong.
    Drive,
    Sound,
}

impl Checker<'_> {
    /// The remedies that `look` finds, which asks of changes whether they are enough: nothing may be wrong with them.
    /// If something is with each, two settings are at fault, and changes are enough that make a drive, or else that
    /// `look` takes for enough by itself.
    pub(crate) fn remedies<T>(&self, look: impl Fn(&dyn Fn(&[Change<'_>]) -> bool) -> Vec<T>) -> Vec<T> {
        // Whoever tries a remedy wants to know whether it works, not what else would.
        if self.is_trial {
            return Vec::new();
        }
        [Outcome::Sound, Outcome::Drive, Outcome::NoDrive]
            .into_iter()
            .map(|least| look(&|changes| self.tried(changes) >= least))
            .find(|remedies| !remedies.is_empty())
            .unwrap_or_default()
    }

    fn tried(&self, changes: &[Change<'_>]) -> Outcome {
        let mut entries = self.entries.clone();
        let changed = changes
            .iter()
            .filter_map(|(key, value)| Some((find(key)?.key, Entry { value: value.clone(), origin: String::new() })));
        merge(&mut entries, changed.collect());
        let mut trial = Checker { is_trial: true, ..Checker::new(&entries, self.options, self.extent_bytes) };
        match settings(&mut trial) {
            Ok(Some(_)) if trial.violations.is_empty() => Outcome::Sound,
            Ok(Some(_)) => Outcome::Drive,
            _ => Outcome::NoDrive,
        }
    }
}

/// The first number from `least` to `most` that is enough, where every number above one that is enough is so too.
pub(crate) fn first_enough(least: u64, most: u64, is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut few, mut enough, mut step) = (least, least, 1);
    while enough <= most && !is_enough(enough) {
        if enough == most {
            return None;
        }
        (few, enough, step) = (enough, enough.saturating_add(step).min(most), step.saturating_mul(2));
    }
    while enough > few + 1 {
        let middle = few + (enough - few) / 2;
        if is_enough(middle) { enough = middle } else { few = middle }
    }
    (enough <= most).then_some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_enough_is_found() {
        for first in 3..40 {
            assert_eq!(first_enough(3, 39, |number| number >= first), Some(first));
        }
        assert_eq!(first_enough(3, 39, |number| number >= 40), None);
        assert_eq!(first_enough(3, 2, |_| true), None);
        assert_eq!(first_enough(0, u64::MAX, |number| number == u64::MAX), Some(u64::MAX));
    }
}
