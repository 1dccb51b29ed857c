//! Sizes of map caches and segments that advice compares.

/// Sizes to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapSizes {
    /// Bytes of a map entry, a power of two.
    pub entry_bytes: u32,
    /// Bytes of a segment, each a power of two from an entry to a page.
    pub segment_bytes: Vec<u32>,
    /// Bytes of a cache, ascending, each a multiple of every segment.
    pub cache_bytes: Vec<u64>,
}

impl MapSizes {
    /// The sizes of the document as far as pages and entries allow: segments of 1 to 8 KiB, or of a page if that is
    /// less; caches of 8 to 512 KiB, as far as they are multiples of all segments.
    pub fn usual(page_bytes: u32, entry_bytes: u32) -> Self {
        let possible = |bytes: &u32| (entry_bytes..=page_bytes).contains(bytes);
        let segment_bytes: Vec<u32> = [1 << 10, 2 << 10, 4 << 10, 8 << 10].into_iter().filter(possible).collect();
        let segment_bytes = if segment_bytes.is_empty() { vec![page_bytes] } else { segment_bytes };
        Self { entry_bytes, cache_bytes: Self::usual_caches(&segment_bytes), segment_bytes }
    }

    /// Caches of the document that are multiples of all these segments; seven from the largest segment on if none is.
    pub fn usual_caches(segment_bytes: &[u32]) -> Vec<u64> {
        let largest = u64::from(segment_bytes.iter().max().copied().unwrap_or(1)).max(1);
        let caches: Vec<u64> = (13..20).map(|shift| 1 << shift).filter(|bytes| bytes % largest == 0).collect();
        if caches.is_empty() { (0..7).map(|shift| largest << shift).collect() } else { caches }
    }

    pub(crate) fn check(&self, page_bytes: u32) -> Result<(), String> {
        let entry = self.entry_bytes;
        if !entry.is_power_of_two() || entry > page_bytes {
            return Err(format!("an entry of {} is not a power of two within a page; write 4B", exact(entry.into())));
        }
        for &segment in &self.segment_bytes {
            let written = exact(segment.into());
            if !segment.is_power_of_two() {
                let above = segment.checked_next_power_of_two().unwrap_or(1 << 31);
                let (below, above) = (exact((above / 2).into()), exact(above.into()));
                return Err(format!(
                    "a segment of {written} is not a power of two; the nearest are {below} and {above}"
                ));
            }
            if segment > page_bytes {
                let page = exact(page_bytes.into());
                return Err(format!(
                    "a segment of {written} exceeds a page of {page}; lower it to {page} or raise nand.page_size"
                ));
            }
            if segment < entry {
                return Err(format!("a segment of {written} holds no entry of {}; enlarge it", exact(entry.into())));
            }
        }
        if self.segment_bytes.is_empty() || self.cache_bytes.is_empty() {
            return Err("there is no size to compare; give at least one segment and one cache".into());
        }
        // Powers of two: what is a multiple of the largest is one of each.
        let segment = self.segment_bytes.iter().max().copied().unwrap_or(1);
        if let Some(&cache) = self.cache_bytes.iter().find(|&&cache| cache == 0 || cache % u64::from(segment) != 0) {
            let possible = cache.max(1).checked_next_multiple_of(segment.into()).unwrap_or(segment.into());
            let (cache, segment, possible) = (exact(cache), exact(segment.into()), exact(possible));
            return Err(format!("a cache of {cache} is not a multiple of segments of {segment}; write {possible}"));
        }
        Ok(())
    }
}

/// A size as it may be written: exactly, in the largest unit that gives a whole number.
fn exact(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = if bytes == 0 { 0 } else { (bytes.trailing_zeros() / 10).min(4) };
    format!("{}{}", bytes >> (10 * step), UNITS[step as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(entry_bytes: u32, segment_bytes: &[u32], cache_bytes: &[u64]) -> String {
        let sizes = MapSizes { entry_bytes, segment_bytes: segment_bytes.to_vec(), cache_bytes: cache_bytes.to_vec() };
        sizes.check(8192).unwrap_err()
    }

    #[test]
    fn sizes_that_do_not_fit_are_named() {
        assert!(refused(3, &[1024], &[8192]).contains("an entry of 3B is not a power of two"));
        assert!(refused(4, &[3072], &[8192]).contains("3KiB is not a power of two; the nearest are 2KiB and 4KiB"));
        assert!(refused(4, &[16_384], &[16_384]).contains("16KiB exceeds a page of 8KiB"));
        assert!(refused(16, &[8], &[8192]).contains("8B holds no entry of 16B"));
        assert!(
            refused(4, &[2048, 4096], &[8192, 10_240])
                .contains("10KiB is not a multiple of segments of 4KiB; write 12KiB")
        );
        assert!(
            refused(4, &[1024, 2048, 8192], &[3072]).contains("3KiB is not a multiple of segments of 8KiB; write 8KiB")
        );
        assert!(refused(4, &[2048], &[u64::MAX]).ends_with("write 2KiB"));
        assert!(refused(4, &[2048], &[0]).contains("0B is not a multiple of segments of 2KiB; write 2KiB"));
        assert!(refused(4, &[0], &[8192]).contains("0B is not a power of two"));
        assert!(refused(4, &[], &[8192]).contains("no size"));
    }

    #[test]
    fn usual_sizes_fit_every_page() {
        for page_shift in 9..21 {
            for entry_bytes in [1, 4, 64] {
                let sizes = MapSizes::usual(1 << page_shift, entry_bytes);
                assert_eq!(sizes.check(1 << page_shift), Ok(()), "pages of {} bytes", 1 << page_shift);
            }
        }
        assert_eq!(MapSizes::usual(8192, 4).cache_bytes.len() * MapSizes::usual(8192, 4).segment_bytes.len(), 28);
        assert_eq!(
            MapSizes::usual_caches(&[1 << 20]),
            [1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20]
        );
    }
}
