//! blktrace's category mask (`BLK_TC_*`, include/uapi/linux/blktrace_api.h), shared by the Linux formats.

use crate::{Op, flag};

pub(crate) const READ: u64 = 1 << 0;
pub(crate) const WRITE: u64 = 1 << 1;
pub(crate) const FLUSH: u64 = 1 << 2;
pub(crate) const SYNC: u64 = 1 << 3;
/// The event is a pass-through command.
pub(crate) const PC: u64 = 1 << 9;
/// The record is a note rather than an event.
pub(crate) const NOTIFY: u64 = 1 << 10;
pub(crate) const AHEAD: u64 = 1 << 11;
pub(crate) const META: u64 = 1 << 12;
pub(crate) const DISCARD: u64 = 1 << 13;
pub(crate) const FUA: u64 = 1 << 15;

const PAIRS: [(u64, u8); 5] =
    [(SYNC, flag::SYNC), (META, flag::META), (AHEAD, flag::AHEAD), (FUA, flag::FUA), (FLUSH, flag::PREFLUSH)];

/// Returns the request flags of a category mask.
#[inline]
pub(crate) fn flags(mask: u64) -> u8 {
    PAIRS.iter().fold(0, |flags, &(bit, flag)| if mask & bit != 0 { flags | flag } else { flags })
}

/// Returns the category mask of an operation and request flags.
pub(crate) fn of(op: Op, flags: u8) -> u64 {
    let op = match op {
        Op::Read => READ,
        Op::Write | Op::Flush => WRITE,
        Op::Trim => WRITE | DISCARD,
    };
    PAIRS.iter().fold(op, |mask, &(bit, flag)| if flags & flag != 0 { mask | bit } else { mask })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_flag_survives_the_mask() {
        for flags in 0..32 {
            assert_eq!(super::flags(super::of(crate::Op::Write, flags)), flags);
        }
    }
}
