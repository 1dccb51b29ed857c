//! How much is written, and where: what must be known before intervals can be told.

use std::collections::{HashMap, TryReserveError};
use std::ops::Range;

use crate::{Op, Request, TraceError};

/// Smallest and largest page, bytes.
const PAGE_BYTES: std::ops::RangeInclusive<u64> = 512..=1 << 30;

/// The pages that a trace writes, from a first pass: a bit for each page of every 64 neighbours that one write touches.
#[derive(Clone, Debug)]
pub struct WrittenPages {
    page_bytes: u64,
    page_writes: u64,
    pages: u64,
    extent: Range<u64>,
    /// Pages of each 64, by the number of the 64.
    masks: HashMap<u64, u64>,
}

/// The pages a request writes; none unless it is a write. A page written in part counts as any other.
pub(super) fn pages_of(request: &Request, page_bytes: u64) -> Range<u64> {
    if request.op != Op::Write || request.bytes == 0 {
        return 0..0;
    }
    let last = request.offset.saturating_add(u64::from(request.bytes) - 1);
    request.offset / page_bytes..last / page_bytes + 1
}

/// What is said where pages take more memory than there is.
pub(super) fn no_memory(_refused: TryReserveError) -> TraceError {
    let why = "there is no memory for what is counted of each page written; take larger pages with --page, or a part of \
               the trace";
    TraceError::Intervals(why.into())
}

impl WrittenPages {
    /// Nothing written yet, in pages of this many bytes.
    ///
    /// # Errors
    ///
    /// Pages below 512 bytes or above 1 GiB.
    pub fn new(page_bytes: u64) -> Result<Self, TraceError> {
        if !PAGE_BYTES.contains(&page_bytes) {
            let why = format!("a page of {page_bytes} bytes is out of range: 512B to 1GiB");
            return Err(TraceError::Intervals(why));
        }
        Ok(Self { page_bytes, page_writes: 0, pages: 0, extent: 0..0, masks: HashMap::default() })
    }

    /// Adds requests in replay order.
    ///
    /// # Errors
    ///
    /// If the system refuses the memory that their pages take.
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

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Page writes of all requests: a request counts once for each page that it touches.
    pub fn page_writes(&self) -> u64 {
        self.page_writes
    }

    /// Different pages written.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// From the lowest page written to the one behind the highest.
    pub fn extent(&self) -> Range<u64> {
        self.extent.clone()
    }
}
