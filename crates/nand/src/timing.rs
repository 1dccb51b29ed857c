//! How long flash operations take on one chip and its bus.

use ssdlab_core::Nanos;

/// Durations of the operations of one chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Cell array to page register (t_R).
    pub read: Nanos,
    /// Page register to cell array (t_PROG).
    pub program: Nanos,
    /// Block erase (t_BERS).
    pub erase: Nanos,
    /// Bus transfer of 1,024 bytes between page register and controller.
    pub transfer_per_kib: Nanos,
    /// Whether internal copies stay inside the chip (copy-back) and skip both bus transfers.
    pub copyback: bool,
    /// Whether a host read transfers only the bytes asked for, not whole pages.
    pub partial_read: bool,
}

impl Timing {
    /// Bus time of so many bytes, rounded to the nearest nanosecond (halves up).
    pub const fn transfer(&self, bytes: u32) -> Nanos {
        Nanos((self.transfer_per_kib.0 * bytes as u64 + 512) / 1024)
    }
}
