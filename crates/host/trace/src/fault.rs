//! Faults in one line or record, described without its position in the file.

/// Fault description for an unknown operation, as in [`Fault::why`].
pub(crate) const NOT_AN_OP: &str = "is not a known operation";

/// Fault in a field. Cheap to create, because format detection creates many faults.
#[derive(Clone, Copy, Debug)]
pub struct Fault<'a> {
    /// Name of the field as its format spells it; empty if the whole line is at fault.
    pub field: &'static str,
    /// Content of the field as written; empty if the field is missing.
    pub text: &'a [u8],
    /// Description of the fault, worded as a predicate that follows "field ...".
    pub why: &'static str,
}

impl<'a> Fault<'a> {
    /// Creates a fault of `field`, written as `text`.
    pub fn new(field: &'static str, text: &'a [u8], why: &'static str) -> Self {
        Self { field, text, why }
    }

    /// True if the faulty text is surplus, for example an additional field.
    pub fn is_surplus(&self) -> bool {
        self.field.is_empty() && !self.text.is_empty()
    }

    /// Returns the faulty `line` with the faulty field replaced by a valid value.
    pub fn mended(&self, line: &[u8]) -> Vec<u8> {
        if self.text.is_empty() {
            let separator: &[u8] = if line.contains(&b',') { b",0" } else { b" 0" };
            return [line, separator].concat();
        }
        let at = (self.text.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
        let Some((before, after)) = line.get(..at).zip(line.get(at + self.text.len()..)) else { return Vec::new() };
        if self.is_surplus() {
            // Removes the extra field and everything after it.
            return before.trim_ascii_end().strip_suffix(b",").unwrap_or(before).to_vec();
        }
        [before, b"0", after].concat()
    }

    /// Returns a function that creates the fault of `field`, written as `text`, from a description of the fault.
    pub fn of(field: &'static str, text: &'a [u8]) -> impl Fn(&'static str) -> Self {
        move |why| Self::new(field, text, why)
    }

    /// Creates the fault of a number that overflows when it is multiplied by the unit of its format.
    pub(crate) fn overflow(field: &'static str, text: &'a [u8]) -> Self {
        Self::new(field, text, "exceeds 64 bits when converted from this format's unit")
    }

    /// Creates the fault of a missing field.
    pub fn missing(field: &'static str) -> Self {
        Self::new(field, b"", "is missing")
    }
}

/// Maximum number of bytes quoted from a faulty field.
const QUOTE_BYTES: usize = 60;

impl std::fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quote = self.text[..self.text.len().min(QUOTE_BYTES)].escape_ascii();
        let more = if self.text.len() > QUOTE_BYTES { "..." } else { "" };
        match (self.field, self.text) {
            ("", []) => f.write_str(self.why),
            ("", _) => write!(f, "\"{quote}{more}\" {}", self.why),
            (field, []) => write!(f, "field \"{field}\" {}", self.why),
            (field, _) => write!(f, "field \"{field}\": \"{quote}{more}\" {}", self.why),
        }
    }
}
