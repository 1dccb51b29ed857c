//! Typed `u32` page and block numbers, so that a logical page number cannot be used as a physical one.
//!
//! With `u32` page numbers, a drive can have 16 TiB of 4 KiB pages, and a map takes half the memory of a `u64` map.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The value for "no page" or "no block" in dense arrays.
            pub const NONE: Self = Self(u32::MAX);

            /// Returns the page or block number as an array index.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// True if this is a page or block number, not [`Self::NONE`].
            #[inline(always)]
            pub const fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                if self.is_some() { self.0.fmt(f) } else { f.write_str("none") }
            }
        }
    };
}

id!(
    /// Logical page number: the host's address divided by the page size.
    Lpn
);
id!(
    /// Physical page number: `block * pages_per_block + page in block`.
    Ppn
);
id!(
    /// Erase block number.
    BlockId
);
