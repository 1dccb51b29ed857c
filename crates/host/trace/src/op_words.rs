//! Words and numbers that name an operation in traces.

use crate::request::{Op, flag};
use crate::rwbs::Rwbs;

impl Op {
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
            // A flush flag without a read, write or trim, as in `FN`, means a flush.
            let flush = (rwbs.flags & flag::PREFLUSH != 0).then_some(Self::Flush);
            return Some((rwbs.op.or(flush)?, rwbs.flags));
        }
        let is = |word: &&str| word.as_bytes().eq_ignore_ascii_case(text);
        WORDS.into_iter().find(|(_, words)| words.iter().any(is)).map(|(op, _)| (op, 0))
    }

    /// Returns the operation (read or write) that a word or its initial letter names, ignoring case. For formats that
    /// have only these two operations.
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
}

#[cfg(test)]
mod tests {
    use crate::testing::read;
    use crate::{Op, flag};

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
            ("msr", "10,hm,0,OP,0,512,1\n"),
            ("alibaba", "3,OP,0,512,10\n"),
            ("spc", "0,0,512,OP,1.0\n"),
            ("systor17", "1.0,,OP,3,0,512\n"),
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
