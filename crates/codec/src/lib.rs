//! Page compressors behind one trait, one file each, registered in [`CODECS`].
//!
//! To add one: write its file with an [`Info`] and an implementation of [`Codec`], register it here. Parsing, help, the
//! round trips and the tests on garbage take it from the table.

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

/// Compresses pages and restores them. An object owns its contexts and reuses them, so each thread has its own.
pub trait Codec: Send {
    /// Compresses `page` into the start of `out` and returns the compressed length, or `None` if it does not fit.
    ///
    /// The length of `out` is thus the most that the caller accepts, and `None` means that the page did not shrink
    /// enough. What `out` holds then is unspecified.
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize>;

    /// Restores a page from `bytes`, which is all that [`Codec::compress`] wrote for it.
    ///
    /// # Errors
    /// `bytes` are not a compressed page of exactly the length of `page`. What `page` holds then is unspecified.
    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt>;

    /// What compressing costs, for a codec that only says so and keeps no bytes. A cache of real pages must refuse it.
    fn modelled(&self) -> Option<Costs> {
        None
    }
}

/// Compressed bytes that do not restore a page of the expected length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {compressed_bytes} compressed bytes are no page of {page_bytes} bytes: they are damaged or of another codec"
)]
pub struct Corrupt {
    /// Length of what was to be restored.
    pub compressed_bytes: usize,
    /// Length that the page should have.
    pub page_bytes: usize,
}

impl Corrupt {
    fn new(bytes: &[u8], page: &[u8]) -> Self {
        Self { compressed_bytes: bytes.len(), page_bytes: page.len() }
    }
}

/// A codec as the table knows it.
#[derive(Debug)]
pub struct Info {
    /// Name in a specification.
    pub name: &'static str,
    /// One sentence for help texts.
    pub help: &'static str,
    /// What may follow the name after colons, in this order.
    pub parameters: &'static [Parameter],
    make: fn(&[f64]) -> io::Result<Box<dyn Codec>>,
}

/// A number in a codec's specification.
#[derive(Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Value if none is given.
    pub default: f64,
    /// Whether only whole numbers make sense.
    pub whole: bool,
}

impl Parameter {
    const fn level(min: i32, max: i32, default: i32) -> Self {
        Self { name: "level", min: min as f64, max: max as f64, default: default as f64, whole: true }
    }
}

/// Every codec.
pub static CODECS: &[&Info] =
    &[&none::INFO, &lz4::INFO, &lz4hc::INFO, &zstd::INFO, &zlib::INFO, &libdeflate::INFO, &modelled::INFO];
