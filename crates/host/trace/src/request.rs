//! The request that a host sends to a block device.

use crate::rwbs::Rwbs;

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
    /// Makes earlier writes durable; has no address.
    Flush = 3,
}

impl Op {
    /// All operations, in numeric order.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// Returns the operation that a word names; see [`Self::with_flags`].
    pub fn parse(text: &[u8]) -> Option<Self> {
        Self::with_flags(text).map(|(op, _)| op)
    }

    /// Returns the operation and flags that a word names, in any spelling found in traces:
    ///
    /// - RWBS strings ([`Rwbs`])
    /// - words and numbers: `READ`, `rd`, `0`; `Write`, `1`; `discard`; `sync`
    /// - SCSI commands in hexadecimal: `28`, `2a`
    /// - operations of key-value caches (memcached, Twitter, CacheLib): `get` reads; `set` and `incr` write; `delete`
    ///   trims
    pub fn with_flags(text: &[u8]) -> Option<(Self, u8)> {
        const WORDS: [(Op, &[&str]); 7] = [
            (Op::Read, &["r", "0", "read", "rd", "rs", "ra", "false", "diskread", "08", "28", "88", "a8"]),
            (
                Op::Write,
                &["w", "1", "write", "wr", "ws", "true", "diskwrite", "0a", "2a", "8a", "aa", "2e", "8e", "ae"],
            ),
            (Op::Trim, &["d", "t", "2", "trim", "discard", "unmap", "42"]),
            (Op::Flush, &["f", "3", "flush", "sync", "fsync", "diskflush", "35", "91"]),
            (Op::Read, &["get", "gets", "get_lease"]),
            (
                Op::Write,
                &["set", "set_lease", "add", "replace", "cas", "append", "prepend", "incr", "decr", "put", "update"],
            ),
            (Op::Trim, &["delete", "del"]),
        ];
        if let Some(rwbs) = Rwbs::parse(text) {
            // A flush without an operation, such as `FN`.
            let flush = (rwbs.flags & flag::PREFLUSH != 0).then_some(Self::Flush);
            return Some((rwbs.op.or(flush)?, rwbs.flags));
        }
        let is = |word: &&str| word.as_bytes().eq_ignore_ascii_case(text);
        WORDS.into_iter().find(|(_, words)| words.iter().any(is)).map(|(op, _)| (op, 0))
    }

    /// Returns the read or write that a word or its initial names, in any case; for formats with no other operations.
    #[inline]
    pub(crate) fn transfer(text: &[u8]) -> Option<Self> {
        match text {
            b"R" | b"r" => Some(Self::Read),
            b"W" | b"w" => Some(Self::Write),
            _ if text.eq_ignore_ascii_case(b"read") => Some(Self::Read),
            _ if text.eq_ignore_ascii_case(b"write") => Some(Self::Write),
            _ => None,
        }
    }

    /// Returns the lower-case name: `read`, `write`, `trim`, `flush`.
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
    /// Synchronous: a process waits for it (blktrace SYNC).
    pub const SYNC: u8 = 1;
    /// File-system metadata (blktrace META).
    pub const META: u8 = 2;
    /// Read-ahead; may be dropped (blktrace AHEAD).
    pub const AHEAD: u8 = 4;
    /// Forced unit access: durable on completion (blktrace FUA).
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
    /// First byte addressed on the device; 0 for a flush.
    pub offset: u64,
    /// Length in bytes; 0 only for a flush.
    pub bytes: u32,
    /// Operation.
    pub op: Op,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Index into the trace's stream (process) table; 0 means none.
    pub stream: u16,
}

impl Request {
    /// Returns the first byte after the request.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes as u64
    }

    /// True if the request ends beyond `bytes`. A flush has no address and never does.
    #[inline]
    pub const fn ends_beyond(&self, bytes: u64) -> bool {
        self.offset.saturating_add(self.bytes as u64) > bytes && !matches!(self.op, Op::Flush)
    }
}

/// A request and its place in the trace, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Place of the request in the trace: file and line, file and record, or row.
    pub place: String,
    /// Operation.
    pub op: Op,
    /// First byte addressed on the device.
    pub offset: u64,
    /// Length in bytes, before any split.
    pub bytes: u64,
}

impl Placed {
    /// Creates the entry of a request at `place`.
    pub fn at(place: String, request: &Request) -> Self {
        Self { place, op: request.op, offset: request.offset, bytes: request.bytes.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Op, flag};
    use crate::Format;
    use crate::testing::read;

    /// Operations of github.com/twitter/cache-trace and of CacheLib's key-value traces.
    #[test]
    fn operations_of_key_value_caches() {
        for (op, words) in [
            (Op::Read, "get gets GET GET_LEASE"),
            (Op::Write, "set add replace cas append prepend incr decr SET SET_LEASE"),
            (Op::Trim, "delete DELETE"),
        ] {
            assert!(words.split(' ').all(|word| Op::parse(word.as_bytes()) == Some(op)), "{words}");
        }
        assert_eq!(Op::parse(b"SAT"), None);
    }

    #[test]
    fn rwbs_strings_set_flags() {
        for (word, op, flags) in [
            ("WSM", Op::Write, flag::SYNC | flag::META),
            ("WFS", Op::Write, flag::FUA | flag::SYNC),
            ("DS", Op::Trim, flag::SYNC),
            ("RA", Op::Read, flag::AHEAD),
            ("FF", Op::Flush, flag::PREFLUSH),
            ("FN", Op::Flush, flag::PREFLUSH),
            ("ws", Op::Write, 0),
        ] {
            assert_eq!(Op::with_flags(word.as_bytes()), Some((op, flags)), "{word}");
        }
        assert_eq!((Op::parse(b"N"), Op::parse(b"ZR"), Op::parse(b"X")), (None, None, None));
    }

    #[test]
    fn words_in_any_case_and_scsi_commands() {
        for (op, words) in [
            (Op::Read, vec!["R", "read", "READ", "08", "28", "A8"]),
            (Op::Write, vec!["w", "Write", "0a", "0A", "2A", "2e", "8E", "ae"]),
        ] {
            assert!(words.iter().all(|word| Op::parse(word.as_bytes()) == Some(op)), "{words:?}");
        }
        for (format, line) in [
            (Format::Msr, "10,hm,0,OP,0,512,1\n"),
            (Format::Alibaba, "3,OP,0,512,10\n"),
            (Format::Spc, "0,0,512,OP,1.0\n"),
            (Format::Systor17, "1.0,,OP,3,0,512\n"),
        ] {
            for (op, words) in [(Op::Read, ["r", "R", "READ", "read"]), (Op::Write, ["w", "W", "WRITE", "Write"])] {
                for word in words {
                    let (requests, _) = read(format, &line.replace("OP", word));
                    assert_eq!(
                        requests.iter().map(|request| request.op).collect::<Vec<_>>(),
                        [op],
                        "{format:?} {word}"
                    );
                }
            }
        }
    }
}
