//! What is wrong with a configuration: everything at once, one line each, with the remedy.

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Where it was written: `my.toml:12:7`, `preset tlc-nvme`, `--set`, `default`.
    pub origin: String,
    /// The key concerned; empty where a document as a whole cannot be read.
    pub key: String,
    /// What is wrong and how to put it right.
    pub message: String,
}

impl Violation {
    /// A violation of `key` as set in `origin`.
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

/// Everything that is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct ConfigError(pub Vec<Violation>);

fn lines(violations: &[Violation]) -> String {
    let lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    lines.join("\n")
}

impl From<Violation> for ConfigError {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}
