//! Counters of the requests of the host.

use ssdlab_core::{Pages, counters};
use ssdlab_trace::Op;

counters! {
    /// Counts of host requests in the measured phase.
    pub struct HostCounters {
        read_requests: "requests", "Read requests.";
        write_requests: "requests", "Write requests.";
        trim_requests: "requests", "Trim requests.";
        flush_requests: "requests", "Flush requests; they wait for flash only if the drive has a write buffer \
                                     without power-loss protection.";
        bytes_read: "bytes", "Bytes read.";
        bytes_written: "bytes", "Bytes written.";
        bytes_trimmed: "bytes", "Bytes trimmed, including partial pages.";
        pages_read: "pages", "Logical pages touched by reads.";
        pages_written: "pages", "Logical pages touched by writes.";
        pages_trimmed: "pages", "Logical pages wholly covered by trims.";
        unmapped_pages_read: "pages", "Reads of pages that were never written or have been trimmed; they return zeros \
                                       at no cost.";
        partial_pages_written: "pages", "Partial page writes; the rest of the page is read first, unless it is empty \
                                         or in the write buffer.";
        wrapped_requests: "requests", "Requests past the end of the device that `--fit wrap` wrapped around.";
    }
}

impl HostCounters {
    /// Counts a host request.
    #[inline(always)]
    pub fn count(&mut self, op: Op, bytes: u64) {
        match op {
            Op::Read => {
                self.read_requests += 1;
                self.bytes_read += bytes;
            }
            Op::Write => {
                self.write_requests += 1;
                self.bytes_written += bytes;
            }
            Op::Trim => {
                self.trim_requests += 1;
                self.bytes_trimmed += bytes;
            }
            Op::Flush => self.flush_requests += 1,
        }
    }

    /// Counts pages that the host writes.
    #[inline(always)]
    pub fn count_written(&mut self, pages: Pages) {
        self.pages_written += u64::from(pages.count);
        self.partial_pages_written += u64::from(pages.head) + u64::from(pages.tail);
    }
}
