//! Registries: whatever there is to choose from has a file with a static `INFO`, and a line in a table of its kind.
//!
//! Settings, help, documents and random choices of tests follow from the table. The first line is the default, the
//! second the example that documents give.

use std::fmt;
use std::ops::Deref;

use crate::parameter::{Owner, Parameter, ParameterError, Settings};
use crate::suggest::named;

/// A registered thing.
#[derive(Debug)]
pub struct Info<R: 'static> {
    /// Name in settings.
    pub name: &'static str,
    /// What it is or does, in half a sentence.
    pub help: &'static str,
    /// What can be tuned.
    pub parameters: &'static [Parameter],
    /// What its kind needs beside: a constructor, rules.
    pub role: R,
}

impl<R> Info<R> {
    /// It with its defaults.
    pub const fn defaults(&'static self) -> Choice<R> {
        Choice { info: self, settings: Settings::defaults(self.parameters) }
    }

    /// It with these values for its parameters.
    ///
    /// # Panics
    /// See [`Settings::with`].
    pub const fn with(&'static self, values: &[u64]) -> Choice<R> {
        Choice { info: self, settings: Settings::with(self.parameters, values) }
    }

    /// It with changes on top of its defaults.
    ///
    /// # Errors
    /// If it has no such parameter, or not with this value.
    pub fn set(&'static self, changes: &[(&str, u64)]) -> Result<Choice<R>, ParameterError> {
        let owner = Owner { kind: "choice", name: self.name, parameter: "parameter" };
        Ok(Choice { info: self, settings: Settings::new(owner, self.parameters, changes)? })
    }
}

/// A registered thing and a value for each of its parameters.
pub struct Choice<R: 'static> {
    /// What was chosen.
    pub info: &'static Info<R>,
    /// A value for each of its parameters.
    pub settings: Settings,
}

impl<R> Choice<R> {
    /// Whether this is what was chosen, whatever its parameters.
    pub fn is(&self, info: &'static Info<R>) -> bool {
        std::ptr::eq(self.info, info)
    }
}

impl<R> Clone for Choice<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Choice<R> {}

impl<R> PartialEq for Choice<R> {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.info) && self.settings == other.settings
    }
}

impl<R> Eq for Choice<R> {}

impl<R> Deref for Choice<R> {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl<R> fmt::Debug for Choice<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.info.name, self.settings)
    }
}

/// What a table has under this name, as [`named`] has it.
pub fn find<R>(table: &[&'static Info<R>], name: &str) -> Option<&'static Info<R>> {
    let name = named(name, table.iter().map(|info| info.name))?;
    table.iter().copied().find(|info| info.name == name)
}

/// The names in a table of things without parameters, for a parameter that is one of them.
///
/// # Panics
/// If one has parameters, or there are not `N`.
pub const fn names<R, const N: usize>(table: &[&'static Info<R>]) -> [(&'static str, &'static str); N] {
    assert!(table.len() == N, "a name for each line");
    let mut names = [("", ""); N];
    let mut at = 0;
    while at < N {
        assert!(table[at].parameters.is_empty(), "a parameter has no parameters of its own");
        names[at] = (table[at].name, table[at].help);
        at += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    static PLAIN: Info<()> = Info { name: "plain", help: "As it is.", parameters: &[], role: () };
    static DRAWN: Info<()> =
        Info { name: "drawn", help: "By chance.", parameters: &[Parameter::share("part", 25, "Share.")], role: () };
    static TABLE: &[&Info<()>] = &[&PLAIN, &DRAWN];

    #[test]
    fn choices_are_equal_by_what_was_chosen_and_its_values() {
        const HALF: Choice<()> = DRAWN.with(&[50]);
        assert_eq!(DRAWN.set(&[("part", 50)]), Ok(HALF));
        assert_ne!(DRAWN.defaults(), HALF);
        assert_ne!(PLAIN.defaults(), DRAWN.defaults());
        assert!(HALF.is(find(TABLE, "drawn").unwrap()) && find(TABLE, "brawn").is_none());
        assert_eq!((HALF.get("part"), format!("{HALF:?}")), (50, r#"drawn {"part": "50"}"#.into()));
        assert!(DRAWN.set(&[("part", 101)]).is_err());
        assert_eq!(names::<_, 1>(&TABLE[..1]), [("plain", "As it is.")]);
    }
}
