//! The request: what the host asks of a block device.

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Op {
    /// Read `bytes` at `offset`.
    Read = 0,
    /// Write `bytes` at `offset`.
    Write = 1,
    /// Discard `bytes` at `offset` (TRIM, UNMAP).
    Trim = 2,
    /// Make earlier writes durable; carries no address.
    Flush = 3,
}

impl Op {
    /// Every operation, in the order of its number.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// Lower-case name: `read`, `write`, `trim`, `flush`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
        }
    }
}

/// Bits of [`Request::flags`].
pub mod flag {
    /// The issuer waits for it (blktrace SYNC).
    pub const SYNC: u8 = 1;
    /// File-system metadata (blktrace META).
    pub const META: u8 = 2;
    /// Read-ahead: may be dropped (blktrace AHEAD).
    pub const AHEAD: u8 = 4;
    /// Durable before it completes (blktrace FUA).
    pub const FUA: u8 = 8;
    /// Earlier writes must be durable first (a flush carried by this request).
    pub const PREFLUSH: u8 = 16;
}

/// One request of a trace: 24 bytes, so that a billion of them stream through memory cheaply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Request {
    /// Arrival time in nanoseconds since the first request of the trace.
    pub time_ns: u64,
    /// First byte addressed on the device; 0 for a flush.
    pub offset: u64,
    /// Length in bytes; 0 only for a flush.
    pub bytes: u32,
    /// What to do.
    pub op: Op,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Index into the trace's table of streams (processes); 0 where the trace names none.
    pub stream: u16,
}

impl Request {
    /// First byte after the request.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes as u64
    }
}
