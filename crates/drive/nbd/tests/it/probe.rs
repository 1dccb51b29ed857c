//! Export that records its calls.

use std::sync::Mutex;

use ssdlab_nbd::{BlockSizes, Errno, Export, ExportResult, Extent, Features, Memory, Zeroing};

/// Memory of 1 MiB that records calls, with configurable errors and extents.
pub struct Probe {
    memory: Memory,
    calls: Mutex<Vec<String>>,
    pub fails: Mutex<Option<Errno>>,
    extents: Vec<Extent>,
}

pub const SIZE: u64 = 1 << 20;

impl Default for Probe {
    fn default() -> Self {
        Self::new(BlockSizes::default(), Features::default())
    }
}

impl Probe {
    pub fn new(sizes: BlockSizes, features: Features) -> Self {
        let memory = Memory::new(SIZE).with_block_sizes(sizes).with_features(features);
        Self { memory, calls: Mutex::default(), fails: Mutex::default(), extents: Vec::new() }
    }

    /// Sets the status of the first bytes.
    pub fn with_extents(self, extents: Vec<Extent>) -> Self {
        Self { extents, ..self }
    }

    /// Returns the calls recorded since the last call of this method.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn record(&self, call: String) -> Result<(), Errno> {
        self.calls.lock().unwrap().push(call);
        self.fails.lock().unwrap().map_or(Ok(()), Err)
    }
}

fn word(on: bool, word: &str) -> String {
    if on { format!(" {word}") } else { String::new() }
}

impl Export for Probe {
    fn size(&self) -> u64 {
        SIZE
    }

    fn block_sizes(&self) -> BlockSizes {
        self.memory.block_sizes()
    }

    fn features(&self) -> Features {
        self.memory.features()
    }

    fn description(&self) -> &str {
        "a probe"
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> ExportResult {
        self.record(format!("read {offset}+{}", buffer.len()))?;
        self.memory.read(offset, buffer)
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> ExportResult {
        self.record(format!("write {offset}+{}{}", data.len(), word(fua, "fua")))?;
        self.memory.write(offset, data, fua)
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> ExportResult {
        self.record(format!("trim {offset}+{bytes}{}", word(fua, "fua")))?;
        self.memory.trim(offset, bytes, fua)
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> ExportResult {
        let words = [word(how.no_hole, "no_hole"), word(how.fast, "fast"), word(how.fua, "fua")].concat();
        self.record(format!("zero {offset}+{bytes}{words}"))?;
        self.memory.write_zeroes(offset, bytes, how)
    }

    fn flush(&self) -> ExportResult {
        self.record("flush".to_owned())?;
        self.memory.flush()
    }

    fn cache(&self, offset: u64, bytes: u64) -> ExportResult {
        self.record(format!("cache {offset}+{bytes}"))?;
        self.memory.cache(offset, bytes)
    }

    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno> {
        self.record(format!("extent {offset}+{bytes}"))?;
        if self.extents.is_empty() {
            return self.memory.extent(offset, bytes);
        }
        let mut start = 0;
        for extent in &self.extents {
            if offset < start + extent.bytes {
                return Ok(Extent { bytes: (start + extent.bytes - offset).min(bytes), ..*extent });
            }
            start += extent.bytes;
        }
        Ok(Extent { bytes, hole: false, zero: false })
    }
}
