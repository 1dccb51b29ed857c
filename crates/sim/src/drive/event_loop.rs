//! The event loop of a drive: takes the next event of flash, link, controller, host, cache or block layer.

use ssdlab_core::InBucket;
use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::Flash;
use ssdlab_nand::backend::parallel::{Done, JobKind, NEVER, Requester};

use super::parts::TimedParts;
use super::{BUFFERED, COLLECTION, HOST, TimedDrive, Until};
use crate::drive::serial::LOOKAHEAD;
use crate::host::block::BlockStage;
use crate::host::cache::in_time::CacheStage;
use crate::host::fit::Fitted;
use crate::host::issue::{HostReplay, Issued, Next};
use crate::run::error::SimError;
use crate::setup::drive::{Collect, CollectGoal};

impl<P: TimedParts> TimedDrive<P> {
    /// Goes on until nothing is left to do or as told: when the next thing happens, if anything does.
    pub(super) fn go_on(&mut self, issuer: &mut HostReplay<'_>, until: Until) -> Result<Option<u64>, SimError> {
        loop {
            let host_ns = loop {
                issuer.held_up = self.holds_up();
                if issuer.asks_next() {
                    self.show(issuer);
                }
                match issuer.next(self.now_ns())? {
                    Next::Issue(issued) => {
                        if let Some(ahead) = issuer.ahead(LOOKAHEAD) {
                            self.stack.prefetch(ahead);
                        }
                        self.issue(issued, issuer)?;
                        self.settle(issuer)?;
                    }
                    Next::Wait(time_ns) => break time_ns,
                    Next::End if until == Until::Complete && self.unfinished() == 0 => return Ok(None),
                    Next::End => break NEVER,
                }
            };
            if self.let_sleep() {
                let unfinished = self.unfinished();
                self.settle(issuer)?;
                // What took no time may let the host go on at once; and the cache, on behalf of processes awake again.
                let is_awake = self.block.as_ref().is_some_and(BlockStage::is_awake);
                if is_awake || self.unfinished() < unfinished || self.holds_up() != issuer.held_up {
                    continue;
                }
            }
            self.collect_ahead();
            let flash_ns = self.stack.sinks.flash.next_ns();
            let path_ns =
                self.path.commands.next_ns().min(self.path.incoming.next_ns()).min(self.path.outgoing.next_ns());
            let block_ns = self.block.as_mut().map_or(NEVER, BlockStage::timer_ns);
            let cache_ns = self.cache.as_ref().map_or(NEVER, CacheStage::next_ns);
            let other_ns = path_ns.min(host_ns).min(self.idle_collection_ns()).min(block_ns).min(cache_ns);
            let next_ns = flash_ns.min(other_ns);
            if next_ns == NEVER {
                return if self.unfinished() == 0 { Ok(None) } else { Err(self.stuck()) };
            }
            if let Until::Time(until_ns) = until
                && next_ns > until_ns
            {
                return Ok(Some(next_ns));
            }
            if next_ns == flash_ns {
                let until_ns = if let Until::Time(until_ns) = until { until_ns.min(other_ns) } else { other_ns };
                // At equal times the flash goes first.
                let events = self.stack.sinks.flash.advance_until(until_ns, self.most_under_way);
                if issuer.worked(events) {
                    self.show(issuer);
                    issuer.ask()?;
                }
                while let Some(done) = self.stack.sinks.flash.take_done() {
                    self.flash_done(done, issuer)?;
                }
                self.go_on_flushing();
                self.stack.stop_at_violation()?;
            } else {
                self.stack.sinks.flash.pass_until(next_ns);
                self.follow_path(issuer)?;
                if next_ns == block_ns {
                    self.block.as_mut().expect("its timer").on_timer(next_ns);
                    self.pull();
                }
                if next_ns == cache_ns {
                    self.cache.as_mut().expect("its time").advance(next_ns);
                }
            }
            self.settle(issuer)?;
        }
    }

    /// Shows a monitor that watches what the drive has done.
    fn show(&self, issuer: &mut HostReplay<'_>) {
        issuer.watch(|requests| self.measurement.so_far(&self.stack, requests));
    }

    /// Requests that are not complete, of those that the host or its cache has given to the block layer or the drive.
    pub(super) fn outstanding(&self) -> u32 {
        self.block.as_ref().map_or(self.queues.outstanding(), BlockStage::outstanding)
    }

    /// The same with those in the cache.
    pub(super) fn unfinished(&self) -> u32 {
        self.outstanding() + self.cache.as_ref().map_or(0, CacheStage::unfinished)
    }

    /// Whether too much is on its way for the host to issue what nobody waits for.
    pub(super) fn holds_up(&self) -> bool {
        match &self.cache {
            Some(cache) => cache.holds_up(),
            None => self.block.as_ref().is_some_and(BlockStage::holds_up),
        }
    }

    /// The host issues a request.
    pub(super) fn issue(&mut self, issued: Issued, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        let Fitted { request, wrapped } = self.fitter.fit(&issued.request)?;
        self.stack.host.wrapped_requests += u64::from(wrapped);
        let issued = Issued { request, ..issued };
        let now_ns = self.now_ns();
        match &mut self.cache {
            None => self.give(issued, HOST, issuer),
            Some(cache) => cache.submit(issued, now_ns)?,
        }
        Ok(())
    }

    /// Gives a request of the host or of its cache to the block layer, or to the drive.
    #[inline(always)]
    fn give(&mut self, issued: Issued, origin: u32, issuer: &mut HostReplay<'_>) {
        let now_ns = self.now_ns();
        self.meters.outstanding(now_ns, self.outstanding() + 1);
        match &mut self.block {
            None => self.enter(issued, origin, None),
            Some(block) => {
                block.submit(issued, origin, now_ns);
                self.pull();
                self.finish_host_requests(None, 0, issuer);
            }
        }
    }

    /// Takes requests from the queues, and whatever the cache can do after that.
    #[inline(always)]
    fn settle(&mut self, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        self.take_requests(issuer)?;
        if self.cache.is_some() { self.settle_cache(issuer) } else { Ok(()) }
    }

    #[inline(never)]
    fn settle_cache(&mut self, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        if let Some(block) = self.block.as_mut().filter(|_| self.cache.as_ref().is_some_and(CacheStage::holds_up)) {
            block.dirty_wait(now_ns);
        }
        while self.cache.as_ref().is_some_and(CacheStage::has_work) {
            self.follow_cache(issuer);
            self.take_requests(issuer)?;
        }
        Ok(())
    }

    /// Gives the drive what the cache has for it, and completes the requests of the host that are done.
    fn follow_cache(&mut self, issuer: &mut HostReplay<'_>) {
        let now_ns = self.now_ns();
        while let Some((origin, request)) = self.cache.as_mut().and_then(CacheStage::next) {
            self.give(Issued { request, time_ns: now_ns }, origin, issuer);
        }
        while let Some((request, latency_ns)) = self.cache.as_mut().and_then(|cache| cache.take_done(now_ns)) {
            self.measurement.request_done(&self.stack, request.op, InBucket::of(latency_ns));
            issuer.completed(&request, now_ns, latency_ns);
        }
    }

    /// Moves what the block layer has for the drive into the drive's queues.
    #[inline(always)]
    pub(super) fn pull(&mut self) {
        if self.block.as_ref().is_some_and(BlockStage::has_work) {
            self.pull_all();
        }
    }

    fn pull_all(&mut self) {
        let now_ns = self.now_ns();
        while let Some(block) = &mut self.block
            && block.has_work()
            && let Some((id, request)) = block.next(now_ns)
        {
            self.enter(Issued { request, time_ns: now_ns }, HOST, Some(id));
        }
    }

    /// The host has issued what it can for now. Returns whether a process went to sleep.
    pub(super) fn let_sleep(&mut self) -> bool {
        let now_ns = self.now_ns();
        let slept = self.block.as_mut().is_some_and(|block| block.sleep(now_ns));
        self.pull();
        slept
    }

    #[inline(always)]
    pub(super) fn now_ns(&self) -> u64 {
        self.stack.sinks.flash.now_ns()
    }

    /// The simulation is stuck: the error says what waits for what.
    pub(super) fn stuck(&self) -> SimError {
        SimError::Stuck(format!(
            "{} requests are outstanding, {} of them in the drive, {} wait for the write buffer{}{}; {}",
            self.outstanding(),
            self.queues.inside(),
            self.stalled.len(),
            self.cache.as_ref().map_or(String::new(), |cache| format!("; {}", cache.describe())),
            self.block.as_ref().map_or(String::new(), |block| format!("; block layer: {}", block.left())),
            self.stack.sinks.flash.describe()
        ))
    }

    /// A job of the flash is done.
    pub(super) fn flash_done(&mut self, done: Done, issuer: &mut HostReplay<'_>) -> Result<(), SimError> {
        let Done { owner, began_ns } = done;
        if owner >= COLLECTION {
            self.uncollected.push(owner - COLLECTION);
        } else if owner & BUFFERED != 0 {
            let buffer = self.buffer.as_mut().expect("its slots are its own");
            buffer.programmed(owner & !BUFFERED);
            self.page_left_buffer(issuer);
        } else {
            if let Some(attribution) = &mut self.attribution {
                attribution.charge_flash(owner, &self.stack.sinks.flash);
            }
            self.served(owner, began_ns, issuer);
        }
        if let Some(violation) = self.oracle.as_ref().and_then(|oracle| oracle.violation.clone()) {
            return Err(SimError::Check { number: self.stack.requests, violation });
        }
        Ok(())
    }

    /// When an idle drive begins to collect; [`NEVER`] if it does not.
    pub(super) fn idle_collection_ns(&self) -> u64 {
        match self.options.collect {
            Collect::Idle { after, .. } if !self.uncollected.is_empty() && self.outstanding() == 0 => {
                (self.idle_since_ns + after.0).max(self.now_ns())
            }
            _ => NEVER,
        }
    }

    /// Steps of collection ahead of need, if it is time for them.
    pub(super) fn collect_ahead(&mut self) {
        let goal = match self.options.collect {
            Collect::Foreground => return,
            Collect::Idle { goal, .. } if self.idle_collection_ns() <= self.now_ns() => goal,
            Collect::Background { goal } => goal,
            Collect::Idle { .. } => return,
        };
        let CollectGoal { blocks, step } = goal;
        while let Some(plane) = self.uncollected.pop() {
            self.stack.sinks.flash.submit(COLLECTION + plane, Requester::default(), JobKind::Collection);
            let before = self.counts().collected();
            let worked = self.stack.ftl.background(plane, blocks, step, &mut self.stack.sinks);
            self.collected_ahead += self.counts().collected() - before;
            let left = self.stack.sinks.flash.submitted();
            debug_assert_eq!(worked, left > 0, "work is flash operations");
            if !worked {
                self.collected.push(plane);
            }
        }
    }
}
