//! Latency attribution: charges each nanosecond of a request to one part of its latency.
//!
//! ```text
//! issued -> block layer -> queue -> controller -> link -> flash, by cause                   -> link -> complete
//!                                                      \> buffer: until it has room, flush /
//! ```
//! Each request in the drive has one array of nanoseconds. When the request leaves a station (such as queue, controller
//! or link), the time since it left the previous station is charged to this station. Below the FTL, the flash reports
//! the time by [`StallCause`].
//!
//! A request does not always wait for its own flash operations: it may wait in its queue because too many flash
//! operations are in flight, or wait for buffer space. Such a wait is divided among the causes in proportion to the
//! work that the dies do in the meantime; idle time does not count.

use ssdlab_core::{InBucket, numbered};
use ssdlab_nand::backend::Flash;
use ssdlab_nand::backend::parallel::{ParallelFlash, StallCause, StallTimes};
use ssdlab_trace::{Op, Request};

use crate::observe::breakdown::{ByBucket, LatencyBreakdown, Part, PartTimes, ResponseSummary};
use crate::observe::intervals::{Intervals, OPS, Timeline};

/// Latency attribution of one request in the drive.
#[derive(Clone, Copy, Debug, Default)]
struct InDrive {
    parts_ns: PartTimes,
    entered_ns: u64,
    /// Time up to which the request's latency has been charged.
    charged_ns: u64,
    /// True while the request waits for buffer space, or until fewer flash operations are in flight.
    waits_for_flash: bool,
}

impl InDrive {
    fn charge_stalls(&mut self, stalls: &StallTimes, now_ns: u64) {
        debug_assert_eq!(
            stalls.iter().sum::<u64>(),
            now_ns - self.charged_ns,
            "the stall times add up to the time since the last charge"
        );
        self.parts_ns.iter_mut().zip(stalls).for_each(|(part, stall)| *part += stall);
        self.charged_ns = now_ns;
    }
}

/// Latency attribution of a run.
pub(crate) struct LatencyAttribution {
    /// Latency attribution of each request in the drive, indexed by the request's number in the drive.
    in_drive: Vec<InDrive>,
    /// For each request in the drive, by its number: the total time of all dies by stall cause, recorded when the
    /// request began to wait for buffer space or until fewer flash operations are in flight.
    dies_before: Vec<StallTimes>,
    /// Total time of all dies by stall cause when measuring began.
    dies_at_start: StallTimes,
    intervals: Intervals,
    /// Latency breakdowns of the run's requests, by operation and response-time bucket.
    run: [ByBucket<LatencyBreakdown>; Op::ALL.len()],
}

impl LatencyAttribution {
    pub fn new() -> Self {
        Self {
            in_drive: Vec::new(),
            dies_before: Vec::new(),
            dies_at_start: StallTimes::default(),
            intervals: Intervals::new(0),
            run: Default::default(),
        }
    }

    /// Restarts the measurement of latencies.
    pub fn start_measuring(&mut self, flash: &ParallelFlash) {
        self.dies_at_start = times_of_dies(flash);
        self.intervals = Intervals::new(flash.now_ns());
        self.run = Default::default();
    }

    /// Adds a request that enters the drive's queues.
    pub fn enter(&mut self, number: u32, now_ns: u64) {
        *numbered(&mut self.in_drive, number) =
            InDrive { entered_ns: now_ns, charged_ns: now_ns, ..InDrive::default() };
    }

    /// Adds the time since the last charge of a request to the given part of its latency. A request that waits for
    /// the flash is charged when that wait ends.
    pub fn charge(&mut self, number: u32, part: Part, now_ns: u64) {
        let request = &mut self.in_drive[number as usize];
        if !request.waits_for_flash {
            request.parts_ns[part as usize] += now_ns - request.charged_ns;
            request.charged_ns = now_ns;
        }
    }

    /// Charges request `number`, whose flash operations have just ended, with the stall times that the flash reports
    /// for it.
    pub fn charge_flash(&mut self, number: u32, flash: &ParallelFlash) {
        let stalls = flash.stalls_of(number).expect("attribution is on");
        self.in_drive[number as usize].charge_stalls(stalls, flash.now_ns());
    }

    /// Records that a request begins to wait for buffer space, or until fewer flash operations are in flight. Does
    /// nothing if the request already waits.
    pub fn wait_for_flash(&mut self, number: u32, flash: &ParallelFlash) {
        if std::mem::replace(&mut self.in_drive[number as usize].waits_for_flash, true) {
            return;
        }
        *numbered(&mut self.dies_before, number) = times_of_dies(flash);
    }

    /// Ends the wait that [`Self::wait_for_flash`] began, if any, and charges its time to the causes that kept the dies
    /// busy.
    pub fn waited_for_flash(&mut self, number: u32, flash: &ParallelFlash) {
        let request = &mut self.in_drive[number as usize];
        if std::mem::take(&mut request.waits_for_flash) {
            let now_ns = flash.now_ns();
            let dies = difference(&times_of_dies(flash), &self.dies_before[number as usize]);
            let stalls = divide(now_ns - request.charged_ns, &dies);
            request.charge_stalls(&stalls, now_ns);
        }
    }

    /// Counts a completed host request with its response and waiting times. `number` is the drive request that
    /// completed it, if any. Time outside the drive is charged to the block layer.
    pub fn request_done(&mut self, request: &Request, number: Option<u32>, now_ns: u64, times: [InBucket; 2]) {
        let mut outside = InDrive::default();
        let in_drive = number.map_or(&mut outside, |number| &mut self.in_drive[number as usize]);
        let [latency, _] = times;
        in_drive.parts_ns[Part::BlockLayer as usize] = latency.ns - (in_drive.charged_ns - in_drive.entered_ns);
        debug_assert_eq!(in_drive.parts_ns.iter().sum::<u64>(), latency.ns, "the parts add up to the latency");
        let op = request.op as usize;
        self.run[op].of(latency.bucket).add_request(latency.ns, &in_drive.parts_ns);
        if op < OPS {
            self.intervals.request_done(request, now_ns, times, &in_drive.parts_ns);
        }
    }

    /// Returns the results of latency attribution in the measured phase.
    pub fn finish(self, flash: &ParallelFlash) -> (Timeline, ResponseSummary) {
        let dies = difference(&times_of_dies(flash), &self.dies_at_start);
        (self.intervals.finish(), ResponseSummary::of(self.run, dies))
    }
}

fn times_of_dies(flash: &ParallelFlash) -> StallTimes {
    flash.stalls_of_dies().expect("attribution is on")
}

fn difference(after: &StallTimes, before: &StallTimes) -> StallTimes {
    std::array::from_fn(|cause| after[cause].wrapping_sub(before[cause]))
}

/// Divides a duration among the stall causes in proportion to the work of the dies, in whole nanoseconds. If all dies
/// were idle, the whole duration goes to [`StallCause::Dependency`].
fn divide(time_ns: u64, dies: &StallTimes) -> StallTimes {
    const IDLE: usize = StallCause::Dependency as usize;
    let mut divided = StallTimes::default();
    let busy = &dies[..IDLE];
    let total: u64 = busy.iter().sum();
    if total == 0 {
        divided[IDLE] = time_ns;
        return divided;
    }
    let ns_each = time_ns as f64 / total as f64;
    let (mut before, mut given_ns) = (0, 0);
    for (part, busy) in divided.iter_mut().zip(busy) {
        before += busy;
        let until_ns = if before == total { time_ns } else { ((before as f64 * ns_each) as u64).min(time_ns) };
        *part = until_ns - given_ns;
        given_ns = until_ns;
    }
    divided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_divided_by_the_work_of_the_dies() {
        assert_eq!(divide(900, &[10, 0, 20, 0, 0, 60, 1_000, 0]), [100, 0, 200, 0, 0, 600, 0, 0]);
        assert_eq!(divide(10, &[1, 1, 1, 0, 0, 0, 0, 0]), [3, 3, 4, 0, 0, 0, 0, 0]);
        assert_eq!(divide(7, &[0, 0, 0, 0, 0, 0, 50, 0]), [0, 0, 0, 0, 0, 0, 7, 0]);
        let long_ns = u64::MAX - 1;
        assert_eq!(divide(long_ns, &[3, 5, 0, 7, 1, 9, 0, 0]).iter().sum::<u64>(), long_ns);
    }

    fn request(op: Op) -> Request {
        Request { time_ns: 0, offset: 0, bytes: 1, op, flags: 0, stream: 0 }
    }

    #[test]
    fn time_outside_the_drive_is_charged_to_the_block_layer() {
        let mut attribution = LatencyAttribution::new();
        attribution.enter(3, 700);
        attribution.charge(3, Part::Link, 1_000);
        attribution.request_done(&request(Op::Write), Some(3), 1_000, [1_000, 0].map(InBucket::of));
        attribution.request_done(&request(Op::Trim), None, 1_000, [50, 0].map(InBucket::of));
        let response = ResponseSummary::of(attribution.run, StallTimes::default());
        let [above, link] = [Part::BlockLayer, Part::Link].map(|part| response.all.all.parts_ns[part as usize]);
        assert_eq!((above, link, response.all.all.sum_ns), (700 + 50, 300, 1_050));
    }
}
