//! What is wrong with a choice.

/// A value that does not go with the device or with another value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The parameter that has it.
    pub parameter: &'static str,
    /// What is wrong, and what helps.
    pub message: String,
}

impl Problem {
    pub(crate) const fn new(parameter: &'static str, message: String) -> Self {
        Self { parameter, message }
    }
}

impl From<Problem> for String {
    fn from(Problem { parameter, message }: Problem) -> Self {
        format!("{parameter}: {message}")
    }
}
