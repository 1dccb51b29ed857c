//! Entries of large maps.

use std::fmt;

/// A page number in a large map, or none.
///
/// It is kept as its complement: then none is zero, as memory is that the system gives, and an entry that was never set
/// takes none of it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Entry(pub(crate) u32);

impl Entry {
    /// No page.
    pub const NONE: Self = Self(0);

    /// That page; `u32::MAX` is none.
    #[inline(always)]
    pub const fn of(page: u32) -> Self {
        Self(!page)
    }

    /// The page; `u32::MAX` if there is none.
    #[inline(always)]
    pub const fn page(self) -> u32 {
        !self.0
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE { f.write_str("none") } else { self.page().fmt(f) }
    }
}
