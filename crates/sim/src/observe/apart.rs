//! Response times taken apart: what each request waits for on its way, and what is counted of that.

use ssdlab_core::InBucket;
use ssdlab_nand::backend::parallel::{Charges, DieTime};
use ssdlab_trace::Request;

use crate::observe::intervals::{Course, Intervals};
use crate::observe::parts::ResponseSummary;
use crate::observe::waits::{Stages, Waits};

/// Both while a run goes on.
pub(crate) struct Apart {
    pub waits: Waits,
    pub intervals: Intervals,
}

impl Apart {
    pub fn new() -> Self {
        Self { waits: Waits::default(), intervals: Intervals::new(0) }
    }

    /// Forgets what was counted and what the dies did so far.
    pub fn start_measuring(&mut self, start_ns: u64, dies: DieTime) {
        self.waits.start_measuring(dies);
        self.intervals = Intervals::new(start_ns);
    }

    /// A request of the host is complete with a flight, or without one if it never was in the drive; `flash` tells what
    /// a flight was charged for there.
    #[inline(always)]
    pub fn request_done<'a>(
        &'a mut self,
        request: &Request,
        flight: Option<(u32, &Stages)>,
        now_ns: u64,
        latency: InBucket,
        waited: InBucket,
        flash: impl Fn(u32) -> Option<&'a Charges>,
    ) {
        let made_of = self.waits.made_of(flight, now_ns, latency, flash);
        self.intervals.request_done(request, now_ns, waited, made_of);
    }

    /// What was counted, the dies having done this.
    pub fn finish(self, dies: &DieTime) -> (Course, ResponseSummary) {
        let (course, requests) = self.intervals.finish();
        (course, ResponseSummary::of(requests, self.waits.since_start(dies)))
    }
}
