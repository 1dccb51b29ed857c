//! The event loop of a drive: runs the component with the earliest event.

use ssdlab_core::InBucket;
use ssdlab_nand::backend::Flash;
use ssdlab_nand::backend::parallel::{Done, NEVER};

use super::buffering::BufferStage;
use super::{Completed, TimedDrive};
use crate::drive::serial::LOOKAHEAD;
use crate::host::block::BlockStage;
use crate::host::cache::in_time::CacheStage;
use crate::host::fit::Fitted;
use crate::host::replay::{HostReplay, Issued, MOST_OUTSTANDING, Next};
use crate::observe::replayed::Backlog;
use crate::run::error::SimError;

/// Condition that ends a run of the event loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Until {
    /// The run ends when all requests are complete.
    Complete,
    /// The run ends when all events up to this time have been processed.
    Time(u64),
}

/// Owner of a job that the flash model executes: a request, the buffer, read-ahead or garbage collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Request(u32),
    /// The job programs a page in this slot of the write buffer.
    Buffer(u32),
    /// The job is a step of idle or background garbage collection on the given plane.
    Collection(u32),
    /// The job prefetches a page into this slot of the read cache.
    ReadAhead(u32),
    /// The job pads incomplete program units.
    Padding,
}

impl Owner {
    const READ_AHEAD: u32 = 1 << 30;
    const BUFFER: u32 = 1 << 31;
    const COLLECTION: u32 = 3 << 30;
    const PADDING: u32 = u32::MAX;

    /// Returns the number that identifies this owner in the flash model.
    pub fn number(self) -> u32 {
        match self {
            Self::Request(index) => index,
            Self::Buffer(slot) => Self::BUFFER | slot,
            Self::Collection(plane) => Self::COLLECTION + plane,
            Self::ReadAhead(slot) => Self::READ_AHEAD | slot,
            Self::Padding => Self::PADDING,
        }
    }

    fn of(number: u32) -> Self {
        match number {
            Self::PADDING => Self::Padding,
            Self::COLLECTION.. => Self::Collection(number - Self::COLLECTION),
            Self::BUFFER.. => Self::Buffer(number & !Self::BUFFER),
            Self::READ_AHEAD.. => Self::ReadAhead(number & !Self::READ_AHEAD),
            _ => Self::Request(number),
        }
    }
}

/// Components that have events, except the flash. If event times are equal, the flash acts first.
#[derive(Clone, Copy)]
enum Component {
    Host,
    Collection,
    FrontEnd,
    BlockLayer,
    Cache,
}

impl Component {
    /// All components, in the order in which they act at equal times.
    const ALL: [Self; 5] = [Self::Host, Self::Collection, Self::FrontEnd, Self::BlockLayer, Self::Cache];
}

impl TimedDrive {
    /// Runs the event loop. Returns the time of the next event, if any.
    pub(super) fn advance(&mut self, host: &mut HostReplay<'_>, until: Until) -> Result<Option<u64>, SimError> {
        loop {
            let Some(host_ns) = self.issue_requests(host, until)? else { return Ok(None) };
            if self.put_to_sleep(host)? {
                continue;
            }
            if self.collect_ahead() {
                self.settle()?;
                continue;
            }
            let mut flash_ns = self.stack.sinks.flash.next_ns();
            if flash_ns == NEVER && self.stack.sinks.flash.under_way() > 0 {
                // A pending erase waits for pages copied to an incomplete program unit, so the unit is padded.
                self.complete_units(true);
                flash_ns = self.stack.sinks.flash.next_ns();
            }
            let times_ns = Component::ALL.map(|component| self.next_ns(component, host_ns));
            let others_ns = times_ns.into_iter().fold(NEVER, u64::min);
            let next_ns = flash_ns.min(others_ns);
            if next_ns == NEVER {
                return if self.unfinished() == 0 { Ok(None) } else { Err(self.stuck()) };
            }
            let end_ns = if let Until::Time(end_ns) = until { end_ns } else { NEVER };
            if next_ns > end_ns {
                return Ok(Some(next_ns));
            }
            if next_ns == flash_ns {
                self.advance_flash(end_ns.min(others_ns), host)?;
            } else {
                self.stack.sinks.flash.pass_until(next_ns);
                for (component, _) in Component::ALL.into_iter().zip(times_ns).filter(|&(_, ns)| ns == next_ns) {
                    self.advance_component(component)?;
                }
            }
            self.settle()?;
        }
    }

    /// Returns the time of the next event of a component, or [`NEVER`].
    #[inline(always)]
    fn next_ns(&mut self, component: Component, host_ns: u64) -> u64 {
        match component {
            Component::Host => host_ns,
            Component::Collection => self.collection_ns(),
            Component::FrontEnd => self.front.next_ns().min(self.buffer.as_ref().map_or(NEVER, BufferStage::next_ns)),
            Component::BlockLayer => self.block.as_mut().map_or(NEVER, BlockStage::timer_ns),
            Component::Cache => self.cache.as_ref().map_or(NEVER, CacheStage::next_ns),
        }
    }

    /// Runs a component of the drive whose event is due.
    #[inline(always)]
    fn advance_component(&mut self, component: Component) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        match component {
            // The next iteration of the loop starts host requests and collection.
            Component::Host | Component::Collection => {}
            Component::FrontEnd => {
                self.advance_front()?;
                self.advance_pace()?;
            }
            Component::BlockLayer => {
                self.block.as_mut().expect("the component with the due event exists").on_timer(now_ns);
                self.pull_from_block_layer();
            }
            Component::Cache => self.cache.as_mut().expect("the component with the due event exists").advance(now_ns),
        }
        Ok(())
    }

    /// Runs the flash until one of its jobs is done or another component has an event.
    fn advance_flash(&mut self, until_ns: u64, host: &mut HostReplay<'_>) -> Result<(), SimError> {
        let events = self.stack.sinks.flash.advance_until(until_ns, self.most_under_way);
        if host.reader.worked(events) {
            self.show(host);
            host.reader.report_in_flight()?;
        }
        while let Some(Done { owner, began_ns }) = self.stack.sinks.flash.take_done() {
            match Owner::of(owner) {
                Owner::Collection(plane) => self.collection_step_done(plane),
                Owner::Buffer(slot) => self.slot_programmed(slot),
                Owner::ReadAhead(slot) => self.read_ahead_done(slot, began_ns),
                Owner::Padding => {}
                Owner::Request(index) => self.flash_done(index, began_ns),
            }
            self.check_buffer()?;
        }
        self.flush_buffer();
        self.stack.stop_at_violation()
    }

    /// Issues all host requests that are due. Returns the time of the host's next action, or `None` if this run of the
    /// loop is over.
    fn issue_requests(&mut self, host: &mut HostReplay<'_>, until: Until) -> Result<Option<u64>, SimError> {
        loop {
            // In a live run, the caller collects the completed requests, so they are not passed to the host replay.
            if until == Until::Complete {
                for Completed { request, time_ns, latency_ns } in self.completed.drain(..) {
                    host.completed(&request, time_ns, latency_ns);
                }
                host.is_full = self.unfinished() >= MOST_OUTSTANDING;
            }
            host.held_up = self.holds_up();
            if host.reader.reports_next() {
                self.show(host);
            }
            match host.next(self.now_ns())? {
                Next::Issue(issued) => {
                    if let Some(ahead) = host.reader.ahead(LOOKAHEAD) {
                        self.stack.prefetch(ahead);
                    }
                    let requests = u64::from(self.unfinished()) + 1;
                    host.backlog = Some(Backlog { at_ns: self.now_ns(), requests });
                    self.issue(issued)?;
                    self.settle()?;
                }
                Next::Wait(time_ns) => return Ok(Some(time_ns)),
                Next::End if until == Until::Complete && self.unfinished() == 0 => return Ok(None),
                Next::End => return Ok(Some(NEVER)),
            }
        }
    }

    /// Puts processes to sleep, which releases their plugged requests in the block layer. Returns true if the host may
    /// be able to continue immediately.
    fn put_to_sleep(&mut self, host: &HostReplay<'_>) -> Result<bool, SimError> {
        let now_ns = self.now_ns();
        let slept = self.block.as_mut().is_some_and(|block| block.sleep(now_ns));
        self.pull_from_block_layer();
        if !slept {
            return Ok(false);
        }
        let unfinished = self.unfinished();
        self.settle()?;
        // Putting processes to sleep may let the cache submit requests, which wakes these processes.
        let is_awake = self.block.as_ref().is_some_and(BlockStage::is_awake);
        Ok(is_awake || self.unfinished() < unfinished || self.holds_up() != host.held_up)
    }

    /// Passes the results so far to the monitor, if the monitor needs them.
    fn show(&self, host: &mut HostReplay<'_>) {
        host.reader.watch(|requests| self.measurement.so_far(&self.stack, requests));
    }

    /// Returns the number of incomplete requests in the block layer or the drive.
    pub(super) fn outstanding(&self) -> u32 {
        self.block.as_ref().map_or(self.queues.outstanding(), BlockStage::outstanding)
    }

    /// Returns the number of incomplete requests, including requests in the cache.
    fn unfinished(&self) -> u32 {
        self.outstanding() + self.cache.as_ref().map_or(0, CacheStage::unfinished)
    }

    /// Returns true if the host must not issue asynchronous writes now.
    fn holds_up(&self) -> bool {
        match &self.cache {
            Some(cache) => cache.holds_up(),
            None => self.block.as_ref().is_some_and(BlockStage::holds_up),
        }
    }

    /// Accepts a request that the host issues.
    fn issue(&mut self, issued: Issued) -> Result<(), SimError> {
        let Fitted { request, wrapped } = self.mapper.fit(&issued.request)?;
        self.stack.host.wrapped_requests += u64::from(wrapped);
        let issued = Issued { request, ..issued };
        let now_ns = self.now_ns();
        match &mut self.cache {
            None => self.take(issued, 0),
            Some(cache) => cache.submit(issued, now_ns)?,
        }
        Ok(())
    }

    /// Passes a request of the host or its cache to the block layer; without a block layer, to the drive.
    #[inline(always)]
    fn take(&mut self, issued: Issued, cache_number: u32) {
        let now_ns = self.now_ns();
        self.meters.outstanding(now_ns, self.outstanding() + 1);
        match &mut self.block {
            None => self.enter(issued, cache_number, None),
            Some(block) => {
                block.submit(issued, cache_number, now_ns);
                self.pull_from_block_layer();
                self.finish_host_requests(None, 0);
            }
        }
    }

    /// Lets the drive take requests from its queues, then serves the pending requests and completions of the cache.
    #[inline(always)]
    fn settle(&mut self) -> Result<(), SimError> {
        self.take_requests()?;
        if self.cache.is_some() { self.settle_cache() } else { Ok(()) }
    }

    #[inline(never)]
    fn settle_cache(&mut self) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        if let Some(block) = self.block.as_mut().filter(|_| self.cache.as_ref().is_some_and(CacheStage::holds_up)) {
            block.dirty_wait(now_ns);
        }
        while self.cache.as_ref().is_some_and(CacheStage::has_work) {
            while let Some((number, request)) = self.cache.as_mut().and_then(CacheStage::next) {
                self.take(Issued { request, time_ns: now_ns }, number);
            }
            while let Some((request, latency_ns)) = self.cache.as_mut().and_then(|cache| cache.take_done(now_ns)) {
                self.measurement.request_done(&self.stack, request.op, InBucket::of(latency_ns));
                self.completed.push(Completed { request, time_ns: now_ns, latency_ns });
            }
            self.take_requests()?;
        }
        Ok(())
    }

    /// Moves the requests that the block layer dispatches into the drive's queues.
    #[inline(always)]
    pub(super) fn pull_from_block_layer(&mut self) {
        let now_ns = self.now_ns();
        while let Some(block) = &mut self.block
            && block.has_work()
            && let Some((id, request)) = block.next(now_ns)
        {
            self.enter(Issued { request, time_ns: now_ns }, 0, Some(id));
        }
    }

    #[inline(always)]
    pub(super) fn now_ns(&self) -> u64 {
        self.stack.sinks.flash.now_ns()
    }

    /// Returns the error for a simulation that is stuck: requests wait, but no event is due. The error describes the
    /// contents of all queues.
    fn stuck(&self) -> SimError {
        SimError::Stuck(format!(
            "{} requests are outstanding: {} in the drive, {} waiting for space in the write buffer{}{}; {}",
            self.outstanding(),
            self.queues.inside(),
            self.buffer.as_ref().map_or(0, |buffer| buffer.stalled()),
            self.cache.as_ref().map_or(String::new(), |cache| format!("; {}", cache.describe())),
            self.block.as_ref().map_or(String::new(), |block| format!("; block layer: {}", block.left())),
            self.stack.sinks.flash.describe()
        ))
    }
}
