//! What is wrong with one line or record, before it is known which one it is.

/// A fault in a field; cheap to make, because trying formats during detection makes many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault<'a> {
    /// Name of the field in its format's own words; empty where the whole line is meant.
    pub field: &'static str,
    /// The field as written; empty where it is missing.
    pub text: &'a [u8],
    /// Completes the sentence "field ... ".
    pub why: &'static str,
}

impl<'a> Fault<'a> {
    /// Field `field`, written as `text`, is wrong.
    pub fn new(field: &'static str, text: &'a [u8], why: &'static str) -> Self {
        Self { field, text, why }
    }

    /// True if the text is in the line in vain, such as a field too many.
    pub fn is_surplus(&self) -> bool {
        self.field.is_empty() && !self.text.is_empty()
    }

    /// Returns `line`, in which the fault is, with something plain in the place of the faulty field.
    pub fn mended(&self, line: &[u8]) -> Vec<u8> {
        if self.text.is_empty() {
            let separator: &[u8] = if line.contains(&b',') { b",0" } else { b" 0" };
            return [line, separator].concat();
        }
        let at = (self.text.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
        let Some((before, after)) = line.get(..at).zip(line.get(at + self.text.len()..)) else { return Vec::new() };
        if self.is_surplus() {
            // A field too many, with all that follows.
            return before.trim_ascii_end().strip_suffix(b",").unwrap_or(before).to_vec();
        }
        [before, b"0", after].concat()
    }

    /// The field is not there.
    pub fn missing(field: &'static str) -> Self {
        Self { field, text: b"", why: "is missing" }
    }
}

/// At most this many bytes of a faulty field are quoted.
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
