//! An access to an item, which is identified by its number.

/// Value of [`Access::next`] if the item is not used again, or its next use is unknown.
pub const NEVER: u32 = u32::MAX;

/// An access to an item, or the removal of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Number of the item, unique in the trace.
    pub item: u32,
    /// Size of the item in units of the cache's capacity, at least 1; 0 for an access that removes the item (trim).
    pub size: u32,
    /// Position of the item's next access in the trace, or [`NEVER`]; only offline policies use it.
    pub next: u32,
}

impl Access {
    /// Creates an access whose next use is unknown.
    pub const fn new(item: u32, size: u32) -> Self {
        Self { item, size, next: NEVER }
    }

    /// Creates an access that removes the item from the cache.
    pub const fn drop(item: u32) -> Self {
        Self::new(item, 0)
    }

    /// True if the access removes the item instead of using it.
    #[inline]
    pub const fn is_drop(&self) -> bool {
        self.size == 0
    }
}
