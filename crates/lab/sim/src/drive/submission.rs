//! The path of a request through the drive: from its queue through controller and link to FTL and flash, and back.

use ssdlab_core::InBucket;
use ssdlab_nand::backend::parallel::{JobKind, NEVER};
use ssdlab_sched::RequestId;
use ssdlab_trace::{Op, Request};

use super::event_loop::Owner;
use super::front::Transfer;
use super::{Completed, InFlightRequest, TimedDrive};
use crate::host::block::{BlockStage, HostRequest};
use crate::host::cache::in_time::CacheStage;
use crate::host::fit::runs;
use crate::host::replay::Issued;
use crate::observe::breakdown::Part;
use crate::run::error::SimError;

impl TimedDrive {
    /// Puts a request into its queue between host and drive.
    #[inline(always)]
    pub(super) fn enter(&mut self, issued: Issued, cache_number: u32, block: Option<RequestId>) {
        let Issued { request, time_ns: issued_ns } = issued;
        let queue = self.queues.queue_of(request.stream);
        let index = self.requests.insert(InFlightRequest {
            request,
            cache_number,
            block,
            issued_ns,
            taken_ns: 0,
            submitted_ns: 0,
            began_ns: NEVER,
            waited_ns: 0,
            queue,
            number: 0,
            met_other: false,
            moved_bytes: 0,
            parts: 0,
            cached_parts: 0,
            lookup_ns: 0,
            sending: 0,
            has_stalled: false,
        });
        if let Some(attribution) = &mut self.attribution {
            attribution.enter(index, issued_ns);
            if !self.takes_requests() {
                self.wait_for_flash(index);
            }
        }
        self.queues.push(queue, index);
    }

    /// Returns true if the drive may take more requests from the queues. A drive without a write buffer takes none
    /// while the maximum number of flash operations is in flight.
    fn takes_requests(&self) -> bool {
        self.buffer.is_some() || self.stack.sinks.flash.under_way() < self.most_under_way
    }

    /// Takes requests from the queues while the drive has room for them.
    #[inline(always)]
    pub(super) fn take_requests(&mut self) -> Result<(), SimError> {
        while self.queues.waiting() > 0
            && self.takes_requests()
            && let Some(index) = self.queues.take()
        {
            let now_ns = self.now_ns();
            let request = &mut self.requests[index];
            request.taken_ns = now_ns;
            request.met_other = self.meters.entered_drive(request.request.op);
            let request = request.request;
            self.waited_for_flash(index);
            self.charge(index, Part::HostQueue);
            if !self.front.command(index, &request, now_ns) {
                self.receive(index)?;
            }
        }
        Ok(())
    }

    /// Advances the requests that the controller or the link has finished processing.
    pub(super) fn advance_front(&mut self) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        while let Some(index) = self.front.commands.pop(now_ns) {
            self.receive(index)?;
        }
        while let Some(data) = self.front.incoming.pop(now_ns) {
            self.received(data)?;
        }
        while let Some(data) = self.front.looked_up.pop(now_ns) {
            self.charge_data(data, Part::HostMemory);
            if self.requests[data.request].request.op == Op::Read {
                self.move_out(data);
            } else {
                self.end(data.request);
            }
        }
        while let Some(data) = self.front.in_dram.pop(now_ns) {
            self.charge_data(data, Part::Controller);
            if self.requests[data.request].request.op == Op::Write {
                self.store(data)?;
            } else {
                self.send_out(data);
            }
        }
        while let Some(data) = self.front.outgoing.pop(now_ns) {
            self.transferred(data);
        }
        while let Some(index) = self.front.throttled.pop(now_ns) {
            self.charge(index, Part::Controller);
            self.begin_completion(index);
        }
        while let Some(index) = self.front.completions.pop(now_ns) {
            self.complete(index);
        }
        Ok(())
    }

    /// Moves the data of a write over the link to the drive. Submits other requests at once.
    fn receive(&mut self, index: u32) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        self.charge(index, Part::Controller);
        let Request { op, offset, bytes, .. } = self.requests[index].request;
        if op != Op::Write {
            return self.submit(index);
        }
        let by_page = self.front.moves_pages() && self.buffer.is_some();
        let page_bytes = self.stack.page.bytes();
        let mut left = bytes;
        while left > 0 {
            let begin = offset + u64::from(bytes - left);
            let part = if by_page { left.min((page_bytes - begin % page_bytes) as u32) } else { left };
            left -= part;
            let dram_passes = if self.buffer.is_some() { 1 } else { 2 };
            let data = Transfer { request: index, bytes: part, dram_passes };
            if !self.front.receive(data, now_ns) {
                self.received(data)?;
            }
        }
        Ok(())
    }

    /// Moves data that has arrived over the host link into the DRAM. Without a write buffer, the data also leaves the
    /// DRAM for the flash.
    fn received(&mut self, data: Transfer) -> Result<(), SimError> {
        self.charge(data.request, Part::Link);
        if self.front.pass_dram(data, self.now_ns()) { Ok(()) } else { self.store(data) }
    }

    /// Passes data of a write to the write buffer, or to the FTL if the drive has no write buffer.
    fn store(&mut self, Transfer { request: index, bytes, .. }: Transfer) -> Result<(), SimError> {
        if self.buffer.is_none() {
            return self.submit(index);
        }
        let in_flight = &mut self.requests[index];
        let write = in_flight.request;
        let offset = (write.offset + u64::from(in_flight.moved_bytes)) % self.stack.setup.capacity_bytes();
        in_flight.moved_bytes += bytes;
        let (is_first, is_last) = (in_flight.moved_bytes == bytes, in_flight.moved_bytes == write.bytes);
        if is_first {
            self.begin(index);
            self.stack.host.count(Op::Write, write.bytes.into());
        }
        self.requests[index].submitted_ns = self.now_ns();
        self.collection.changed();
        self.write_to_buffer(index, &Request { offset, bytes, ..write }, is_last)
    }

    /// Assigns a sequence number to a request that the FTL or the write buffer receives.
    fn begin(&mut self, index: u32) {
        self.stack.requests += 1;
        let now_ns = self.now_ns();
        let in_flight = &mut self.requests[index];
        in_flight.submitted_ns = now_ns;
        in_flight.number = self.stack.requests;
        if in_flight.request.op != Op::Read {
            self.collection.changed();
        }
    }

    /// Submits a request to the FTL. A flush request goes to the write buffer, if the drive has one.
    #[inline(always)]
    fn submit(&mut self, index: u32) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        self.begin(index);
        let in_flight = &self.requests[index];
        let (request, requester) = (in_flight.request, in_flight.requester());
        if self.buffer.is_some() && request.op == Op::Flush {
            self.stack.host.count(Op::Flush, request.bytes.into());
            self.make_safe(index);
            return Ok(());
        }
        let fetches = self.map_fetches();
        if request.op == Op::Read && (self.front.moves_pages() || self.read_cache.is_some()) {
            self.read_parts(index, &request);
            return Ok(());
        }
        if let Some(cache) = &mut self.read_cache {
            for (offset, end) in runs(&request, self.stack.setup.capacity_bytes()) {
                self.stack.page.touched(offset, end).for_each(|page| cache.drop_page(page as u32));
            }
        }
        self.stack.sinks.flash.submit(Owner::Request(index).number(), requester, JobKind::Request);
        let buffer = &mut self.buffer;
        self.stack.take(&request, |stack, offset, end| match buffer {
            Some(buffer) => buffer.access(stack, &request, offset, end),
            None => stack.access(&request, offset, end),
        });
        let left = self.stack.sinks.flash.submitted();
        self.looked_up(index, fetches);
        if left == 0 {
            self.served(index, now_ns, 1);
        }
        if self.buffer.is_some() {
            // The page that was just trimmed in the buffer may have been the last page that a flush waited for.
            self.page_left_buffer();
            self.flush_buffer();
        }
        Ok(())
    }

    /// Returns the number of fetches of map entries from host memory so far.
    pub(super) fn map_fetches(&self) -> u64 {
        self.stack.sinks.own_map_memory.as_ref().map_or(0, |memory| memory.fetches)
    }

    /// Delays a request if its look-ups have fetched map entries from host memory; `before` is the number of fetches
    /// before these look-ups.
    pub(super) fn looked_up(&mut self, index: u32, before: u64) {
        if let Some(memory) = &self.stack.sinks.own_map_memory {
            self.requests[index].lookup_ns = memory.delay_ns(before);
        }
    }

    /// Continues a request when one of its jobs in the flash has ended; `began_ns` is the time when the job began.
    pub(super) fn flash_done(&mut self, index: u32, began_ns: u64) {
        let in_flight = &mut self.requests[index];
        in_flight.parts = in_flight.parts.saturating_sub(1);
        if in_flight.parts == 0 {
            let waits_for_cache = in_flight.cached_parts > 0;
            if let Some(attribution) = &mut self.attribution {
                attribution.charge_flash(index, &self.stack.sinks.flash);
            }
            if waits_for_cache {
                self.wait_for_flash(index);
            }
        }
        self.part_done(index, began_ns, 2);
    }

    /// Continues a request after the flash has read a part of its data. The data of this part crosses the DRAM
    /// interface `dram_passes` times.
    pub(super) fn part_done(&mut self, index: u32, began_ns: u64, dram_passes: u32) {
        let in_flight = &mut self.requests[index];
        in_flight.began_ns = in_flight.began_ns.min(began_ns.max(in_flight.submitted_ns));
        let InFlightRequest { request, parts, cached_parts, moved_bytes, began_ns, .. } = *in_flight;
        let left = parts + cached_parts;
        if left == 0 {
            self.waited_for_flash(index);
            self.served(index, began_ns, dram_passes);
        } else if self.front.moves_pages() {
            self.leave_memory(index, (request.bytes - moved_bytes) / (left + 1), dram_passes);
        }
    }

    /// Ends the service of a request in buffer and flash, which began at `began_ns`, and returns the request to the
    /// host. The remaining data of a read crosses the DRAM interface `dram_passes` times.
    pub(super) fn served(&mut self, index: u32, began_ns: u64, dram_passes: u32) {
        let in_flight = &mut self.requests[index];
        in_flight.waited_ns = (in_flight.taken_ns - in_flight.issued_ns) + (began_ns - in_flight.submitted_ns);
        let InFlightRequest { request, moved_bytes, lookup_ns, .. } = *in_flight;
        if request.op == Op::Read {
            self.leave_memory(index, request.bytes - moved_bytes, dram_passes);
        } else if lookup_ns > 0 {
            let now_ns = self.now_ns();
            let data = Transfer { request: index, bytes: 0, dram_passes: 0 };
            self.front.looked_up.enter(data, now_ns, now_ns + lookup_ns);
        } else {
            self.end(index);
        }
    }

    /// Moves data of a read to the host, after the delay caused by map look-ups in host memory.
    pub(super) fn leave_memory(&mut self, index: u32, bytes: u32, dram_passes: u32) {
        let now_ns = self.now_ns();
        let in_flight = &mut self.requests[index];
        in_flight.moved_bytes += bytes;
        in_flight.sending += 1;
        let data = Transfer { request: index, bytes, dram_passes };
        if !self.front.looked_up.enter(data, now_ns, now_ns + self.requests[index].lookup_ns) {
            self.move_out(data);
        }
    }

    /// Moves data of a read through the DRAM and over the link to the host.
    fn move_out(&mut self, data: Transfer) {
        if !self.front.pass_dram(data, self.now_ns()) {
            self.send_out(data);
        }
    }

    fn send_out(&mut self, data: Transfer) {
        if !self.front.send(data, self.now_ns()) {
            self.transferred(data);
        }
    }

    /// Ends a transfer of a read's data to the host.
    fn transferred(&mut self, data: Transfer) {
        self.charge_data(data, Part::Link);
        let in_flight = &mut self.requests[data.request];
        in_flight.sending -= 1;
        if in_flight.parts + in_flight.cached_parts + in_flight.sending == 0 {
            self.end(data.request);
        }
    }

    /// Ends a request that needs no further data transfer. If the drive throttles, the request is delayed first.
    fn end(&mut self, index: u32) {
        let now_ns = self.now_ns();
        let InFlightRequest { request: Request { op, bytes, .. }, taken_ns, .. } = self.requests[index];
        if let Some(throttle) = &mut self.throttle {
            let delay_ns = throttle.request_served(op, bytes, now_ns - taken_ns, now_ns);
            if self.front.throttled.enter(index, now_ns, now_ns + delay_ns) {
                return;
            }
        }
        self.begin_completion(index);
    }

    /// Lets the controller complete a request.
    fn begin_completion(&mut self, index: u32) {
        if !self.front.completion(index, self.requests[index].request.op, self.now_ns()) {
            self.complete(index);
        }
    }

    /// Completes a request that the drive has served, and returns it to the block layer or the host.
    fn complete(&mut self, index: u32) {
        let now_ns = self.now_ns();
        self.charge(index, Part::Controller);
        let InFlightRequest { request, cache_number, block, issued_ns, taken_ns, waited_ns, queue, met_other, .. } =
            self.requests[index];
        self.meters.left_drive(request.op, met_other, now_ns - taken_ns);
        self.requests.remove(index);
        self.queues.leave(queue);
        match block {
            None => self.finish(&HostRequest { request, cache_number, issued_ns }, Some(index), waited_ns),
            Some(id) => {
                self.block.as_mut().expect("the block layer sent the request").completed(id, now_ns);
                self.finish_host_requests(Some(index), now_ns - issued_ns - waited_ns);
                self.pull_from_block_layer();
            }
        }
    }

    /// Completes the requests that the block layer has finished. `index` is the request in the drive that completed
    /// these requests, if any; `service_ns` is the service time of this request.
    #[inline(always)]
    pub(super) fn finish_host_requests(&mut self, index: Option<u32>, service_ns: u64) {
        while let Some(request) = self.block.as_mut().and_then(BlockStage::take_done) {
            // Subtracting the service time is correct for merged bios too: they were issued before the service began.
            let waited_ns = (self.now_ns() - request.issued_ns).saturating_sub(service_ns);
            self.finish(&request, index, waited_ns);
        }
    }

    /// Completes a request of the host or the cache. `index` identifies the request in the drive, if the request
    /// reached the drive.
    #[inline(always)]
    fn finish(&mut self, done: &HostRequest, index: Option<u32>, waited_ns: u64) {
        let HostRequest { request, cache_number, issued_ns } = done;
        let now_ns = self.now_ns();
        self.meters.outstanding(now_ns, self.outstanding());
        let (latency, waited) = (InBucket::of(now_ns - issued_ns), InBucket::of(waited_ns));
        let so_far = self.cache.as_ref().map_or(self.measurement.latency(), CacheStage::latency_below);
        self.meters.request_done(request, now_ns, latency.ns, waited, so_far);
        if let Some(attribution) = &mut self.attribution {
            attribution.request_done(request, index, now_ns, [latency, waited]);
        }
        match &mut self.cache {
            None => {
                self.measurement.request_done(&self.stack, request.op, latency);
                self.completed.push(Completed { request: *request, time_ns: now_ns, latency_ns: latency.ns });
            }
            Some(cache) => cache.completed(*cache_number, request.op, now_ns, latency.ns),
        }
        if self.outstanding() == 0 {
            self.collection.idle_since_ns = now_ns;
        }
    }

    /// Adds the time since the request's last charge to the given part of its latency.
    #[inline(always)]
    pub(super) fn charge(&mut self, index: u32, part: Part) {
        let now_ns = self.now_ns();
        if let Some(attribution) = &mut self.attribution {
            attribution.charge(index, part, now_ns);
        }
    }

    /// Like [`Self::charge`], but for a transfer of data. Charges nothing while the flash reads other parts of the
    /// request, because the request then waits for the flash.
    fn charge_data(&mut self, data: Transfer, part: Part) {
        if self.requests[data.request].parts == 0 {
            self.charge(data.request, part);
        }
    }

    /// Records that a request begins to wait for buffer space, or until fewer flash operations are in flight. None of
    /// the request's own flash operations has started yet.
    pub(super) fn wait_for_flash(&mut self, index: u32) {
        if let Some(attribution) = &mut self.attribution {
            attribution.wait_for_flash(index, &self.stack.sinks.flash);
        }
    }

    /// Ends the wait that [`Self::wait_for_flash`] began, if any, and charges its time.
    #[inline(always)]
    pub(super) fn waited_for_flash(&mut self, index: u32) {
        if let Some(attribution) = &mut self.attribution {
            attribution.waited_for_flash(index, &self.stack.sinks.flash);
        }
    }
}
