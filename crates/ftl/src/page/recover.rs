//! Taking up a device in use.

use ssdlab_nand::{FlashSink, Scan, Trimmed};

use super::PageFtl;
use crate::map::MapModel;

impl<M: MapModel> PageFtl<M> {
    pub(super) fn recover_all<S: FlashSink>(&mut self, _scan: &impl Scan, _trims: &[Trimmed], _sink: &mut S) -> Result<(), String> {
        Err("recovery is being built".into())
    }
}
