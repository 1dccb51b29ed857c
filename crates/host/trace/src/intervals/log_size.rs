//! Parses the size of a log: a share of the written pages, a size in bytes, or a number of pages.

use ssdlab_core::Bytes;
use ssdlab_core::units::parse_percent;

use super::WrittenPages;
use crate::TraceError;

/// Size of a log. The size determines which writes are hot, warm or cold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LogSize {
    /// Share of the pages that the trace writes, as in `"10%"`; 1 means all pages.
    Share(f64),
    /// Size of the log in bytes, as in `"64MiB"`.
    Bytes(u64),
    /// Size of the log as a number of pages, as in `"4096"`.
    Pages(u64),
}

impl LogSize {
    /// Parses a share with `%`, a size with its unit, or a number of pages; fails for any other text.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let text = text.trim();
        let read = if text.ends_with('%') {
            parse_percent(text).ok().map(Self::Share)
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().ok().map(Self::Pages)
        } else {
            Bytes::parse(text).ok().map(|bytes| Self::Bytes(bytes.0))
        };
        read.ok_or_else(|| {
            TraceError::Invalid(format!(
                "{text:?} is not a log size; use a share of the written pages such as \"10%\", a size such as \
                 \"64MiB\" or a number of pages such as \"4096\""
            ))
        })
    }

    /// Returns the log size in pages. A size given as a share of the written pages is rounded to the nearest page. A
    /// size in bytes is rounded down. Fails if the log is smaller than a page.
    pub fn pages(&self, written: &WrittenPages) -> Result<u64, TraceError> {
        let (pages, text) = match *self {
            Self::Share(share) => {
                let pages = libm::round(share * written.pages() as f64) as u64;
                (pages, format!("{}% of {} written pages", share * 100.0, written.pages()))
            }
            Self::Bytes(bytes) => (bytes / written.page_bytes(), Bytes(bytes).to_string()),
            Self::Pages(pages) => (pages, format!("{pages} pages")),
        };
        if pages == 0 {
            let page = Bytes(written.page_bytes());
            let why = format!("a log of {text} is smaller than a page of {page}; use at least 1 page");
            return Err(TraceError::Invalid(why));
        }
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::testing::request;

    #[test]
    fn sizes_convert_to_pages() {
        let mut written = WrittenPages::new(4096).unwrap();
        written.add(&[request(0, Op::Write, 0, 1000 * 4096)]).unwrap();
        let pages =
            |text| LogSize::parse(text).and_then(|size| size.pages(&written)).map_err(|error| error.to_string());
        for (text, expected) in
            [("3%", 30), ("12.55 %", 126), ("250%", 2500), ("64MiB", 16_384), ("5000B", 1), ("7", 7)]
        {
            assert_eq!(pages(text), Ok(expected), "{text}");
        }
        assert_eq!(pages("0").unwrap_err(), "a log of 0 pages is smaller than a page of 4.00 KiB; use at least 1 page");
        assert_eq!(
            pages("0.01%").unwrap_err(),
            "a log of 0.01% of 1000 written pages is smaller than a page of 4.00 KiB; use at least 1 page"
        );
        assert!(pages("4095B").unwrap_err().contains("4.00 KiB is smaller than a page"));
        for wrong in ["", "-5%", "x", "5x", "99999999999999999999", "1.5", "%"] {
            assert!(pages(wrong).unwrap_err().contains("is not a log size"), "{wrong}");
        }
    }
}
