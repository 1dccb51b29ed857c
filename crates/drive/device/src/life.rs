//! Lifetime counters of a drive. Checkpoints contain all counters; the journal records only mounts and wear-out.

/// Lifetime counts of the drive. A power loss resets reads, writes and errors to the latest checkpoint, as in a
/// controller that saves them periodically. After a mount without a log, all counts restart at 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Life {
    pub mounts: u64,
    /// Number of mounts that were not preceded by a shutdown.
    pub unsafe_mounts: u64,
    /// Number of pages that could not be read.
    pub pages_lost: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// True if the drive is permanently read-only because too many blocks have failed.
    pub worn_out: bool,
}

pub(crate) const NUMBERS: usize = 6;

impl Life {
    /// Counts a mount of the drive. `clean` is true if the drive was shut down beforehand.
    pub fn mounted(&mut self, clean: bool) {
        self.mounts += 1;
        self.unsafe_mounts += u64::from(!clean);
    }

    /// Returns the counters as stored in a checkpoint.
    pub fn numbers(&self) -> [u64; NUMBERS] {
        let Self { mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out } = *self;
        [mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out.into()]
    }

    /// Creates the counters from the numbers in a checkpoint.
    pub fn of([mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out]: [u64; NUMBERS]) -> Self {
        Self { mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out: worn_out != 0 }
    }
}
