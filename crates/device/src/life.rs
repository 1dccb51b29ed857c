//! What a drive counts over its life: checkpoints carry it, and the journal each mount and that it is worn out.

/// Counts since the drive was made. A loss of power takes back reads, writes and errors to the latest checkpoint, as it
/// does with a controller that saves them now and then; a mount that finds no log begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Life {
    /// Mounts.
    pub mounts: u64,
    /// Of these, mounts of a drive that had not been shut down.
    pub unsafe_mounts: u64,
    /// Pages that could not be read.
    pub pages_lost: u64,
    /// Bytes that the host read.
    pub bytes_read: u64,
    /// Bytes that the host wrote.
    pub bytes_written: u64,
    /// Whether so many blocks have failed that the drive can only be read, for good.
    pub worn_out: bool,
}

/// Numbers in a life.
pub(crate) const NUMBERS: usize = 6;

impl Life {
    /// One more mount.
    pub fn mounted(&mut self, clean: bool) {
        self.mounts += 1;
        self.unsafe_mounts += u64::from(!clean);
    }

    /// As a checkpoint holds it.
    pub fn numbers(&self) -> [u64; NUMBERS] {
        let Self { mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out } = *self;
        [mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out.into()]
    }

    /// From what a checkpoint holds.
    pub fn of([mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out]: [u64; NUMBERS]) -> Self {
        Self { mounts, unsafe_mounts, pages_lost, bytes_read, bytes_written, worn_out: worn_out != 0 }
    }
}
