//! LZ4 in the high-compression mode of the C library. Pages become smaller than with plain LZ4 and are restored just as
//! fast.

use crate::{Codec, CodecInfo, Corrupt, Parameter, entry, lz4};

pub(crate) static INFO: CodecInfo = entry(
    "lz4hc",
    "LZ4 high compression: compresses slowly, decompresses as fast as lz4; for pages read often and demoted rarely.",
    &[Parameter::level(1, 12, 4)],
    |values| Ok(Box::new(Lz4Hc { level: values[0] as i32 })),
);

struct Lz4Hc {
    level: i32,
}

impl Codec for Lz4Hc {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        lzzzz::lz4_hc::compress(page, out, self.level).ok()
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        lz4::restore(bytes, page)
    }
}
