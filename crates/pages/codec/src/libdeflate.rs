//! Deflate with the library libdeflate, which compresses only whole buffers. It is twice as fast as zlib and compresses
//! better.

use std::io;

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use crate::{Codec, CodecInfo, Corrupt, Parameter, entry};

pub(crate) static INFO: CodecInfo = entry(
    "libdeflate",
    "Deflate by libdeflate: faster than zlib because it compresses whole buffers, not streams.",
    &[Parameter::level(1, 12, 1)],
    |values| {
        let level = CompressionLvl::new(values[0] as i32);
        let level = level.map_err(|_| io::Error::other("libdeflate levels are 1 to 12"))?;
        Ok(Box::new(Libdeflate { compressor: Compressor::new(level), decompressor: Decompressor::new() }))
    },
);

struct Libdeflate {
    compressor: Compressor,
    decompressor: Decompressor,
}

impl Codec for Libdeflate {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        self.compressor.deflate_compress(page, out).ok()
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        match self.decompressor.deflate_decompress(bytes, page) {
            Ok(length) if length == page.len() => Ok(()),
            _ => Err(Corrupt::new(bytes, page)),
        }
    }
}
