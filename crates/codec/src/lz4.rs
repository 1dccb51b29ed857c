//! LZ4 blocks by the C library. The higher the acceleration, the faster and the larger.
//!
//! The C library rather than a port: on 8 KiB pages it restores in three quarters of the time. `lzzzz` keeps the hash
//! table of each thread between calls, where the one-shot functions clear 16 KiB for every page.

use crate::{Codec, Corrupt, Info, Parameter};

pub(crate) static INFO: Info = Info {
    name: "lz4",
    help: "LZ4 by the C library: fastest to compress and to restore.",
    parameters: &[Parameter { name: "acceleration", min: 1.0, max: 65_537.0, default: 1.0, whole: true }],
    make: |values| Ok(Box::new(Lz4 { acceleration: values[0] as i32 })),
};

struct Lz4 {
    acceleration: i32,
}

impl Codec for Lz4 {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        // The C function reports an incompressible page as 0 written bytes, which the binding makes an error.
        lzzzz::lz4::compress(page, out, self.acceleration).ok()
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        restore(bytes, page)
    }
}

/// Restores an LZ4 block, whoever compressed it.
pub(crate) fn restore(bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
    match lzzzz::lz4::decompress(bytes, page) {
        Ok(length) if length == page.len() => Ok(()),
        _ => Err(Corrupt::new(bytes, page)),
    }
}
