//! Page compressors behind one trait. Each codec has its own file and is registered in [`CODECS`].
//!
//! To add a codec, write its file with an `INFO` and an implementation of [`Codec`], and register it here. Other crates
//! register codecs with [`Registry::register`]. Parsing, help and tests read the table of codecs.

mod libdeflate;
mod lz4;
mod lz4hc;
mod modelled;
mod none;
mod spec;
mod zlib;
mod zstd;

pub use modelled::Costs;
pub use spec::{CodecSpec, SpecError};

use std::io;

use ssdlab_core::{Info, Registry};

/// Compresses and restores pages. A codec owns and reuses its contexts, so each thread needs its own codec.
pub trait Codec: Send {
    /// Compresses `page` into the start of `out` and returns the compressed length.
    ///
    /// Returns `None` if the compressed page does not fit in `out`. The contents of `out` are then unspecified.
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize>;

    /// Restores a page from `bytes`, the complete output of [`Codec::compress`]. Fails if `bytes` do not decompress to
    /// exactly the length of `page`. The contents of `page` are then unspecified.
    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt>;

    /// Returns the modelled costs if the codec stores no data, otherwise `None`. A cache of real pages must refuse a
    /// codec with modelled costs.
    fn modelled(&self) -> Option<Costs> {
        None
    }
}

/// Error: the compressed bytes do not decompress to a page of the expected length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot restore a {page_bytes}-byte page from {compressed_bytes} bytes: damaged, or compressed by another codec"
)]
pub struct Corrupt {
    /// Length in bytes of the compressed data.
    pub compressed_bytes: usize,
    /// Expected length in bytes of the page.
    pub page_bytes: usize,
}

impl Corrupt {
    fn new(bytes: &[u8], page: &[u8]) -> Self {
        Self { compressed_bytes: bytes.len(), page_bytes: page.len() }
    }
}

/// A registered codec, with its parameters.
pub type CodecInfo = Info<CodecRules>;

/// Parameters of a registered codec, and its constructor.
#[derive(Debug)]
pub struct CodecRules {
    /// Parameters that may follow the codec's name, in this order, each after a colon. Unlike parameters of policies
    /// and schedulers, their values may be negative numbers or fractions.
    pub parameters: &'static [Parameter],
    /// Creates the codec, given a value for each parameter.
    pub make: fn(&[f64]) -> io::Result<Box<dyn Codec>>,
}

/// Returns the syntax with which users specify the codec, such as `zstd[:level]`.
pub fn form(info: &CodecInfo) -> String {
    info.role.parameters.iter().fold(info.name.to_owned(), |form, parameter| form + "[:" + parameter.name + "]")
}

const fn entry(
    name: &'static str,
    help: &'static str,
    parameters: &'static [Parameter],
    make: fn(&[f64]) -> io::Result<Box<dyn Codec>>,
) -> CodecInfo {
    Info { name, help, source: "", parameters: &[], role: CodecRules { parameters, make } }
}

/// Numeric parameter of a codec.
#[derive(Debug)]
pub struct Parameter {
    /// Name of the parameter in help and messages.
    pub name: &'static str,
    /// Smallest allowed value of the parameter.
    pub min: f64,
    /// Largest allowed value of the parameter.
    pub max: f64,
    /// Default value of the parameter.
    pub default: f64,
    /// True if the parameter's value must be a whole number.
    pub whole: bool,
}

impl Parameter {
    const fn level(min: i32, max: i32, default: i32) -> Self {
        Self { name: "level", min: min as f64, max: max as f64, default: default as f64, whole: true }
    }
}

/// Every registered codec.
pub static CODECS: Registry<CodecRules> = Registry::new(
    "codec",
    &[&none::INFO, &lz4::INFO, &lz4hc::INFO, &zstd::INFO, &zlib::INFO, &libdeflate::INFO, &modelled::INFO],
);
