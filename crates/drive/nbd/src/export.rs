//! Interface of a block device that the server exports.

use crate::deferred_reply::DeferredReply;

/// Error of a request; the discriminant is the error number in the NBD protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u32)]
pub enum Errno {
    /// Operation not permitted: a write to a read-only export.
    #[error("operation not permitted")]
    Perm = 1,
    /// An I/O operation of the export failed.
    #[error("input/output error")]
    Io = 5,
    /// Memory could not be allocated.
    #[error("cannot allocate memory")]
    NoMem = 12,
    /// An argument of the request is invalid.
    #[error("invalid argument")]
    Inval = 22,
    /// No space left on the device.
    #[error("no space left on the device")]
    NoSpc = 28,
    /// A value in the request is too large.
    #[error("value too large")]
    Overflow = 75,
    /// Operation not supported, or not as fast as requested.
    #[error("operation not supported")]
    NotSup = 95,
    /// The NBD server is being shut down.
    #[error("the server is being shut down")]
    Shutdown = 108,
}

/// Time at which the reply to a request may be sent.
#[derive(Default)]
pub enum ReplyTime {
    /// The reply is sent with the next batch of replies.
    #[default]
    Now,
    /// The reply is sent when the simulated drive completes the request.
    Deferred(DeferredReply),
}

/// Result of a request: the time of its reply, or an error.
pub type ExportResult = Result<ReplyTime, Errno>;

/// Capabilities of an export, which the server reports to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// True if the export refuses writes, trims and zeroing.
    pub read_only: bool,
    /// True if seeks take time, as on a hard disk.
    pub rotational: bool,
    /// True if [`Export::trim`] discards data.
    pub trim: bool,
    /// True if [`Export::cache`] prepares the export for reads.
    pub cache: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self { read_only: false, rotational: false, trim: true, cache: true }
    }
}

/// Request sizes that an export accepts, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Unit of offsets and lengths; a power of two up to 65,536.
    pub minimum: u32,
    /// Smallest size that the export handles efficiently; a power of two, at least 512 and at least `minimum`.
    pub preferred: u32,
    /// Maximum size of a read or write; a multiple of `minimum`, at most 32 MiB.
    pub maximum: u32,
}

impl Default for BlockSizes {
    fn default() -> Self {
        Self { minimum: 1, preferred: 4096, maximum: 32 << 20 }
    }
}

impl BlockSizes {
    /// True if the sizes follow the protocol's rules for an export of `size` bytes.
    pub(crate) fn are_valid(self, size: u64) -> bool {
        self.minimum.is_power_of_two()
            && self.minimum <= 1 << 16
            && self.preferred.is_power_of_two()
            && self.preferred >= self.minimum.max(512)
            && self.maximum.is_multiple_of(self.minimum)
            && u64::from(self.maximum) >= u64::from(self.preferred).min(size)
            // At most 32 MiB, because clients may send requests up to this size without asking for the maximum.
            && self.maximum <= 32 << 20
            && size.is_multiple_of(u64::from(self.minimum))
    }
}

/// Options for [`Export::write_zeroes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zeroing {
    /// True if the zeroed range must stay allocated, so that it does not become a hole.
    pub no_hole: bool,
    /// True if the request must fail with [`Errno::NotSup`], without changing anything, if zeroing is not faster than a
    /// write.
    pub fast: bool,
    /// True if the zeroes must be durable before the reply (forced unit access).
    pub fua: bool,
}

/// A run of bytes with the same status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Length of the run in bytes, at least 1.
    pub bytes: u64,
    /// True if no storage is allocated for the run.
    pub hole: bool,
    /// True if all bytes of the run read as zero.
    pub zero: bool,
}

/// A block device whose functions several threads may call concurrently. The ranges passed to these functions are not
/// empty, lie within [`Export::size`] and comply with [`Export::block_sizes`].
///
/// Durability: a successful [`Export::flush`] makes durable every write, trim and zeroing that returned earlier on any
/// thread. An operation with `fua` is durable when it returns.
///
/// If a method fails, the client receives the error number (errno).
pub trait Export: Send + Sync {
    /// Returns the size in bytes, which never changes.
    fn size(&self) -> u64;

    /// Returns the accepted request sizes, which never change.
    fn block_sizes(&self) -> BlockSizes {
        BlockSizes::default()
    }

    /// Returns the capabilities, which never change.
    fn features(&self) -> Features {
        Features::default()
    }

    /// Returns a one-line description for lists of exports.
    fn description(&self) -> &str {
        ""
    }

    /// Fills `buffer` with bytes of the export, starting at `offset`.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> ExportResult;

    /// Writes `data` to the export, starting at `offset`.
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> ExportResult;

    /// Discards a range of bytes.
    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> ExportResult;

    /// Zeroes a range. May fail with [`Errno::NotSup`] only if `how.fast` is true.
    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> ExportResult;

    /// Makes all completed requests durable.
    fn flush(&self) -> ExportResult;

    /// Makes all completed requests durable when the server shuts down, without a request from a client.
    fn finish(&self) -> Result<(), Errno> {
        self.flush().map(drop)
    }

    /// Prefetches a range that the client intends to read, if the export supports it.
    fn cache(&self, offset: u64, bytes: u64) -> ExportResult;

    /// Returns the status of the byte at `offset`, and the length of the run with this status: at most `bytes`, and a
    /// multiple of the minimum block size.
    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno>;
}
