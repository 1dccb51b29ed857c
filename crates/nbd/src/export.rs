//! What is served: a trait of a few methods, which a drive implements.

use crate::deferred_reply::DeferredReply;

/// An error of a request, with its number in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u32)]
pub enum Errno {
    /// Operation not permitted: a write to what is read-only.
    #[error("operation not permitted")]
    Perm = 1,
    /// Input/output error.
    #[error("input/output error")]
    Io = 5,
    /// Cannot allocate memory.
    #[error("cannot allocate memory")]
    NoMem = 12,
    /// Invalid argument.
    #[error("invalid argument")]
    Inval = 22,
    /// No space left on the device.
    #[error("no space left on the device")]
    NoSpc = 28,
    /// Value too large.
    #[error("value too large")]
    Overflow = 75,
    /// Operation not supported, or not fast.
    #[error("operation not supported")]
    NotSup = 95,
    /// The server is being shut down.
    #[error("the server is being shut down")]
    Shutdown = 108,
}

/// When the reply to a request may leave.
#[derive(Debug, Default)]
pub enum Leave {
    /// With the next batch.
    #[default]
    Now,
    /// When the other end says, because the simulated drive takes until then.
    When(DeferredReply),
}

/// What became of a request.
pub type Done = Result<Leave, Errno>;

/// What an export can do; the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Writes, trims and zeroes are refused.
    pub read_only: bool,
    /// Seeking costs time, as on a disk that turns.
    pub rotational: bool,
    /// [`Export::trim`] does something.
    pub trim: bool,
    /// [`Export::cache`] does something.
    pub cache: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self { read_only: false, rotational: false, trim: true, cache: true }
    }
}

/// The sizes of requests that an export accepts, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of it; a power of two up to 65,536.
    pub minimum: u32,
    /// The smallest size that is fast; a power of two, at least 512 and `minimum`.
    pub preferred: u32,
    /// The largest read or write; a multiple of `minimum`.
    pub maximum: u32,
}

impl Default for BlockSizes {
    fn default() -> Self {
        Self { minimum: 1, preferred: 4096, maximum: 32 << 20 }
    }
}

impl BlockSizes {
    /// Whether the sizes keep the rules of the protocol for an export of `size` bytes.
    pub(crate) fn are_valid(self, size: u64) -> bool {
        self.minimum.is_power_of_two()
            && self.minimum <= 1 << 16
            && self.preferred.is_power_of_two()
            && self.preferred >= self.minimum.max(512)
            && self.maximum.is_multiple_of(self.minimum)
            && u64::from(self.maximum) >= u64::from(self.preferred).min(size)
            // Every client may send so much without asking for the sizes.
            && self.maximum <= 32 << 20
            && size.is_multiple_of(u64::from(self.minimum))
    }
}

/// How [`Export::write_zeroes`] shall go about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zeroing {
    /// The range must stay allocated.
    pub no_hole: bool,
    /// Fail with [`Errno::NotSup`], changing nothing, unless it is faster than a write.
    pub fast: bool,
    /// The zeroes must be durable before the reply.
    pub fua: bool,
}

/// A run of bytes with one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Length of the run, at least one.
    pub bytes: u64,
    /// Nothing is allocated there.
    pub hole: bool,
    /// It reads as zeroes.
    pub zero: bool,
}

/// A block device. Several threads call it at once; ranges lie within [`Export::size`], keep [`Export::block_sizes`]
/// and are not empty.
///
/// Durability: after a successful [`Export::flush`] every write, trim and zeroing that had returned on any thread
/// survives a loss of power; one with `fua` is durable when it returns.
pub trait Export: Send + Sync {
    /// Its size in bytes, which never changes.
    fn size(&self) -> u64;

    /// The sizes of requests, which never change.
    fn block_sizes(&self) -> BlockSizes {
        BlockSizes::default()
    }

    /// What it can do, which never changes.
    fn features(&self) -> Features {
        Features::default()
    }

    /// A line for people who list exports.
    fn description(&self) -> &str {
        ""
    }

    /// Fills `buffer` with what is stored from `offset`.
    ///
    /// # Errors
    /// The number that the client is sent; the same holds for all methods.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Done;

    /// Stores `data` from `offset`.
    ///
    /// # Errors
    /// As for [`Export::read`].
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Done;

    /// Forgets a range.
    ///
    /// # Errors
    /// As for [`Export::read`].
    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> Done;

    /// Makes a range read as zeroes.
    ///
    /// # Errors
    /// As for [`Export::read`]; [`Errno::NotSup`] only if `how.fast`.
    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> Done;

    /// Makes durable whatever has returned before.
    ///
    /// # Errors
    /// As for [`Export::read`].
    fn flush(&self) -> Done;

    /// The server ends: makes durable whatever has returned before. No client asks for it.
    ///
    /// # Errors
    /// As for [`Export::read`].
    fn finish(&self) -> Result<(), Errno> {
        self.flush().map(drop)
    }

    /// Expects reads of a range soon.
    ///
    /// # Errors
    /// As for [`Export::read`].
    fn cache(&self, offset: u64, bytes: u64) -> Done;

    /// The status at `offset`, of a run not longer than `bytes`, in multiples of the smallest block.
    ///
    /// # Errors
    /// As for [`Export::read`].
    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno>;
}
