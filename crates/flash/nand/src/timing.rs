//! Durations of flash operations on a chip and its bus.

use ssdlab_core::Nanos;

/// Maximum number of page types. Pages that share multi-bit cells differ in speed.
pub const MAX_PAGE_TYPES: usize = 4;

/// A duration for each page type; page `p` of a block has type `p % types`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageTimes {
    times: [Nanos; MAX_PAGE_TYPES],
    types: u8,
}

impl PageTimes {
    /// Creates page times with the same duration for every page.
    pub const fn uniform(time: Nanos) -> Self {
        Self { times: [time; MAX_PAGE_TYPES], types: 1 }
    }

    /// Creates page times with one duration per page type, for 1 to 4 types.
    pub fn of(times: &[Nanos]) -> Option<Self> {
        let first = *times.first()?;
        let mut all = [first; MAX_PAGE_TYPES];
        all.get_mut(..times.len())?.copy_from_slice(times);
        Some(Self { times: all, types: times.len() as u8 })
    }

    /// Returns the duration of the operation on page `page` of a block.
    #[inline]
    pub const fn of_page(&self, page: u32) -> Nanos {
        if self.types == 1 { self.times[0] } else { self.times[(page % self.types as u32) as usize] }
    }

    /// Returns the durations by page type.
    pub fn by_type(&self) -> &[Nanos] {
        &self.times[..self.types as usize]
    }

    /// Returns the mean duration over the page types, rounded down.
    pub fn mean(&self) -> Nanos {
        let sum: u64 = self.by_type().iter().map(|time| time.0).sum();
        Nanos(sum / u64::from(self.types))
    }
}

/// Durations of the operations on a block in SLC mode, equal for all pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlcTimes {
    /// Time to read a page from the cell array to the page register.
    pub read: Nanos,
    /// Time to program a page from the page register to the cell array.
    pub program: Nanos,
    /// Time to erase a block.
    pub erase: Nanos,
}

/// Durations of the flash operations of one chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Time to read a page from the cell array to the page register (t_R).
    pub read: PageTimes,
    /// Time to program a page to the cell array (t_PROG); with two passes, of the coarse and the fine pass.
    pub program: PageTimes,
    /// Time to erase a block (t_BERS).
    pub erase: Nanos,
    /// Durations of flash operations on blocks in SLC mode; `None` if the drive does not use SLC mode.
    pub slc: Option<SlcTimes>,
    /// Time to transfer 1,024 bytes over the bus between page register and controller.
    pub transfer_per_kib: Nanos,
    /// True if internal copies stay inside the chip (copy-back) and need no bus transfers.
    pub copyback: bool,
    /// True if a host read transfers only the requested bytes, not whole pages.
    pub partial_read: bool,
}

impl Timing {
    /// Returns the time to read flash page `page` of a block; `slc` is true if the block is in SLC mode.
    #[inline]
    pub fn read_page(&self, slc: bool, page: u32) -> Nanos {
        self.slc.filter(|_| slc).map_or_else(|| self.read.of_page(page), |times| times.read)
    }

    /// Returns the time to program flash page `page` of a block; `slc` is true if the block is in SLC mode.
    #[inline]
    pub fn program_page(&self, slc: bool, page: u32) -> Nanos {
        self.slc.filter(|_| slc).map_or_else(|| self.program.of_page(page), |times| times.program)
    }

    /// Returns the times of the coarse and the fine pass of a program in two passes.
    #[inline]
    pub const fn passes(&self) -> [Nanos; 2] {
        [self.program.of_page(0), self.program.of_page(1)]
    }

    /// Returns the time to erase a block; `slc` is true if the block is in SLC mode.
    #[inline]
    pub fn erase_block(&self, slc: bool) -> Nanos {
        self.slc.filter(|_| slc).map_or(self.erase, |times| times.erase)
    }

    /// Returns the time to copy a page inside the flash, averaged over the page types.
    pub fn copy_mean(&self, page_bytes: u32) -> Nanos {
        let bus_ns = if self.copyback { 0 } else { 2 * self.transfer(page_bytes).0 };
        Nanos(self.read.mean().0 + self.program.mean().0 + bus_ns)
    }

    /// Returns the time to transfer `bytes` bytes over the bus, rounded to the nearest nanosecond (halves up).
    pub const fn transfer(&self, bytes: u32) -> Nanos {
        Nanos((self.transfer_per_kib.0 * bytes as u64 + 512) / 1024)
    }
}
