//! RWBS strings: operation and flags as printed by the kernel's block tracepoints, blkparse and similar tools.
//!
//! Letters of an RWBS string, in order:
//!
//! 1. `F`: flush before the request
//! 2. operation: `R`, `W`, `D` (discard; `DE` secure erase), `F` (flush), `N` (no data), `WZ` (write zeroes); on zoned
//!    devices `ZA` (append), `ZR`, `ZO`, `ZC`, `ZF`
//! 3. flags: `F` (forced unit access), `A` (read-ahead), `B` (barrier, before Linux 2.6.37), `S` (sync), `M`
//!    (metadata), `E` (secure), `U` (atomic)
//!
//! Source: blk_fill_rwbs in kernel/trace/blktrace.c of Linux; blkparse_fmt.c.

use crate::{Op, flag};

/// A parsed RWBS string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rwbs {
    /// Operation of the request; `None` if the request moves no data and is not a flush.
    pub op: Option<Op>,
    /// Request flags: bits of [`flag`].
    pub flags: u8,
}

impl Rwbs {
    /// Parses an RWBS string; `None` if the kernel never prints it.
    #[inline]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (preflush, letters) = match text {
            // A lone F is the flush operation; before another operation it means "flush first".
            [b'F', rest @ ..] if rest.first().is_some_and(|letter| b"RWDFNZ".contains(letter)) => {
                (flag::PREFLUSH, rest)
            }
            _ => (0, text),
        };
        let (op, rest) = match letters {
            [b'R', rest @ ..] => (Some(Op::Read), rest),
            // WZ (write zeroes) counts as a write, as in blktrace's binary records.
            [b'W', b'Z', rest @ ..] | [b'Z', b'A', rest @ ..] | [b'W', rest @ ..] => (Some(Op::Write), rest),
            [b'D', rest @ ..] => (Some(Op::Trim), rest),
            [b'F', rest @ ..] => (Some(Op::Flush), rest),
            [b'N', rest @ ..] | [b'Z', b'R' | b'O' | b'C' | b'F', rest @ ..] => (None, rest),
            _ => return None,
        };
        let mut flags = preflush;
        for letter in rest {
            flags |= match letter {
                b'F' => flag::FUA,
                b'A' => flag::AHEAD,
                b'S' => flag::SYNC,
                b'M' => flag::META,
                // A barrier flushes all earlier writes first.
                b'B' => flag::PREFLUSH,
                b'E' | b'U' => 0,
                _ => return None,
            };
        }
        Some(Self { op, flags })
    }

    /// Returns the operation of a request of `bytes` bytes. A request without data whose preflush flag is set is a
    /// flush.
    #[inline]
    pub fn op_of(self, bytes: u64) -> Option<Op> {
        if bytes == 0 && self.flags & flag::PREFLUSH != 0 { Some(Op::Flush) } else { self.op }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values follow the order of letters in blk_fill_rwbs.
    #[test]
    fn every_kernel_string_parses() {
        let (sync, meta, ahead, fua, preflush) = (flag::SYNC, flag::META, flag::AHEAD, flag::FUA, flag::PREFLUSH);
        for (text, op, flags) in [
            ("R", Some(Op::Read), 0),
            ("RA", Some(Op::Read), ahead),
            ("RS", Some(Op::Read), sync),
            ("RM", Some(Op::Read), meta),
            ("RSM", Some(Op::Read), sync | meta),
            ("RAM", Some(Op::Read), ahead | meta),
            ("W", Some(Op::Write), 0),
            ("WS", Some(Op::Write), sync),
            ("WM", Some(Op::Write), meta),
            ("WSM", Some(Op::Write), sync | meta),
            ("WF", Some(Op::Write), fua),
            ("WFS", Some(Op::Write), fua | sync),
            ("WFSM", Some(Op::Write), fua | sync | meta),
            ("WSU", Some(Op::Write), sync),
            ("WB", Some(Op::Write), preflush),
            ("WBS", Some(Op::Write), preflush | sync),
            ("WZ", Some(Op::Write), 0),
            ("WZS", Some(Op::Write), sync),
            ("ZA", Some(Op::Write), 0),
            ("ZAS", Some(Op::Write), sync),
            ("FW", Some(Op::Write), preflush),
            ("FWS", Some(Op::Write), preflush | sync),
            ("FWFS", Some(Op::Write), preflush | fua | sync),
            ("FWFSM", Some(Op::Write), preflush | fua | sync | meta),
            ("D", Some(Op::Trim), 0),
            ("DS", Some(Op::Trim), sync),
            ("DE", Some(Op::Trim), 0),
            ("DSE", Some(Op::Trim), sync),
            ("F", Some(Op::Flush), 0),
            ("FS", Some(Op::Flush), sync),
            ("FF", Some(Op::Flush), preflush),
            ("FFS", Some(Op::Flush), preflush | sync),
            ("N", None, 0),
            ("NS", None, sync),
            ("FN", None, preflush),
            ("ZR", None, 0),
            ("ZO", None, 0),
            ("ZC", None, 0),
            ("ZF", None, 0),
        ] {
            assert_eq!(Rwbs::parse(text.as_bytes()), Some(Rwbs { op, flags }), "{text}");
        }
        for text in ["", "X", "Z", "ZX", "RX", "w", "ws", "RW", "WD", "READ", "WRITE", "FX"] {
            assert_eq!(Rwbs::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_preflush_without_data_is_a_flush() {
        for (text, bytes, op) in [
            ("FN", 0, Some(Op::Flush)),
            ("FWS", 0, Some(Op::Flush)),
            ("FWS", 512, Some(Op::Write)),
            ("W", 0, Some(Op::Write)),
            ("N", 0, None),
        ] {
            assert_eq!(Rwbs::parse(text.as_bytes()).unwrap().op_of(bytes), op, "{text} of {bytes} bytes");
        }
    }
}
