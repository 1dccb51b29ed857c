//! First pass over a trace for write intervals: finds the written pages and the range of their addresses.

use std::collections::{HashMap, TryReserveError};
use std::ops::Range;

use crate::{Op, Request, TraceError};

/// Smallest and largest page size in bytes.
const PAGE_BYTES: std::ops::RangeInclusive<u64> = 512..=1 << 30;

/// Pages that a trace writes: a 64-bit mask for every group of 64 pages with a write.
#[derive(Clone, Debug)]
pub struct WrittenPages {
    page_bytes: u64,
    page_writes: u64,
    pages: u64,
    extent: Range<u64>,
    /// Bit mask of the written pages of each group, by group number.
    masks: HashMap<u64, u64>,
}

/// Returns the pages that a request writes fully or partially; empty if the request is not a write.
pub(super) fn pages_of(request: &Request, page_bytes: u64) -> Range<u64> {
    if request.op != Op::Write || request.bytes == 0 {
        return 0..0;
    }
    let last = request.offset.saturating_add(u64::from(request.bytes) - 1);
    request.offset / page_bytes..last / page_bytes + 1
}

pub(super) fn no_memory(_refused: TryReserveError) -> TraceError {
    let why = "not enough memory for the write intervals; use larger pages with --page, or analyse only part of the \
               trace";
    TraceError::Invalid(why.into())
}

impl WrittenPages {
    /// Creates an empty set of written pages of `page_bytes` bytes. Fails unless this is between 512 B and 1 GiB.
    pub fn new(page_bytes: u64) -> Result<Self, TraceError> {
        if !PAGE_BYTES.contains(&page_bytes) {
            let why = format!("page size {page_bytes} bytes is invalid; use 512B to 1GiB");
            return Err(TraceError::Invalid(why));
        }
        Ok(Self { page_bytes, page_writes: 0, pages: 0, extent: 0..0, masks: HashMap::default() })
    }

    /// Adds requests in replay order. Fails if memory runs out.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            let pages = pages_of(request, self.page_bytes);
            if pages.is_empty() {
                continue;
            }
            self.page_writes += pages.end - pages.start;
            self.extent = if self.extent.is_empty() {
                pages.clone()
            } else {
                self.extent.start.min(pages.start)..self.extent.end.max(pages.end)
            };
            for group in pages.start / 64..=(pages.end - 1) / 64 {
                let low = pages.start.saturating_sub(group * 64);
                let high = (pages.end - 1 - group * 64).min(63);
                let touched = (u64::MAX >> (63 - high)) & (u64::MAX << low);
                self.masks.try_reserve(1).map_err(no_memory)?;
                let mask = self.masks.entry(group).or_default();
                self.pages += u64::from((touched & !*mask).count_ones());
                *mask |= touched;
            }
        }
        Ok(())
    }

    /// Returns the page size in bytes.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Returns the number of page writes. A request is counted once for each page that it touches.
    pub fn page_writes(&self) -> u64 {
        self.page_writes
    }

    /// Returns the number of distinct pages written.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns the range of the written pages: from the lowest page up to but not including the page after the highest.
    pub fn extent(&self) -> Range<u64> {
        self.extent.clone()
    }
}
