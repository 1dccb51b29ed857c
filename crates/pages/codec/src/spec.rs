//! Codec specifications: a name followed by parameters after colons, as in `lz4`, `zstd:-1`, `modelled:2.13:2:1`.

use std::fmt;
use std::io;
use std::str::FromStr;

use ssdlab_core::suggest::{list, nearest};

use crate::{CODECS, Codec, CodecInfo, Parameter, form};

/// A codec with validated parameter values.
#[derive(Clone, Debug)]
pub struct CodecSpec {
    info: &'static CodecInfo,
    values: Vec<f64>,
}

impl CodecSpec {
    /// Returns the codec's entry in the table of codecs.
    pub fn info(&self) -> &'static CodecInfo {
        self.info
    }

    /// Builds the codec with its own contexts. Fails if the library cannot allocate a context.
    pub fn build(&self) -> io::Result<Box<dyn Codec>> {
        (self.info.role.make)(&self.values)
    }
}

impl PartialEq for CodecSpec {
    fn eq(&self, other: &Self) -> bool {
        self.info.name == other.info.name && self.values == other.values
    }
}

impl fmt::Display for CodecSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)?;
        self.values.iter().try_for_each(|value| write!(f, ":{value}"))
    }
}

/// Reasons why a codec specification is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The codec's name is unknown.
    #[error("unknown codec \"{name}\"{hint} Choose one of {known}")]
    UnknownCodec {
        /// Name given by the user.
        name: String,
        /// Text that follows the name in the message: a question that suggests a similar codec name, or a full stop if
        /// no name is similar.
        hint: String,
        /// List of all codec names.
        known: String,
    },
    /// A parameter's value is not a number or is out of range.
    #[error("invalid {codec} {parameter} \"{value}\": must be {range}; did you mean \"{nearest}\"?")]
    BadParameter {
        /// Name of the codec.
        codec: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// Value given by the user.
        value: String,
        /// Allowed values of the parameter.
        range: String,
        /// Valid codec specification that is closest to the specification given by the user.
        nearest: String,
    },
    /// The specification has more values than the codec has parameters.
    #[error("too many parameters in \"{text}\"; the syntax is \"{form}\"")]
    TooMany {
        /// Codec specification given by the user.
        text: String,
        /// Syntax of a valid specification of this codec.
        form: String,
    },
}

impl FromStr for CodecSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.trim().split(':');
        let name = parts.next().unwrap_or_default();
        let Some(info) = CODECS.find(name) else {
            let names = || CODECS.iter().map(|info| info.name);
            let hint = nearest(name, names()).map_or_else(|| ".".into(), |meant| format!("; did you mean {meant:?}?"));
            return Err(SpecError::UnknownCodec { name: name.to_owned(), hint, known: list(names()) });
        };
        let mut spec = Self { info, values: info.role.parameters.iter().map(|parameter| parameter.default).collect() };
        let mut first_invalid = None;
        for (index, part) in parts.enumerate() {
            let Some(parameter) = info.role.parameters.get(index) else {
                return Err(SpecError::TooMany { text: text.to_owned(), form: form(info) });
            };
            spec.values[index] = parameter.parse(part).unwrap_or_else(|nearest| {
                first_invalid.get_or_insert((parameter, part));
                nearest
            });
        }
        // The first invalid value is reported only after all values are parsed, because the suggestion also contains
        // the later values.
        if let Some((parameter, value)) = first_invalid {
            return Err(SpecError::BadParameter {
                codec: info.name,
                parameter: parameter.name,
                value: value.to_owned(),
                range: parameter.range(),
                nearest: spec.to_string(),
            });
        }
        Ok(spec)
    }
}

impl Parameter {
    /// Parses a value of the parameter. If the value is invalid, returns the nearest allowed value as the error.
    fn parse(&self, text: &str) -> Result<f64, f64> {
        match text.parse::<f64>() {
            Ok(value) if !(self.min..=self.max).contains(&value) => {
                Err(if value.is_nan() { self.default } else { value.clamp(self.min, self.max) })
            }
            Ok(value) if self.whole && value.fract() != 0.0 => Err(value.round()),
            Ok(value) => Ok(value),
            Err(_) => Err(self.default),
        }
    }

    fn range(&self) -> String {
        let kind = if self.whole { "a whole number" } else { "a number" };
        format!("{kind} from {} to {}", self.min, self.max)
    }
}
