//! Registries of interchangeable components: policies, schedulers, maps, codecs and so on. Each built-in component has
//! a source file with a static `INFO`, which is listed in the registry for its type of component. Other crates can add
//! components at any time with [`Registry::register`].
//!
//! The accepted settings, help texts, reference documents and random test cases are all derived from the registries.
//! The first entry of a registry is the default; documents use the second entry as an example.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use crate::parameter::{Owner, Parameter, ParameterError, Settings};
use crate::suggest::named;

/// A registry entry for a policy, scheduler or other component: its name, texts, parameters and constructor.
pub struct Info<R: 'static> {
    /// Name of the entry in settings; identical to the name in the source, if there is one.
    pub name: &'static str,
    /// Short help text of the entry.
    pub help: &'static str,
    /// Paper or program that describes the entry; empty if there is no single source.
    pub source: &'static str,
    /// Parameters of the entry, with defaults and ranges.
    pub parameters: &'static [Parameter],
    /// Constructor and properties of the component, in the form that its registry requires.
    pub role: R,
}

/// Prints only the name, because constructors need not implement `Debug`.
impl<R> fmt::Debug for Info<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Entries are equal if they are the same static item.
impl<R> PartialEq for Info<R> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl<R> Eq for Info<R> {}

impl<R> Info<R> {
    /// Chooses this entry with the default values of its parameters.
    pub const fn defaults(&'static self) -> Choice<R> {
        Choice { info: self, settings: Settings::defaults(self.parameters) }
    }

    /// Chooses this entry with a value for each of its parameters, as in [`Settings::with`].
    pub const fn with(&'static self, values: &[u64]) -> Choice<R> {
        Choice { info: self, settings: Settings::with(self.parameters, values) }
    }

    /// Chooses this entry with the default values of its parameters, except for the given changes. Fails if the entry
    /// has no such parameter, or a value is out of range.
    pub fn set(&'static self, changes: &[(&str, u64)]) -> Result<Choice<R>, ParameterError> {
        let owner = Owner { kind: "choice", name: self.name, parameter: "parameter" };
        Ok(Choice { info: self, settings: Settings::new(owner, self.parameters, changes)? })
    }
}

/// All entries for one type of component: first the built-in entries, then the registered entries.
#[derive(Debug)]
pub struct Registry<R: 'static> {
    kind: &'static str,
    built_in: &'static [&'static Info<R>],
    /// All entries of the registry; None until the first registration. A registration replaces the list. Earlier lists
    /// are never freed, because they may still be in use.
    members: RwLock<Option<&'static [&'static Info<R>]>>,
}

/// Number of entries registered so far. When it changes, tables computed from the registries must be recomputed.
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of entries registered so far in all registries.
pub fn registered() -> usize {
    REGISTERED.load(Ordering::Acquire)
}

/// Error: the registry already has another entry with the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another {kind} has the name `{name}`; choose a different name")]
pub struct NameTaken {
    /// Type of component, such as `victim policy`.
    pub kind: &'static str,
    /// Name that another component has already registered.
    pub name: &'static str,
}

/// Error: no entry of a registry has the given name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} `{name}`; choose one of {known}")]
pub struct UnknownMember {
    /// Type of component, such as `victim policy`.
    pub kind: &'static str,
    /// Name that was looked up.
    pub name: String,
    /// Names of all entries.
    pub known: String,
}

impl<R> Registry<R> {
    /// Creates the registry for a type of component, such as `victim policy`, with its built-in entries.
    pub const fn new(kind: &'static str, built_in: &'static [&'static Info<R>]) -> Self {
        Self { kind, built_in, members: RwLock::new(None) }
    }

    /// Adds an entry; fails if the name is taken.
    pub fn register(&self, info: &'static Info<R>) -> Result<(), NameTaken> {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let now = members.unwrap_or(self.built_in);
        if now.iter().any(|other| other.name == info.name) {
            return Err(NameTaken { kind: self.kind, name: info.name });
        }
        *members = Some([now, &[info]].concat().leak());
        REGISTERED.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Finds an entry by its name, ignoring case and separators (see [`named`]).
    pub fn find(&self, name: &str) -> Option<&'static Info<R>> {
        let name = named(name, self.iter().map(|info| info.name))?;
        self.iter().copied().find(|info| info.name == name)
    }

    /// Finds an entry by its name like [`Self::find`]. The error lists all names.
    pub fn get(&self, name: &str) -> Result<&'static Info<R>, UnknownMember> {
        self.find(name).ok_or_else(|| UnknownMember { kind: self.kind, name: name.to_owned(), known: self.names() })
    }

    /// Returns the names and help texts of all entries, as values of a parameter. Entries must have no parameters.
    pub fn choices(&self) -> Vec<(&'static str, &'static str)> {
        assert!(
            self.iter().all(|info| info.parameters.is_empty()),
            "entries that serve as the values of a parameter cannot have parameters themselves"
        );
        self.iter().map(|info| (info.name, info.help)).collect()
    }

    /// Returns the names of all entries, separated by commas.
    pub fn names(&self) -> String {
        self.names_of(|_| true)
    }

    /// Returns the names of the entries for which `property` is true, separated by commas.
    pub fn names_of(&self, property: impl Fn(&R) -> bool) -> String {
        let members = self.iter().filter(|info| property(&info.role));
        members.map(|info| info.name).collect::<Vec<_>>().join(", ")
    }
}

/// All entries of the registry: the built-in entries, then the registered entries.
impl<R> Deref for Registry<R> {
    type Target = [&'static Info<R>];

    fn deref(&self) -> &Self::Target {
        self.members.read().unwrap_or_else(PoisonError::into_inner).unwrap_or(self.built_in)
    }
}

/// A registry entry and a value for each of its parameters.
pub struct Choice<R: 'static> {
    /// The registry entry that was chosen.
    pub info: &'static Info<R>,
    /// Value of every parameter of the chosen entry.
    pub settings: Settings,
}

impl<R> Choice<R> {
    /// True if the entry `info` was chosen, regardless of its parameter values.
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

#[cfg(test)]
mod tests {
    use super::*;

    static PLAIN: Info<()> = Info { name: "plain", help: "As it is.", source: "", parameters: &[], role: () };
    static DRAWN: Info<()> = Info {
        name: "drawn",
        help: "By chance.",
        source: "",
        parameters: &[Parameter::share("part", 25, "Share.")],
        role: (),
    };
    static TABLE: Registry<()> = Registry::new("thing", &[&PLAIN, &DRAWN]);

    #[test]
    fn choices_are_equal_by_member_and_values() {
        const HALF: Choice<()> = DRAWN.with(&[50]);
        assert_eq!(DRAWN.set(&[("part", 50)]), Ok(HALF));
        assert_ne!(DRAWN.defaults(), HALF);
        assert_ne!(PLAIN.defaults(), DRAWN.defaults());
        assert!(HALF.is(TABLE.find("drawn").unwrap()) && TABLE.find("brawn").is_none());
        assert_eq!((HALF.get("part"), format!("{HALF:?}")), (50, r#"drawn {"part": "50"}"#.into()));
        assert!(DRAWN.set(&[("part", 101)]).is_err());
    }

    #[test]
    fn members_register_at_any_time() {
        static OPEN: Registry<()> = Registry::new("thing", &[&PLAIN]);
        static OWN: Info<()> = Info { name: "own", help: "Mine.", source: "", parameters: &[], role: () };
        let before = (&*OPEN, registered());
        assert_eq!(OPEN.register(&OWN), Ok(()));
        assert!(registered() > before.1);
        assert_eq!(OPEN.register(&OWN), Err(NameTaken { kind: "thing", name: "own" }));
        assert_eq!(OPEN.register(&PLAIN), Err(NameTaken { kind: "thing", name: "plain" }));
        assert_eq!(OPEN.choices(), [("plain", "As it is."), ("own", "Mine.")]);
        assert_eq!(OPEN.register(&DRAWN), Ok(()));
        assert_eq!((OPEN.names(), OPEN.len(), before.0.len()), ("plain, own, drawn".into(), 3, 1));
        assert_eq!(OPEN.get("own"), Ok(&OWN));
        let message = OPEN.get("brawn").unwrap_err().to_string();
        assert_eq!(message, "unknown thing `brawn`; choose one of plain, own, drawn");
    }
}
