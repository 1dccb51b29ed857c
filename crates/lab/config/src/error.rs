//! Errors of a configuration. All errors are reported together, one line each, with a remedy.

/// One error of a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Origin of the wrong value: `my.toml:12:7`, `preset tlc-nvme`, `--set`, `default`.
    pub origin: String,
    /// Key of the option; empty if the error concerns a whole document.
    pub key: String,
    /// Message that describes the problem and its remedy.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(origin: impl Into<String>, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { origin: origin.into(), key: key.into(), message: message.into() }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { origin, key, message } = self;
        if key.is_empty() { write!(f, "{origin}: {message}") } else { write!(f, "{origin}: {key}: {message}") }
    }
}

/// All errors of a configuration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", .0.iter().map(Violation::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError(pub Vec<Violation>);

impl From<Violation> for ConfigError {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}
