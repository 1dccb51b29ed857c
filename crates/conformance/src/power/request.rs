//! Host requests for drives that lose power.

use std::fmt::{self, Display, Formatter};

use ssdlab_core::Rng;
use ssdlab_ftl::Shape;

/// A host request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Writes a range of pages, given by its first page and page count.
    Write(u32, u32),
    /// Reads a range of pages, given by its first page and page count.
    Read(u32, u32),
    /// Trims a range of pages, given by its first page and page count.
    Trim(u32, u32),
    /// Runs background garbage collection, given the plane and the approximate number of pages to collect.
    Collect(u32, u32),
    /// Flushes the drive: makes all earlier writes durable.
    Flush,
}

impl Request {
    /// Returns the request in the syntax of `ssdlab explain`; None if `ssdlab explain` does not support the request.
    pub(crate) fn explained(&self) -> Option<String> {
        match *self {
            Self::Write(first, count) => Some(pages(first, count)),
            Self::Read(first, count) => Some(format!("r{}", pages(first, count))),
            Self::Trim(first, count) => Some(format!("t{}", pages(first, count))),
            Self::Collect(..) | Self::Flush => None,
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Write(first, count) => write!(f, "write {}", pages(first, count)),
            Self::Read(first, count) => write!(f, "read {}", pages(first, count)),
            Self::Trim(first, count) => write!(f, "trim {}", pages(first, count)),
            Self::Collect(plane, count) => {
                write!(f, "garbage-collect about {count} pages of plane {plane} in the background")
            }
            Self::Flush => f.write_str("flush"),
        }
    }
}

/// Formats a range of pages, such as `4` or `4-7`.
fn pages(first: u32, count: u32) -> String {
    if count == 1 { first.to_string() } else { format!("{first}-{}", first + count - 1) }
}

/// Generates random requests. Half of the requests go to a few hot pages.
pub fn requests(shape: Shape, seed: u64, count: usize) -> Vec<Request> {
    let mut rng = Rng::named(seed, "requests");
    let pages = u64::from(shape.logical_pages);
    let mut request = || {
        let first = if rng.below(2) == 0 { rng.below(pages) } else { rng.below(pages.min(6)) } as u32;
        let most = (shape.logical_pages - first).min(2 * shape.pages_per_block);
        let most = if rng.below(4) == 0 { most } else { 1 };
        let pages = 1 + rng.below(u64::from(most)) as u32;
        match rng.below(12) {
            0 => Request::Trim(first, pages),
            1 => Request::Collect(first % shape.planes, pages),
            2 if shape.program_unit > 1 => Request::Flush,
            _ => Request::Write(first, pages),
        }
    };
    (0..count).map(|_| request()).collect()
}
