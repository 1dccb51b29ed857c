//! How long pages are once they are compressed: a model, as simulated pages have no content.
//!
//! ```text
//! incompressible(page):  with the probability `incompressible`
//! length(page):          page_bytes / ratio * (1 + spread * x), rounded up, x evenly from -1 to 1
//! kept(page):            unless it is incompressible, or longer than `max_stored` of a page
//! ```
//! Both draws follow from the number of the page and a seed, so a page shrinks to the same length each time. The mean
//! length of the pages that shrink is that of `ratio`; that even spread is a simplification, as are contents that never
//! change. Pages longer than the limit are tried in vain: their share grows with `spread` and falls with `ratio`.

use ssdlab_core::Rng;

use crate::CacheError;

/// How pages shrink.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PageSizes {
    /// Raw bytes for each compressed one, over all pages that shrink; from 1.
    pub ratio: f64,
    /// Lengths differ from the mean by at most this share of it, 0 to 1.
    pub spread: f64,
    /// Share of the pages that do not shrink at all, 0 to 1.
    pub incompressible: f64,
    /// Compressed pages longer than this share of a page are not worth keeping, 0 to 1.
    pub max_stored: f64,
}

impl PageSizes {
    /// Whether such pages can be.
    ///
    /// # Errors
    /// A number is outside of its range.
    pub fn check(&self) -> Result<(), CacheError> {
        let Self { ratio, spread, incompressible, max_stored } = *self;
        let within = |field, value: f64, fits: bool, range| {
            if fits { Ok(()) } else { Err(CacheError::PageSizes { field, value: value.to_string(), range }) }
        };
        let share = |value: f64| (0.0..=1.0).contains(&value);
        within("ratio", ratio, (1.0..f64::INFINITY).contains(&ratio), "1 and more")?;
        within("spread", spread, share(spread), "0 to 1")?;
        within("incompressible", incompressible, share(incompressible), "0 to 1")?;
        within("max_stored", max_stored, share(max_stored), "0 to 1")
    }

    /// Length of `page` compressed; none if it is not worth keeping.
    pub fn stored_bytes(&self, page: u64, page_bytes: u32, seed: u64) -> Option<u32> {
        // Spread by the golden ratio, so that neighbouring pages of neighbouring seeds have nothing in common.
        let mut draws = Rng::named(seed ^ page.wrapping_mul(0x9E37_79B9_7F4A_7C15), "page size");
        if draws.unit() < self.incompressible {
            return None;
        }
        let page_bytes = f64::from(page_bytes);
        let factor = 1.0 + self.spread * (2.0 * draws.unit() - 1.0);
        let length = (page_bytes / self.ratio * factor).ceil().max(1.0);
        // What is as long as a page was not compressed.
        (length <= self.max_stored * page_bytes && length < page_bytes).then_some(length as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u32 = 4096;
    const LZ4: PageSizes = PageSizes { ratio: 2.13, spread: 0.5, incompressible: 0.0, max_stored: 0.75 };

    fn lengths(sizes: PageSizes) -> Vec<u32> {
        (0..100_000).filter_map(|page| sizes.stored_bytes(page, PAGE, 1)).collect()
    }

    #[test]
    fn lengths_have_the_mean_the_spread_and_the_share_asked_for() {
        let all = lengths(LZ4);
        let mean = all.iter().map(|&length| f64::from(length)).sum::<f64>() / all.len() as f64;
        // Rounding up adds half a byte; one standard error of the mean of an even spread is 1.8 bytes.
        assert!((mean - 0.5 - 4096.0 / 2.13).abs() < 6.0 * 1.8, "{mean}");
        assert_eq!(all.len(), 100_000);
        let (least, most) = (*all.iter().min().expect("pages"), *all.iter().max().expect("pages"));
        assert!((962..965).contains(&least) && (2882..=2885).contains(&most), "{least} {most}");
        let shrinking = lengths(PageSizes { incompressible: 0.3, ..LZ4 }).len();
        // Six standard deviations of a binomial count.
        assert!(shrinking.abs_diff(70_000) < 870, "{shrinking}");
    }

    #[test]
    fn without_spread_all_pages_are_as_long_as_the_ratio_says() {
        let even = PageSizes { spread: 0.0, ..LZ4 };
        assert!(lengths(even).iter().all(|&length| length == 1924));
        assert_eq!(lengths(even).len(), 100_000);
        assert_eq!(lengths(PageSizes { ratio: 4.0 / 3.0, ..even })[0], 3072);
        assert_eq!(lengths(PageSizes { ratio: 1.33, ..even }), []);
        assert_eq!(lengths(PageSizes { ratio: 1.0, max_stored: 1.0, ..even }), []);
        assert_eq!(lengths(PageSizes { ratio: 1e9, ..even })[0], 1);
    }

    #[test]
    fn sizes_follow_from_page_and_seed() {
        let some = |seed| (0..100).map(|page| LZ4.stored_bytes(page, PAGE, seed)).collect::<Vec<_>>();
        assert_eq!(some(1), some(1));
        assert_ne!(some(1), some(2));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (sizes, field) in [
            (PageSizes { ratio: 0.5, ..LZ4 }, "ratio"),
            (PageSizes { ratio: f64::NAN, ..LZ4 }, "ratio"),
            (PageSizes { spread: 1.5, ..LZ4 }, "spread"),
            (PageSizes { incompressible: -0.1, ..LZ4 }, "incompressible"),
            (PageSizes { max_stored: f64::NAN, ..LZ4 }, "max_stored"),
        ] {
            let error = sizes.check().expect_err("impossible").to_string();
            assert!(error.contains(field), "{error}");
        }
        assert_eq!(LZ4.check(), Ok(()));
    }
}
