//! Sizes of map caches and segments to compare.

/// Map cache and segment sizes to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapSizes {
    /// Size of a map entry in bytes, a power of two.
    pub entry_bytes: u32,
    /// Segment sizes in bytes, each a power of two from one entry to one page.
    pub segment_bytes: Vec<u32>,
    /// Cache sizes in bytes in ascending order. Each is a multiple of all segment sizes.
    pub cache_bytes: Vec<u64>,
}

impl MapSizes {
    /// Returns the segment and cache sizes of the map-cache slides that suit the page and entry size. Segment sizes are
    /// 1 to 8 KiB, but at most one page; with pages below 1 KiB, a segment is one page. For the cache sizes, see
    /// [`Self::usual_caches`].
    pub fn usual(page_bytes: u32, entry_bytes: u32) -> Self {
        let possible = |bytes: &u32| (entry_bytes..=page_bytes).contains(bytes);
        let segment_bytes: Vec<u32> = [1 << 10, 2 << 10, 4 << 10, 8 << 10].into_iter().filter(possible).collect();
        let segment_bytes = if segment_bytes.is_empty() { vec![page_bytes] } else { segment_bytes };
        Self { entry_bytes, cache_bytes: Self::usual_caches(&segment_bytes), segment_bytes }
    }

    /// Returns the cache sizes of the map-cache slides (8 to 512 KiB) that are multiples of all segment sizes. If there
    /// are none, returns seven sizes: the largest segment size and its doublings.
    pub fn usual_caches(segment_bytes: &[u32]) -> Vec<u64> {
        let largest = u64::from(segment_bytes.iter().max().copied().unwrap_or(1)).max(1);
        let caches: Vec<u64> = (13..20).map(|shift| 1 << shift).filter(|bytes| bytes % largest == 0).collect();
        if caches.is_empty() { (0..7).map(|shift| largest << shift).collect() } else { caches }
    }

    pub(crate) fn check(&self, page_bytes: u32) -> Result<(), String> {
        let entry = self.entry_bytes;
        if !entry.is_power_of_two() || entry > page_bytes {
            return Err(format!(
                "the entry size {} must be a power of two and at most the page size; use 4B",
                exact(entry.into())
            ));
        }
        for &segment in &self.segment_bytes {
            let written = exact(segment.into());
            if !segment.is_power_of_two() {
                let above = segment.checked_next_power_of_two().unwrap_or(1 << 31);
                let (below, above) = (exact((above / 2).into()), exact(above.into()));
                return Err(format!("the segment size {written} is not a power of two; use {below} or {above}"));
            }
            if segment > page_bytes {
                let page = exact(page_bytes.into());
                return Err(format!("the segment size {written} exceeds the page size; lower it to {page}"));
            }
            if segment < entry {
                let entry = exact(entry.into());
                return Err(format!("the segment size {written} is below the entry size {entry}; raise it to {entry}"));
            }
        }
        if self.segment_bytes.is_empty() || self.cache_bytes.is_empty() {
            return Err("no sizes to compare; set at least one segment size and one cache size".into());
        }
        // Segment sizes are powers of two, so a multiple of the largest size is a multiple of all sizes.
        let segment = self.segment_bytes.iter().max().copied().unwrap_or(1);
        if let Some(&cache) = self.cache_bytes.iter().find(|&&cache| cache == 0 || cache % u64::from(segment) != 0) {
            let possible = cache.max(1).checked_next_multiple_of(segment.into()).unwrap_or(segment.into());
            let (cache, segment, possible) = (exact(cache), exact(segment.into()), exact(possible));
            return Err(format!(
                "the cache size {cache} is not a multiple of the segment size {segment}; use {possible}"
            ));
        }
        Ok(())
    }
}

/// Formats a size exactly, in the largest unit that gives a whole number.
fn exact(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = if bytes == 0 { 0 } else { (bytes.trailing_zeros() / 10).min(4) };
    format!("{}{}", bytes >> (10 * step), UNITS[step as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_error(entry_bytes: u32, segment_bytes: &[u32], cache_bytes: &[u64]) -> String {
        let sizes = MapSizes { entry_bytes, segment_bytes: segment_bytes.to_vec(), cache_bytes: cache_bytes.to_vec() };
        sizes.check(8192).unwrap_err()
    }

    #[test]
    fn errors_name_the_invalid_size_and_a_valid_one() {
        for (entry_bytes, segment_bytes, cache_bytes, expected) in [
            (3, &[1024][..], &[8192][..], "entry size 3B must be a power of two"),
            (4, &[3072], &[8192], "3KiB is not a power of two; use 2KiB or 4KiB"),
            (4, &[16_384], &[16_384], "16KiB exceeds the page size; lower it to 8KiB"),
            (16, &[8], &[8192], "8B is below the entry size 16B"),
            (4, &[2048, 4096], &[8192, 10_240], "10KiB is not a multiple of the segment size 4KiB; use 12KiB"),
            (4, &[1024, 2048, 8192], &[3072], "3KiB is not a multiple of the segment size 8KiB; use 8KiB"),
            (4, &[2048], &[u64::MAX], "use 2KiB"),
            (4, &[2048], &[0], "0B is not a multiple of the segment size 2KiB; use 2KiB"),
            (4, &[0], &[8192], "0B is not a power of two"),
            (4, &[], &[8192], "no sizes"),
        ] {
            let error = check_error(entry_bytes, segment_bytes, cache_bytes);
            assert!(error.contains(expected), "{error}");
        }
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
