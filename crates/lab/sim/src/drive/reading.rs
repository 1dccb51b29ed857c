//! Reads that are served in parts: pages that are transferred to the host separately, and pages from the read cache.

use ssdlab_core::Lpn;
use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::Flash;
use ssdlab_nand::backend::parallel::{JobKind, Requester};
use ssdlab_nand::{Cause, Counts};
use ssdlab_trace::Request;

use super::TimedDrive;
use super::event_loop::Owner;
use super::read_ahead::Cached;

impl TimedDrive {
    /// Reads the pages of a request, which come from the write buffer, the read cache or the flash. If pages are
    /// transferred separately, each page from the flash is a separate part, read by a separate job. Otherwise one job
    /// reads all these pages.
    pub(super) fn read_parts(&mut self, index: u32, request: &Request) {
        let (by_page, fetches) = (self.front.moves_pages(), self.map_fetches());
        let (owner, requester) = (Owner::Request(index).number(), self.requests[index].requester());
        let (buffer, cache) = (&mut self.buffer, &mut self.read_cache);
        let (mut parts, mut cached_parts) = (0, 0);
        // Number of bytes that the request still waits for, and size in bytes of the job being submitted.
        let (mut awaited_bytes, mut job_bytes) = (0, 0);
        self.stack.sinks.flash.submit(owner, requester, JobKind::Request);
        self.stack.take(request, |stack, offset, end| {
            for (page, part) in stack.page.parts(offset, end) {
                let (lpn, bytes) = (page as u32, (part.end - part.start) as u32);
                let is_buffered = buffer.as_ref().is_some_and(|stage| stage.buffer.newest(lpn).is_some());
                let cached = cache.as_mut().filter(|_| !is_buffered).and_then(|cache| cache.look_up(lpn, index));
                if let Some(cached) = cached {
                    stack.host.pages_read += 1;
                    if cached == Cached::Loading {
                        (cached_parts, awaited_bytes) = (cached_parts + 1, awaited_bytes + bytes);
                    }
                    continue;
                }
                let before = (stack.sinks.flash.counts(), stack.sinks.flash.under_way());
                match buffer {
                    Some(buffer) => buffer.access(stack, request, part.start, part.end),
                    None => stack.access(request, part.start, part.end),
                }
                let has_operations = stack.sinks.flash.under_way() > before.1;
                if !has_operations {
                    continue;
                }
                job_bytes += bytes;
                // The page may have caused only operations that the job does not wait for, such as writes of map pages.
                // A job ends only if it waits for at least one operation. So in this case, the next page joins the same
                // job.
                if by_page && has_only_awaited_reads(&(stack.sinks.flash.counts() - before.0)) {
                    (parts, awaited_bytes) = (parts + 1, awaited_bytes + job_bytes);
                    job_bytes = 0;
                    stack.sinks.flash.submit(owner, requester, JobKind::Request);
                }
            }
        });
        if self.stack.sinks.flash.submitted() > 0 {
            (parts, awaited_bytes) = (parts + 1, awaited_bytes + job_bytes);
        }
        (self.requests[index].parts, self.requests[index].cached_parts) = (parts, cached_parts);
        self.looked_up(index, fetches);
        if parts + cached_parts == 0 {
            self.served(index, self.now_ns(), 1);
        } else {
            if parts == 0 {
                self.wait_for_flash(index);
            }
            if by_page && request.bytes > awaited_bytes {
                self.leave_memory(index, request.bytes - awaited_bytes, 1);
            }
        }
        self.read_ahead(request, requester);
    }

    /// Reads the pages that follow a sequential stream into the read cache.
    fn read_ahead(&mut self, request: &Request, requester: Requester) {
        let Self { stack, buffer, read_cache: Some(cache), .. } = self else { return };
        let pages = cache.follow(request.offset, request.offset + u64::from(request.bytes));
        let mut in_memory = Vec::new();
        for page in pages.start..pages.end.min(stack.setup.logical_pages.into()) {
            let lpn = page as u32;
            let is_buffered = buffer.as_ref().is_some_and(|stage| stage.buffer.newest(lpn).is_some());
            if is_buffered || cache.contains(lpn) || stack.ftl.lookup(Lpn(lpn)).is_none() {
                continue;
            }
            if stack.sinks.flash.under_way() >= self.most_under_way {
                break;
            }
            let Some(slot) = cache.load(lpn) else { break };
            stack.sinks.flash.submit(Owner::ReadAhead(slot).number(), requester, JobKind::BufferedPage);
            stack.read(page * stack.page.bytes(), (page + 1) * stack.page.bytes());
            if stack.sinks.flash.submitted() == 0 {
                in_memory.push(slot);
            }
        }
        in_memory.into_iter().for_each(|slot| self.read_ahead_done(slot, 0));
    }

    /// Continues the requests that wait for a page that was read in advance; `began_ns` is the time when the read job
    /// began.
    pub(super) fn read_ahead_done(&mut self, slot: u32, began_ns: u64) {
        self.front.page_passes_dram(self.now_ns());
        let waiting = self.read_cache.as_mut().map(|cache| cache.loaded(slot)).unwrap_or_default();
        for index in waiting {
            self.requests[index].cached_parts -= 1;
            self.part_done(index, began_ns, 1);
        }
    }
}

/// Returns true if `emitted` contains only operations that a host read waits for: reads of host pages and map loads.
fn has_only_awaited_reads(emitted: &Counts) -> bool {
    let awaited = emitted.reads[Cause::Host as usize] + emitted.reads[Cause::MapLoad as usize];
    emitted.reads.iter().sum::<u64>() == awaited && emitted.programmed() == 0 && emitted.erased() == 0
}
