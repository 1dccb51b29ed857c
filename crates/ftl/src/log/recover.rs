//! Taking up a device in use.

use ssdlab_nand::{FlashSink, Scan, Trimmed};

use super::{Log, LogFtl};

#[allow(private_bounds)]
impl<L: Log> LogFtl<L> {
    pub(super) fn recover_all<S: FlashSink>(&mut self, _scan: &impl Scan, _trims: &[Trimmed], _sink: &mut S) -> Result<(), String> {
        Err("recovery is being built".into())
    }
}
