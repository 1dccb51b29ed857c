//! The path of a request through the drive: from its queue through controller and link to FTL and flash, and back.

use ssdlab_core::InBucket;
use ssdlab_nand::backend::parallel::JobKind;
use ssdlab_sched::RequestId;
use ssdlab_trace::{Op, Request};

use super::event_loop::Owner;
use super::parts::TimedParts;
use super::{Completed, InFlightRequest, TimedDrive};
use crate::host::block::{BlockStage, HostRequest};
use crate::host::cache::in_time::CacheStage;
use crate::host::replay::Issued;
use crate::observe::breakdown::Part;
use crate::run::error::SimError;

impl<P: TimedParts> TimedDrive<P> {
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
            waited_ns: 0,
            queue,
            number: 0,
            met_other: false,
        });
        if let Some(attribution) = &mut self.attribution {
            attribution.enter(index, issued_ns);
            if !self.takes_requests() {
                self.wait_for_flash(index);
            }
        }
        self.queues.push(queue, index);
    }

    /// Returns true if the drive takes requests from the queues. Without a buffer, it takes none while the maximum
    /// number of flash operations is in flight.
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

    /// Continues the requests that the controller or the link has finished processing.
    pub(super) fn advance_front(&mut self) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        while let Some(index) = self.front.commands.pop(now_ns) {
            self.receive(index)?;
        }
        while let Some(index) = self.front.incoming.pop(now_ns) {
            self.submit(index)?;
        }
        while let Some(index) = self.front.outgoing.pop(now_ns) {
            self.transferred(index);
        }
        while let Some(index) = self.front.completions.pop(now_ns) {
            self.complete(index);
        }
        Ok(())
    }

    /// Moves the data of a write over the link to the drive.
    fn receive(&mut self, index: u32) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        self.charge(index, Part::Controller);
        let Request { op, bytes, .. } = self.requests[index].request;
        if op == Op::Write && self.front.receive(index, bytes, now_ns) { Ok(()) } else { self.submit(index) }
    }

    /// Submits a request to the write buffer or the FTL.
    #[inline(always)]
    fn submit(&mut self, index: u32) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        self.stack.requests += 1;
        self.charge(index, Part::Link);
        let in_flight = &mut self.requests[index];
        in_flight.submitted_ns = now_ns;
        in_flight.number = self.stack.requests;
        let (request, requester) = (in_flight.request, in_flight.requester());
        if request.op != Op::Read {
            self.collection.changed();
        }
        if self.buffer.is_some() && matches!(request.op, Op::Write | Op::Flush) {
            return self.submit_to_buffer(index, &request);
        }
        self.stack.sinks.flash.submit(Owner::Request(index).number(), requester, JobKind::Request);
        let buffer = &mut self.buffer;
        self.stack.take(&request, |stack, offset, end| match buffer {
            Some(buffer) => buffer.access(stack, &request, offset, end),
            None => stack.access(&request, offset, end),
        });
        if self.stack.sinks.flash.submitted() == 0 {
            self.served(index, now_ns);
        }
        if self.buffer.is_some() {
            // A flush may have waited only for the page that was just trimmed in the buffer.
            self.page_left_buffer();
            self.flush_buffer();
        }
        Ok(())
    }

    /// Sends a request back to the host after buffer and flash served it from `began_ns` until now.
    pub(super) fn served(&mut self, index: u32, began_ns: u64) {
        let now_ns = self.now_ns();
        let in_flight = &mut self.requests[index];
        in_flight.waited_ns = (in_flight.taken_ns - in_flight.issued_ns) + (began_ns - in_flight.submitted_ns);
        let Request { op, bytes, .. } = in_flight.request;
        if op != Op::Read || !self.front.send(index, bytes, now_ns) {
            self.transferred(index);
        }
    }

    /// Lets the controller complete a request that needs no further data transfer.
    fn transferred(&mut self, index: u32) {
        let now_ns = self.now_ns();
        self.charge(index, Part::Link);
        if !self.front.completion(index, self.requests[index].request.op, now_ns) {
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
            // A merged bio was issued before the service of its request began.
            let waited_ns = (self.now_ns() - request.issued_ns).saturating_sub(service_ns);
            self.finish(&request, index, waited_ns);
        }
    }

    /// Completes a request of the host or the cache. `index` is the drive's request, if the request reached the drive.
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

    /// Adds the time since the last charge of a request to the given part of its latency.
    #[inline(always)]
    pub(super) fn charge(&mut self, index: u32, part: Part) {
        let now_ns = self.now_ns();
        if let Some(attribution) = &mut self.attribution {
            attribution.charge(index, part, now_ns);
        }
    }

    /// Marks the time from which a request waits for the flash in general, not for operations of its own.
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
