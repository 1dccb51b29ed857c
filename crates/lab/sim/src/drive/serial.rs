//! A drive without parallelism, which serves one request at a time.

use std::path::Path;

use ssdlab_core::InBucket;
use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::{Flash, OneByOne, Resume, SerialFlash};
use ssdlab_nand::{Counts, Timing};
use ssdlab_trace::{Request, Source};

use crate::drive::parts::{AtRest, Parts, Serial};
use crate::drive::stack::Stack;
use crate::host::fit::{AddressMapper, Fitted};
use crate::host::replay::{ArrivalClock, TraceReader};
use crate::observe::measurement::Measurement;
use crate::precondition::PreconditionSummary;
use crate::run::Outcome;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase};
use crate::run::repeat::{Replayed, Replayer, Replays, replay_all};
use crate::run::steady::Written;
use crate::setup::Setup;
use crate::setup::host::Replay;
use crate::state;

/// Number of requests to look ahead when map entries are prefetched.
pub(crate) const LOOKAHEAD: usize = 16;

/// A drive that serves one request at a time.
pub(crate) struct SerialDrive<P: Parts> {
    stack: Stack<P>,
    mapper: AddressMapper,
    measurement: Measurement,
    /// Clock that converts trace times to arrival times in an open loop.
    clock: ArrivalClock,
}

impl<P: Parts<Flash: OneByOne>> SerialDrive<P> {
    /// Creates the drive from a prepared device.
    pub(crate) fn new(mut stack: Stack<P>) -> Self {
        let measurement = Measurement::start(&mut stack);
        let speed = if let Replay::Open { speed, .. } = stack.setup.replay { speed } else { 1.0 };
        let mut clock = ArrivalClock::new(speed);
        clock.shift_ns = Some(0);
        Self { mapper: AddressMapper::new(&stack.setup), stack, measurement, clock }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.stack.sinks.flash.counts()
    }

    /// Replays the source as often as the set-up requires, and measures the last replay.
    pub(crate) fn run(
        mut self,
        source: &mut Replays<'_>,
        monitor: &mut dyn Monitor,
        (precondition, control): (PreconditionSummary, Control),
        save: Option<&Path>,
    ) -> Result<Outcome, SimError> {
        let Replayed { repeat, warmup_pages, control } = replay_all(&mut self, source, monitor, control)?;
        let partial = control == Control::Stop;
        let mut outcome = self.measurement.finish(&mut self.stack, precondition, partial, None);
        outcome.summary.repeat = repeat;
        outcome.warmup_pages = warmup_pages;
        if let Some(path) = save.filter(|_| !partial) {
            state::save(&mut self.stack, precondition, path)?;
        }
        Ok(outcome)
    }

    /// Serves a request and returns its completion time.
    #[inline]
    pub(crate) fn serve(&mut self, request: &Request) -> Result<u64, SimError> {
        self.stack.requests += 1;
        let issued_ns = match self.stack.setup.replay {
            Replay::Closed { think, .. } | Replay::Processes { think } => {
                let think_ns = if self.stack.requests > 1 { think.0 } else { 0 };
                self.stack.sinks.flash.now_ns() + think_ns
            }
            Replay::Open { .. } => self.clock.arrival_ns(request.time_ns, self.stack.sinks.flash.now_ns()),
        };
        self.stack.sinks.flash.idle_until(issued_ns);
        if self.mapper.stays(request) {
            let bytes = u64::from(request.bytes);
            self.stack.host.count(request.op, bytes);
            self.stack.access(request, request.offset, request.offset + bytes);
        } else {
            self.access_elsewhere(request)?;
        }
        let done_ns = self.stack.sinks.flash.now_ns();
        let latency = InBucket::of(done_ns.saturating_sub(issued_ns));
        self.measurement.request_done(&self.stack, request.op, latency);
        self.stack.stop_at_violation()?;
        Ok(done_ns)
    }

    /// Serves a request whose address must be changed to fit the device. This function is not inlined, because such
    /// requests are rare.
    #[inline(never)]
    fn access_elsewhere(&mut self, request: &Request) -> Result<(), SimError> {
        let Fitted { request, wrapped } = self.mapper.place(*request)?;
        self.stack.host.wrapped_requests += u64::from(wrapped);
        self.stack.take_all(&request);
        Ok(())
    }
}

impl SerialDrive<Serial> {
    /// Starts the clock of a prepared drive.
    pub(crate) fn start(device: Stack<AtRest>, timing: &Timing) -> Self {
        let geometry = device.setup.geometry;
        Self::new(device.with_flash(|ftl, before| {
            let mut flash = SerialFlash::new(timing, &geometry);
            flash.resume(before.counts(), &ftl.slc_blocks(), std::iter::empty());
            flash
        }))
    }
}

impl<P: Parts<Flash: OneByOne>> Replayer for SerialDrive<P> {
    fn setup(&self) -> &Setup {
        &self.stack.setup
    }

    fn start_measuring(&mut self) {
        self.measurement = Measurement::start(&mut self.stack);
    }

    fn written(&self) -> Written {
        self.measurement.written(&self.stack)
    }

    fn replay(
        &mut self,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        phase: Phase,
        limit: u64,
    ) -> Result<Control, SimError> {
        self.clock.shift_ns = None;
        let mut reader = TraceReader::new(source, monitor, phase, limit, self.stack.requests);
        loop {
            if reader.reports_next() {
                reader.watch(|requests| self.measurement.so_far(&self.stack, requests));
            }
            if reader.peek()?.is_none() {
                break;
            }
            let request = reader.take();
            if let Some(ahead) = reader.ahead(LOOKAHEAD - 1) {
                self.stack.prefetch(ahead);
            }
            self.serve(&request)?;
            reader.issued = self.stack.requests;
        }
        if let Some(arrivals_ns) = reader.arrivals_ns() {
            self.measurement.arrived(arrivals_ns, self.clock.shift_ns.unwrap_or(0), None);
        }
        Ok(reader.control)
    }
}
