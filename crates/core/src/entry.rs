//! Entries of large maps, such as the map of an FTL.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// A map entry: a page number, or no page.
///
/// Stored as the complement of the number, so that "none" is zero. Zeroed memory from the system is then an empty map,
/// and entries that were never set occupy no memory.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Entry(u32);

impl Entry {
    /// Value of a map entry that refers to no page.
    pub const NONE: Self = Self(0);

    /// Creates a map entry that refers to page `page`; `u32::MAX` stands for no page.
    #[inline(always)]
    pub const fn of(page: u32) -> Self {
        Self(!page)
    }

    pub(crate) const fn to_le(self) -> Self {
        Self(self.0.to_le())
    }

    /// Returns the page to which the entry refers; `u32::MAX` if it refers to no page.
    #[inline(always)]
    pub const fn page(self) -> u32 {
        !self.0
    }
}

/// A map entry that several threads may set concurrently.
#[derive(Debug)]
#[repr(transparent)]
pub struct SharedEntry(AtomicU32);

impl SharedEntry {
    /// Overwrites the entry. Other threads see the new value.
    #[inline(always)]
    pub fn set(&self, entry: Entry) {
        self.0.store(entry.0, Ordering::Relaxed);
    }

    /// Returns the current entry.
    #[inline(always)]
    pub fn get(&self) -> Entry {
        Entry(self.0.load(Ordering::Relaxed))
    }

    /// Sets the entry if it still equals `known`; otherwise the error is the current entry.
    #[inline(always)]
    pub fn replace(&self, known: Entry, entry: Entry) -> Result<(), Entry> {
        let found = self.0.compare_exchange(known.0, entry.0, Ordering::AcqRel, Ordering::Acquire);
        found.map(|_| ()).map_err(Entry)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE { f.write_str("none") } else { self.page().fmt(f) }
    }
}
