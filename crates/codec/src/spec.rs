//! Codecs as text: a name and its numbers after colons, as in `lz4`, `zstd:-1`, `modelled:2.13:2:1`.

use std::fmt;
use std::io;
use std::str::FromStr;

use ssdlab_core::suggest::{list, named, nearest};

use crate::{CODECS, Codec, Info, Parameter};

/// A codec with its parameters, checked.
#[derive(Clone, Debug)]
pub struct CodecSpec {
    info: &'static Info,
    values: Vec<f64>,
}

impl CodecSpec {
    /// The entry of the table.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// A codec with contexts of its own.
    ///
    /// # Errors
    /// The library has no memory for its context.
    pub fn build(&self) -> io::Result<Box<dyn Codec>> {
        (self.info.make)(&self.values)
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

/// A text that is no codec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No codec has this name.
    #[error("there is no codec \"{name}\"{hint} Known are {known}")]
    UnknownCodec {
        /// The name given.
        name: String,
        /// What it may have meant, as a question, or a full stop if nothing is near.
        hint: String,
        /// All names.
        known: String,
    },
    /// A parameter is no number or outside its range.
    #[error("\"{value}\" is no {parameter} of {codec}, which takes {range}; did you mean \"{nearest}\"?")]
    BadParameter {
        /// The codec.
        codec: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value given.
        value: String,
        /// What is allowed.
        range: String,
        /// The specification closest to the one given.
        nearest: String,
    },
    /// More numbers than the codec has parameters.
    #[error("\"{text}\" has more numbers than {codec} has parameters; write \"{form}\"")]
    TooMany {
        /// The specification given.
        text: String,
        /// The codec.
        codec: &'static str,
        /// What may be written.
        form: String,
    },
}

impl FromStr for CodecSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.trim().split(':');
        let name = parts.next().unwrap_or_default();
        let names = || CODECS.iter().map(|info| info.name);
        let meant = named(name, names());
        let Some(info) = CODECS.iter().copied().find(|info| Some(info.name) == meant) else {
            let hint = nearest(name, names()).map_or_else(|| ".".into(), |meant| format!("; did you mean {meant:?}?"));
            return Err(SpecError::UnknownCodec { name: name.to_owned(), hint, known: list(names()) });
        };
        let mut spec = Self { info, values: info.parameters.iter().map(|parameter| parameter.default).collect() };
        let mut wrong = None;
        for (index, part) in parts.enumerate() {
            let Some(parameter) = info.parameters.get(index) else {
                let form = info.parameters.iter().fold(info.name.to_owned(), |form, p| form + "[:" + p.name + "]");
                return Err(SpecError::TooMany { text: text.to_owned(), codec: info.name, form });
            };
            spec.values[index] = parameter.parse(part).unwrap_or_else(|nearest| {
                wrong.get_or_insert((parameter, part));
                nearest
            });
        }
        // What was meant has the numbers behind the wrong one, too.
        if let Some((parameter, value)) = wrong {
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
    /// The value of `text`, or the allowed value nearest to it.
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
        let kind = if self.whole { "whole numbers" } else { "numbers" };
        format!("{kind} from {} to {}", self.min, self.max)
    }
}
