//! Zstandard with the C library, using one context for each direction. Negative levels are faster.

use zstd::bulk::{Compressor, Decompressor};

use crate::{Codec, CodecInfo, Corrupt, Parameter, entry};

pub(crate) static INFO: CodecInfo = entry(
    "zstd",
    "Zstandard: the best compression ratio for its speed; negative levels are faster.",
    &[Parameter::level(-100, 22, 3)],
    |values| Ok(Box::new(Zstd { compressor: Compressor::new(values[0] as i32)?, decompressor: Decompressor::new()? })),
);

struct Zstd {
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
}

impl Codec for Zstd {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        self.compressor.compress_to_buffer(page, out).ok()
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        match self.decompressor.decompress_to_buffer(bytes, page) {
            Ok(length) if length == page.len() => Ok(()),
            _ => Err(Corrupt::new(bytes, page)),
        }
    }
}
