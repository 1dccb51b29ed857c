//! A codec that compresses nothing but has a given compression ratio and given times. It stands in for hardware or
//! codecs that are not available.

use crate::{Codec, CodecInfo, Corrupt, Parameter, entry};

/// Compression ratio and times of a modelled codec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Number of uncompressed bytes per compressed byte.
    pub ratio: f64,
    /// Time to compress a page, in microseconds.
    pub compress_us: f64,
    /// Time to restore a page, in microseconds.
    pub decompress_us: f64,
}

/// The defaults are values for LZ4 on 8 KiB pages with eight threads. Source: Harper 2018, "Viability of Time-Memory
/// Trade-Offs in Large Data Sets", table 4.
pub(crate) static INFO: CodecInfo = entry(
    "modelled",
    "Does not compress: models a given compression ratio and given times in microseconds; for simulation only.",
    &[
        Parameter { name: "ratio", min: 1.0, max: 1e6, default: 2.13, whole: false },
        Parameter { name: "compress_us", min: 0.0, max: 1e9, default: 2.0, whole: false },
        Parameter { name: "decompress_us", min: 0.0, max: 1e9, default: 1.0, whole: false },
    ],
    |values| {
        let costs = Costs { ratio: values[0], compress_us: values[1], decompress_us: values[2] };
        Ok(Box::new(Modelled(costs)))
    },
);

struct Modelled(Costs);

impl Codec for Modelled {
    /// Returns the compressed length that the given ratio implies, and writes no data.
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        let length = (page.len() as f64 / self.0.ratio).ceil() as usize;
        (length <= out.len()).then_some(length)
    }

    /// Leaves the page unchanged, because no data is stored.
    fn decompress(&mut self, _: &[u8], _: &mut [u8]) -> Result<(), Corrupt> {
        Ok(())
    }

    fn modelled(&self) -> Option<Costs> {
        Some(self.0)
    }
}
