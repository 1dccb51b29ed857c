//! Models compressed page sizes, because simulated pages have no content.
//!
//! ```text
//! incompressible(page):  with probability `incompressible`
//! length(page):          page_bytes / ratio * (1 + spread * x), rounded up, x uniform in -1 to 1
//! kept(page):            unless incompressible, or longer than `max_stored` of a page
//! ```
//! Both random draws for a page depend only on page number and seed, so a page always compresses to the same length.
//! `ratio` gives the mean length of compressible pages. Uniform spread and unchanging content are simplifications. Time
//! spent on pages that end up longer than the limit is wasted. The share of such pages grows with `spread` and falls
//! with `ratio`.

use ssdlab_core::Rng;

use crate::CacheError;

/// Distribution of compressed page sizes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PageSizes {
    /// Mean compression ratio (uncompressed / compressed size) of compressible pages, at least 1.
    pub ratio: f64,
    /// Maximum deviation from the mean length as a share of the mean, 0 to 1.
    pub spread: f64,
    /// Share of incompressible pages, 0 to 1.
    pub incompressible: f64,
    /// Maximum length of a compressed page that is worth keeping, as a share of the page size, 0 to 1.
    pub max_stored: f64,
}

impl PageSizes {
    /// Checks that all parameters are within their ranges.
    pub fn check(&self) -> Result<(), CacheError> {
        let Self { ratio, spread, incompressible, max_stored } = *self;
        let within = |field, value: f64, fits: bool, range| {
            if fits { Ok(()) } else { Err(CacheError::PageSizes { field, value: value.to_string(), range }) }
        };
        let share = |value: f64| (0.0..=1.0).contains(&value);
        within("ratio", ratio, (1.0..f64::INFINITY).contains(&ratio), "1 or more")?;
        within("spread", spread, share(spread), "0 to 1")?;
        within("incompressible", incompressible, share(incompressible), "0 to 1")?;
        within("max_stored", max_stored, share(max_stored), "0 to 1")
    }

    /// Returns the compressed length of `page` in bytes; None if the page is too long to keep compressed.
    pub fn stored_bytes(&self, page: u64, page_bytes: u32, seed: u64) -> Option<u32> {
        // Spreads page numbers with the golden ratio, so that neighbouring pages and seeds get independent draws.
        let mut draws = Rng::named(seed ^ page.wrapping_mul(0x9E37_79B9_7F4A_7C15), "page size");
        if draws.unit() < self.incompressible {
            return None;
        }
        let page_bytes = f64::from(page_bytes);
        let factor = 1.0 + self.spread * (2.0 * draws.unit() - 1.0);
        let length = (page_bytes / self.ratio * factor).ceil().max(1.0);
        // A page that does not shrink is incompressible.
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
    fn lengths_match_ratio_spread_and_incompressible_share() {
        let all = lengths(LZ4);
        let mean = all.iter().map(|&length| f64::from(length)).sum::<f64>() / all.len() as f64;
        // Rounding compressed lengths up to whole bytes adds half a byte on average. The standard error of the mean
        // length is 1.8 bytes.
        assert!((mean - 0.5 - 4096.0 / 2.13).abs() < 6.0 * 1.8, "{mean}");
        assert_eq!(all.len(), 100_000);
        let (least, most) = (*all.iter().min().expect("pages"), *all.iter().max().expect("pages"));
        assert!((962..965).contains(&least) && (2882..=2885).contains(&most), "{least} {most}");
        let shrinking = lengths(PageSizes { incompressible: 0.3, ..LZ4 }).len();
        // The bound is six standard deviations of a binomial count.
        assert!(shrinking.abs_diff(70_000) < 870, "{shrinking}");
    }

    #[test]
    fn without_spread_all_lengths_equal_the_mean() {
        let even = PageSizes { spread: 0.0, ..LZ4 };
        assert!(lengths(even).iter().all(|&length| length == 1924));
        assert_eq!(lengths(even).len(), 100_000);
        assert_eq!(lengths(PageSizes { ratio: 4.0 / 3.0, ..even })[0], 3072);
        assert_eq!(lengths(PageSizes { ratio: 1.33, ..even }), []);
        assert_eq!(lengths(PageSizes { ratio: 1.0, max_stored: 1.0, ..even }), []);
        assert_eq!(lengths(PageSizes { ratio: 1e9, ..even })[0], 1);
    }

    #[test]
    fn sizes_depend_only_on_page_and_seed() {
        let first_sizes = |seed| (0..100).map(|page| LZ4.stored_bytes(page, PAGE, seed)).collect::<Vec<_>>();
        assert_eq!(first_sizes(1), first_sizes(1));
        assert_ne!(first_sizes(1), first_sizes(2));
    }

    #[test]
    fn invalid_options_are_named() {
        for (sizes, field) in [
            (PageSizes { ratio: 0.5, ..LZ4 }, "ratio"),
            (PageSizes { ratio: f64::NAN, ..LZ4 }, "ratio"),
            (PageSizes { spread: 1.5, ..LZ4 }, "spread"),
            (PageSizes { incompressible: -0.1, ..LZ4 }, "incompressible"),
            (PageSizes { max_stored: f64::NAN, ..LZ4 }, "max_stored"),
        ] {
            let error = sizes.check().expect_err("the option is invalid").to_string();
            assert!(error.contains(field), "{error}");
        }
        assert_eq!(LZ4.check(), Ok(()));
    }
}
