//! Converts byte ranges to page ranges: the pages that a byte range touches, covers completely or covers in part.
//!
//! A range is `offset..end` in bytes. An empty range touches no page.

use std::ops::Range;

/// Page size, a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageSize {
    shift: u32,
}

/// Pages of a device that a byte range touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pages {
    /// First page that the range touches.
    pub first: u32,
    /// Number of pages that the range touches.
    pub count: u32,
    /// True if the range covers only part of the first page.
    pub head: bool,
    /// True if the range covers only part of the last page, and the last page is not the first.
    pub tail: bool,
}

impl PageSize {
    /// Creates a page size of `bytes` bytes, which must be a power of two.
    pub const fn new(bytes: u32) -> Self {
        assert!(bytes.is_power_of_two(), "page size must be a power of two");
        Self { shift: bytes.trailing_zeros() }
    }

    /// Returns the number of bytes per page.
    #[inline(always)]
    pub const fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Returns the page that holds the byte at `offset`.
    #[inline(always)]
    pub const fn page_of(self, offset: u64) -> u64 {
        offset >> self.shift
    }

    /// Returns the first page that begins at or after `offset`.
    #[inline(always)]
    const fn page_from(self, offset: u64) -> u64 {
        (offset >> self.shift) + (offset & (self.bytes() - 1) != 0) as u64
    }

    /// Returns the pages that a range touches, even in part.
    #[inline(always)]
    pub const fn touched(self, offset: u64, end: u64) -> Range<u64> {
        let first = self.page_of(offset);
        first..if offset < end { self.page_from(end) } else { first }
    }

    /// Returns the pages that a range covers completely.
    #[inline(always)]
    pub const fn covered(self, offset: u64, end: u64) -> Range<u64> {
        let (first, after) = (self.page_from(offset), self.page_of(end));
        first..if first < after { after } else { first }
    }

    /// Returns the pages that a byte range of a device touches. The page numbers must fit in 32 bits.
    #[inline(always)]
    pub const fn split(self, offset: u64, end: u64) -> Pages {
        let first = self.page_of(offset);
        let in_page = self.bytes() - 1;
        // Fast path for the usual case, in which the range consists of whole pages.
        if (offset | end) & in_page == 0 {
            let count = self.page_of(end).saturating_sub(first);
            return Pages { first: first as u32, count: count as u32, head: false, tail: false };
        }
        if offset >= end {
            return Pages { first: first as u32, count: 0, head: false, tail: false };
        }
        let more = self.page_of(end - 1) - first;
        let (begins_inside, ends_inside) = (offset & in_page != 0, end & in_page != 0);
        Pages {
            first: first as u32,
            count: more as u32 + 1,
            head: begins_inside | (ends_inside & (more == 0)),
            tail: ends_inside & (more != 0),
        }
    }

    /// Iterates over the pages that a byte range touches, each with the bytes of the range that lie in the page.
    #[inline]
    pub fn parts(self, offset: u64, end: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
        self.touched(offset, end).map(move |page| {
            let begin = page << self.shift;
            (page, offset.max(begin)..end.min(begin + self.bytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: PageSize = PageSize::new(512);

    fn split(offset: u64, end: u64) -> (u32, u32, bool, bool) {
        let Pages { first, count, head, tail } = SIZE.split(offset, end);
        (first, count, head, tail)
    }

    #[test]
    fn ranges_may_begin_and_end_inside_pages() {
        assert_eq!(split(512, 1536), (1, 2, false, false));
        assert_eq!(split(513, 1536), (1, 2, true, false));
        assert_eq!(split(512, 1535), (1, 2, false, true));
        assert_eq!(split(1023, 1025), (1, 2, true, true));
        // If a range covers part of a single page, `head` is true and `tail` is false, even if the range ends before
        // the page.
        assert_eq!(split(512, 513), (1, 1, true, false));
        assert_eq!(split(513, 1024), (1, 1, true, false));
        assert_eq!(split(513, 514), (1, 1, true, false));
    }

    #[test]
    fn an_empty_range_touches_nothing() {
        for offset in [0, 1, 511, 512, 513, u64::MAX] {
            assert!(SIZE.touched(offset, offset).is_empty() && SIZE.covered(offset, offset).is_empty(), "{offset}");
            let Pages { count, head, tail, .. } = SIZE.split(offset, offset);
            assert_eq!((count, head, tail), (0, false, false), "{offset}");
            assert_eq!(SIZE.parts(offset, offset).count(), 0, "{offset}");
        }
    }

    #[test]
    fn the_last_page_number_is_valid() {
        let last = u64::MAX >> 9;
        assert_eq!(SIZE.touched(u64::MAX - 1, u64::MAX), last..last + 1);
        assert!(SIZE.covered(u64::MAX - 511, u64::MAX).is_empty());
        let device_bytes = 512 << 32;
        assert_eq!(split(device_bytes - 512, device_bytes), (u32::MAX, 1, false, false));
        assert_eq!(split(device_bytes - 513, device_bytes), (u32::MAX - 1, 2, true, false));
    }

    /// Checks every byte range over a few pages by counting byte by byte.
    #[test]
    fn pages_agree_with_counting_bytes() {
        const TINY: PageSize = PageSize::new(4);
        for offset in 0..16_u64 {
            for end in offset..=16 {
                let bytes_of = |page: u64| (offset..end).filter(|byte| byte / 4 == page).count();
                let touched: Vec<u64> = (0..4).filter(|&page| bytes_of(page) > 0).collect();
                let covered: Vec<u64> = (0..4).filter(|&page| bytes_of(page) == 4).collect();
                assert!(TINY.touched(offset, end).eq(touched.iter().copied()), "{offset}..{end}");
                assert!(TINY.covered(offset, end).eq(covered.iter().copied()), "{offset}..{end}");
                let pages = TINY.split(offset, end);
                let in_part = u32::from(pages.head) + u32::from(pages.tail);
                assert_eq!(pages.count - in_part, covered.len() as u32, "{offset}..{end}");
                let parts: Vec<_> = TINY.parts(offset, end).collect();
                assert!(parts.iter().map(|(page, _)| page).eq(&touched), "{offset}..{end}");
                assert!(parts.iter().flat_map(|(_, part)| part.clone()).eq(offset..end), "{offset}..{end}");
            }
        }
    }
}
