//! Deflate in the zlib format, with zlib-rs through the crate `flate2`, which is also used to read compressed traces.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::{Codec, CodecInfo, Corrupt, Parameter, entry};

pub(crate) static INFO: CodecInfo = entry(
    "zlib",
    "Deflate by zlib-rs: same levels as the C library zlib, but a slightly lower compression ratio at level 1.",
    &[Parameter::level(1, 9, 6)],
    |values| {
        let compress = Compress::new(Compression::new(values[0] as u32), true);
        Ok(Box::new(Zlib { compress, decompress: Decompress::new(true) }))
    },
);

struct Zlib {
    compress: Compress,
    decompress: Decompress,
}

impl Codec for Zlib {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        self.compress.reset();
        match self.compress.compress(page, out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Some(self.compress.total_out() as usize),
            _ => None,
        }
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        self.decompress.reset(true);
        let status = self.decompress.decompress(bytes, page, FlushDecompress::Finish);
        let lengths_match =
            self.decompress.total_out() as usize == page.len() && self.decompress.total_in() as usize == bytes.len();
        if matches!(status, Ok(Status::StreamEnd)) && lengths_match { Ok(()) } else { Err(Corrupt::new(bytes, page)) }
    }
}
