//! The path of a request through the drive: from its queue through controller and link to FTL and flash, and back.

use ssdlab_core::InBucket;
use ssdlab_nand::backend::parallel::JobKind;
use ssdlab_sched::RequestId;
use ssdlab_trace::{Op, Request};

use super::buffering::access_behind;
use super::parts::TimedParts;
use super::{InFlightRequest, TimedDrive};
use crate::host::block::{BlockStage, HostRequest};
use crate::host::cache::in_time::CacheStage;
use crate::host::issue::{HostReplay, Issued};
use crate::observe::breakdown::Part;
use crate::run::error::SimError;

impl<P: TimedParts> TimedDrive<P> {
    /// A request enters its queue.
    #[inline(always)]
    pub(super) fn enter(&mut self, issued: Issued, origin: u32, block: Option<RequestId>) {
        let Issued { request, time_ns: issued_ns } = issued;
        let queue = self.queues.queue_of(request.stream);
        let (taken_ns, submitted_ns, waited_ns, number, met_other) = (0, 0, 0, 0, false);
        let index = self.flights.insert(InFlightRequest {
            request,
            issued_ns,
            taken_ns,
            submitted_ns,
            waited_ns,
            queue,
            number,
            met_other,
            origin,
            block,
        });
        if let Some(attribution) = &mut self.attribution {
            attribution.enter(index, issued_ns);
            if self.buffer.is_none() && self.stack.sinks.flash.under_way() >= self.most_under_way {
                self.wait_for_flash(index);
            }
        }
        self.queues.push(queue, index);
    }

    /// Takes requests from the queues while the drive has room for them.
    #[inline(always)]
    pub(super) fn take_requests(&mut self, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        if self.queues.waiting() > 0 { self.take_waiting(issuer) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn take_waiting(&mut self, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        while self.buffer.is_some() || self.stack.sinks.flash.under_way() < self.most_under_way {
            let Some(index) = self.queues.take() else { break };
            let now_ns = self.now_ns();
            let flight = &mut self.flights[index];
            flight.taken_ns = now_ns;
            let op = flight.request.op;
            flight.met_other = match op {
                Op::Read => self.inside[Op::Write as usize] > 0,
                Op::Write => self.inside[Op::Read as usize] > 0,
                Op::Trim | Op::Flush => false,
            };
            self.inside[op as usize] += 1;
            self.waited_for_flash(index);
            self.charge(index, Part::HostQueue);
            if self.path.command(index, now_ns).is_none() {
                self.receive(index, issuer)?;
            }
        }
        Ok(())
    }

    /// What is due on the way through controller and link.
    pub(super) fn follow_path(&mut self, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        while let Some(index) = self.path.commands.pop(now_ns) {
            self.receive(index, issuer)?;
        }
        while let Some(index) = self.path.incoming.pop(now_ns) {
            self.submit(index, issuer)?;
        }
        while let Some(index) = self.path.outgoing.pop(now_ns) {
            self.complete(index, issuer);
        }
        Ok(())
    }

    /// Moves in the data of a write.
    pub(super) fn receive(&mut self, index: u32, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        self.charge(index, Part::Controller);
        let Request { op, bytes, .. } = self.flights[index].request;
        if op == Op::Write && self.path.receive(index, bytes, now_ns).is_some() {
            return Ok(());
        }
        self.submit(index, issuer)
    }

    /// Charges the time since a request was charged last to a part, if attribution is on.
    #[inline(always)]
    pub(super) fn charge(&mut self, index: u32, part: Part) {
        let now_ns = self.now_ns();
        if let Some(attribution) = &mut self.attribution {
            attribution.charge(index, part, now_ns);
        }
    }

    /// A request begins to wait for the flash as a whole.
    pub(super) fn wait_for_flash(&mut self, index: u32) {
        if let Some(attribution) = &mut self.attribution {
            attribution.wait_for_flash(index, &self.stack.sinks.flash);
        }
    }

    /// Charges the time for which a request has waited for the flash as a whole, if it did.
    #[inline(always)]
    pub(super) fn waited_for_flash(&mut self, index: u32) {
        if let Some(attribution) = &mut self.attribution {
            attribution.waited_for_flash(index, &self.stack.sinks.flash);
        }
    }

    /// Hands a request to buffer and FTL.
    #[inline(always)]
    pub(super) fn submit(&mut self, index: u32, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        self.stack.requests += 1;
        self.charge(index, Part::Link);
        let flight = &mut self.flights[index];
        flight.submitted_ns = now_ns;
        flight.number = self.stack.requests;
        let request = flight.request;
        if request.op != Op::Read {
            self.uncollected.append(&mut self.collected);
        }
        match (request.op, self.buffer.is_some()) {
            (Op::Write, true) => return self.submit_to_buffer(index, &request, issuer),
            (Op::Flush, true) => {
                self.stack.take(&request, |_, _, _| {});
                self.make_safe(index, issuer);
                return Ok(());
            }
            _ => {}
        }
        let requester = self.flights[index].requester();
        self.stack.sinks.flash.submit(index, requester, JobKind::Request);
        let (buffer, oracle) = (&mut self.buffer, &mut self.oracle);
        self.stack.take(&request, |stack, offset, end| match buffer {
            Some(buffer) => access_behind(stack, buffer, oracle, &request, offset, end),
            None => stack.access(&request, offset, end),
        });
        if self.stack.sinks.flash.submitted() == 0 {
            self.served(index, now_ns, issuer);
        }
        if self.buffer.is_some() {
            // A page trimmed in the buffer is one less to wait for.
            self.page_left_buffer(issuer);
            self.go_on_flushing();
        }
        Ok(())
    }

    /// Buffer and flash are done with a request, on which work began at `began_ns`.
    pub(super) fn served(&mut self, index: u32, began_ns: u64, issuer: &mut HostReplay<'_>) {
        let now_ns = self.now_ns();
        let flight = &mut self.flights[index];
        flight.waited_ns = (flight.taken_ns - flight.issued_ns) + (began_ns - flight.submitted_ns);
        let Request { op, bytes, .. } = flight.request;
        if op != Op::Read || self.path.send(index, bytes, now_ns).is_none() {
            self.complete(index, issuer);
        }
    }

    /// A request is back at the host.
    pub(super) fn complete(&mut self, index: u32, issuer: &mut HostReplay<'_>) {
        let now_ns = self.now_ns();
        self.charge(index, Part::Link);
        let InFlightRequest { request, issued_ns, taken_ns, waited_ns, queue, met_other, origin, block, .. } =
            self.flights[index];
        self.inside[request.op as usize] -= 1;
        self.meters.left_drive(request.op, met_other, now_ns - taken_ns);
        self.flights.remove(index);
        self.queues.leave(queue);
        match block {
            None => self.finish(&request, origin, Some(index), issued_ns, waited_ns, issuer),
            Some(id) => {
                let block = self.block.as_mut().expect("it gave the request out");
                block.completed(id, now_ns);
                self.finish_host_requests(Some(index), now_ns - issued_ns - waited_ns, issuer);
                self.pull();
            }
        }
    }

    /// Completes the requests of the host that have ended with one of the drive, which worked on that for so long, or
    /// with none.
    #[inline(always)]
    pub(super) fn finish_host_requests(&mut self, flight: Option<u32>, service_ns: u64, issuer: &mut HostReplay<'_>) {
        while let Some(done) = self.block.as_mut().and_then(BlockStage::take_done) {
            let HostRequest { request, origin, issued_ns, .. } = done;
            // A bio merged into a request that was at work cannot have come later than that.
            let waited_ns = (self.now_ns() - issued_ns).saturating_sub(service_ns);
            self.finish(&request, origin, flight, issued_ns, waited_ns, issuer);
        }
    }

    /// A request of the host or of its cache is complete, with one of the drive if it got there.
    #[inline(always)]
    pub(super) fn finish(
        &mut self,
        request: &Request,
        origin: u32,
        flight: Option<u32>,
        issued_ns: u64,
        waited_ns: u64,
        issuer: &mut HostReplay<'_>,
    ) {
        let now_ns = self.now_ns();
        self.meters.outstanding(now_ns, self.outstanding());
        let (latency, waited) = (InBucket::of(now_ns - issued_ns), InBucket::of(waited_ns));
        let so_far = self.cache.as_ref().map_or(self.measurement.latency(), CacheStage::latency_below);
        self.meters.request_done(request, now_ns, latency.ns, waited, so_far);
        if let Some(attribution) = &mut self.attribution {
            attribution.request_done(request, flight, now_ns, [latency, waited]);
        }
        match &mut self.cache {
            None => {
                self.measurement.request_done(&self.stack, request.op, latency);
                issuer.completed(request, now_ns, latency.ns);
            }
            Some(cache) => cache.completed(origin, request.op, now_ns, latency.ns),
        }
        if self.outstanding() == 0 {
            self.idle_since_ns = now_ns;
        }
    }
}
