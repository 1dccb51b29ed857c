//! Requests that a host sends to a block device.

/// Operation of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Op {
    /// The request reads `bytes` at `offset`.
    Read = 0,
    /// The request writes `bytes` at `offset`.
    Write = 1,
    /// The request discards `bytes` at `offset` (TRIM, UNMAP).
    Trim = 2,
    /// The request makes earlier writes durable; it has no address.
    Flush = 3,
}

impl Op {
    /// All operations, in numeric order.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// Returns the operation's lower-case name: `read`, `write`, `trim`, `flush`.
    pub const fn name(self) -> &'static str {
        ["read", "write", "trim", "flush"][self as usize]
    }
}

/// Size of a sector in bytes, the unit of addresses in many formats.
pub(crate) const SECTOR: u64 = 512;

/// Bits of [`Request::flags`].
pub mod flag {
    /// Synchronous request: a process waits for it (blktrace SYNC).
    pub const SYNC: u8 = 1;
    /// Request for file-system metadata (blktrace META).
    pub const META: u8 = 2;
    /// Read-ahead request, which may be dropped (blktrace AHEAD).
    pub const AHEAD: u8 = 4;
    /// Forced unit access: the data is durable on completion (blktrace FUA).
    pub const FUA: u8 = 8;
    /// Flush before the request: earlier writes must be durable first.
    pub const PREFLUSH: u8 = 16;
}

/// One request of a trace; 24 bytes, to keep streaming cheap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Request {
    /// Arrival time in nanoseconds since the first request of the trace.
    pub time_ns: u64,
    /// Byte offset on the device; 0 for a flush.
    pub offset: u64,
    /// Length of the request in bytes; 0 only for a flush.
    pub bytes: u32,
    /// Operation of the request.
    pub op: Op,
    /// Request flags: bits of [`flag`].
    pub flags: u8,
    /// Index into the trace's stream (process) table; 0 means none.
    pub stream: u16,
}

impl Request {
    /// Returns the address of the first byte after the request.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes as u64
    }

    /// Returns the address of the first byte after the request, limited to the largest 64-bit address.
    pub(crate) const fn end_or_last(&self) -> u64 {
        self.offset.saturating_add(self.bytes as u64)
    }

    /// True if the request ends beyond `bytes`; false for a flush, which has no address.
    #[inline]
    pub const fn ends_beyond(&self, bytes: u64) -> bool {
        self.end_or_last() > bytes && !matches!(self.op, Op::Flush)
    }
}

/// A request with its location in the trace, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Location of the request in the trace: file and line, file and record, or row.
    pub place: String,
    /// Operation of the request.
    pub op: Op,
    /// Byte offset of the request on the device.
    pub offset: u64,
    /// Length of the request in bytes, before any split.
    pub bytes: u64,
}

impl Placed {
    /// Creates the description of a request at the given location in the trace.
    pub fn at(place: String, request: &Request) -> Self {
        Self { place, op: request.op, offset: request.offset, bytes: request.bytes.into() }
    }
}
