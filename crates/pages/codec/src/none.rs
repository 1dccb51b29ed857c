//! No compression: the baseline, and the codec of a cache without compressed pages.

use crate::{Codec, CodecInfo, Corrupt, entry};

pub(crate) static INFO: CodecInfo = entry("none", "Copies the page.", &[], |_| Ok(Box::new(Copy)));

struct Copy;

impl Codec for Copy {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        out.get_mut(..page.len())?.copy_from_slice(page);
        Some(page.len())
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        if bytes.len() != page.len() {
            return Err(Corrupt::new(bytes, page));
        }
        page.copy_from_slice(bytes);
        Ok(())
    }
}
