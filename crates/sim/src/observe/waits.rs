//! What response times are made of: every nanosecond of every request goes to one part, so that the parts add up.
//!
//! ```text
//! issued -> block layer -> queue -> controller -> link -> flash, by what it waits for there        -> link -> complete
//!                                                      \> buffer: until there is room, until all is safe /
//! ```
//! Below the FTL the flash says where the time went ([`Wait`]). A request that the flash has no room for, and a write
//! for whose pages the buffer has none, waits for the flash as a whole: until it has worked off enough of what it was
//! given before. That time is shared out among the kinds of work that the dies do meanwhile, in proportion to the time
//! that each takes; dies that rest do not count. Sums are kept by bucket of the histogram of response times.

use ssdlab_core::{InBucket, numbered};
use ssdlab_nand::backend::parallel::{Charges, DieTime, STATES, WAITS};

use crate::observe::parts::{PARTS, Part};

/// Number of the first part in the drive but outside the flash, and of such parts.
const FIRST_AROUND: usize = Part::BlockLayer as usize + 1;
const PARTS_AROUND: usize = PARTS - FIRST_AROUND;

/// Response times from here on are long: they are not added up in 32 bits, which would hold few of them.
pub(crate) const LONG_NS: u64 = 1 << 28;
const _: () = assert!(LONG_NS <= 1 << 31, "there is room for one more");

/// What is added up of requests, by number: the sums of [`Charges`], of the time above the drive, of the parts around the
/// flash, of response times, and how many there are. Their own work is the rest.
const ABOVE: usize = STATES;
const AROUND: usize = ABOVE + 1;
const RESPONSE: usize = AROUND + PARTS_AROUND;
const REQUESTS: usize = RESPONSE + 1;
const SUMS: usize = REQUESTS + 1;

/// Of few requests: their response times fit 32 bits together, and all of it one line of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Few([u32; SUMS]);

impl Few {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0[REQUESTS] == 0
    }

    /// Adds others.
    #[inline(always)]
    pub fn add(&mut self, Self(others): &Self) {
        self.0.iter_mut().zip(others).for_each(|(sum, more)| *sum += more);
    }

    /// Whether there is no room in one of two for another request, no part of that being larger than the whole: the
    /// first bit of 32 is left for it.
    #[inline(always)]
    pub fn either_is_full(&self, other: &Self) -> bool {
        (self.0[RESPONSE] | other.0[RESPONSE]) > u32::MAX / 2
    }
}

#[inline(always)]
fn add_flash(sums: &mut [u32; SUMS], flash: &Charges) {
    sums.iter_mut().zip(flash.0).for_each(|(sum, part)| *sum += part as u32);
}

/// Of many requests, if none takes long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Many([u64; SUMS]);

impl Many {
    /// Requests.
    pub fn requests(&self) -> u64 {
        self.0[REQUESTS]
    }

    /// Adds a few, of which none is left.
    pub fn take(&mut self, few: &mut Few) {
        self.0.iter_mut().zip(std::mem::take(few).0).for_each(|(sum, more)| *sum += u64::from(more));
    }

    /// Their response times by part.
    pub fn parts(&self) -> [u64; PARTS] {
        let (mut flash, mut around_ns) = (Charges::default(), [0; PARTS_AROUND]);
        flash.0.copy_from_slice(&self.0[..STATES]);
        around_ns.copy_from_slice(&self.0[AROUND..RESPONSE]);
        by_part(self.0[RESPONSE], &flash, None, self.0[ABOVE], &around_ns)
    }
}

/// Not compiled in place, so that what it takes stays in registers where nobody asks for parts.
#[cold]
#[inline(never)]
fn by_part(
    response_ns: u64,
    flash: &Charges,
    behind_flash: Option<&Charges>,
    above_ns: u64,
    around_ns: &[u64; PARTS_AROUND],
) -> [u64; PARTS] {
    let mut flash = *flash;
    if let Some(behind_flash) = behind_flash {
        flash.0.iter_mut().zip(behind_flash.0).for_each(|(sum, part)| *sum += part);
    }
    let mut parts = [0; PARTS];
    let in_flash_ns = response_ns - above_ns - around_ns.iter().sum::<u64>();
    parts[..WAITS].copy_from_slice(&flash.parts(in_flash_ns));
    parts[Part::BlockLayer as usize] = above_ns;
    parts[FIRST_AROUND..].copy_from_slice(around_ns);
    parts
}

/// What the response time of a request is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeOf<'a> {
    pub latency: InBucket,
    /// In the flash.
    flash: &'a Charges,
    /// For the flash as a whole, if it waited for that.
    behind_flash: Option<&'a Charges>,
    /// Before the drive got it, and in the drive around the flash.
    above_ns: u64,
    around_ns: [u64; PARTS_AROUND],
}

impl MadeOf<'_> {
    /// As the sums of one request, if it does not take long.
    #[inline(always)]
    pub fn few(self) -> Few {
        let mut sums = [0; SUMS];
        add_flash(&mut sums, self.flash);
        if let Some(behind_flash) = self.behind_flash {
            add_flash(&mut sums, behind_flash);
        }
        sums[ABOVE] = self.above_ns as u32;
        sums[AROUND..].iter_mut().zip(self.around_ns).for_each(|(sum, part)| *sum = part as u32);
        sums[RESPONSE] = self.latency.ns as u32;
        sums[REQUESTS] = 1;
        Few(sums)
    }

    /// By part.
    #[inline(always)]
    pub fn parts(self) -> [u64; PARTS] {
        by_part(self.latency.ns, self.flash, self.behind_flash, self.above_ns, &self.around_ns)
    }
}

/// When a request was how far on its way through the drive; the time around the flash is what lies between.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stages {
    /// In its queues.
    pub issued_ns: u64,
    /// Taken from there.
    pub taken_ns: u64,
    /// Through the controller.
    pub received_ns: u64,
    /// At buffer and FTL, a write with its data.
    pub submitted_ns: u64,
    /// Back from there, a read with its data.
    pub served_ns: u64,
    /// For how long it waited there until all is safe.
    pub flushing_ns: u64,
    /// Whether it waits, or waited, for the flash as a whole.
    pub for_flash: ForFlash,
    /// Whether the flash knows what it waited for there.
    pub in_flash: bool,
}

/// Where a request waits for the flash as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ForFlash {
    #[default]
    Nowhere,
    /// In the queue, all the time that it is there.
    Queued,
    /// Before the buffer.
    Stalled,
}

impl Stages {
    /// Time around the flash of a request that is complete now.
    #[inline(always)]
    fn around_ns(&self, now_ns: u64) -> [u64; PARTS_AROUND] {
        let queued_ns = if self.for_flash == ForFlash::Queued { 0 } else { self.taken_ns - self.issued_ns };
        let link_ns = (self.submitted_ns - self.received_ns) + (now_ns - self.served_ns);
        [queued_ns, self.received_ns - self.taken_ns, link_ns, self.flushing_ns]
    }
}

/// Of what was not in the flash.
static NOTHING: Charges = Charges([0; STATES]);

/// Charges requests.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// What the dies had done when a flight began to wait for the flash as a whole, by its number; and what it waited for
    /// there.
    dies_before: Vec<DieTime>,
    behind_flash: Vec<Charges>,
    dies_at_start: DieTime,
}

impl Waits {
    /// Forgets what the dies did so far.
    pub fn start_measuring(&mut self, dies: DieTime) {
        self.dies_at_start = dies;
    }

    /// What the dies did since measuring began.
    pub fn since_start(&self, dies: &DieTime) -> DieTime {
        between(&self.dies_at_start, dies)
    }

    /// From now on a request waits for the flash as a whole.
    #[cold]
    pub fn wait_for_flash(&mut self, flight: u32, dies: DieTime) {
        *numbered(&mut self.dies_before, flight) = dies;
    }

    /// It has waited so long, for what the dies did meanwhile.
    #[cold]
    pub fn waited_for_flash(&mut self, flight: u32, dies: &DieTime, waited_ns: u64) {
        let meanwhile = between(&self.dies_before[flight as usize], dies);
        *numbered(&mut self.behind_flash, flight) = Charges::divide(waited_ns, &meanwhile);
    }

    /// A request of the host is complete with a flight. Before that entered the drive, it was in the block layer; if there
    /// is none, all the time. Returns what its response time is made of, with what `flash` charged it for.
    #[inline(always)]
    pub fn made_of<'a>(
        &'a self,
        flight: Option<(u32, &Stages)>,
        now_ns: u64,
        latency: InBucket,
        flash: impl Fn(u32) -> Option<&'a Charges>,
    ) -> MadeOf<'a> {
        let made_of = match flight {
            None => {
                let (flash, behind_flash) = (&NOTHING, None);
                MadeOf { latency, flash, behind_flash, above_ns: latency.ns, around_ns: [0; PARTS_AROUND] }
            }
            Some((flight, stages)) => MadeOf {
                latency,
                flash: if stages.in_flash { flash(flight).unwrap_or(&NOTHING) } else { &NOTHING },
                behind_flash: (stages.for_flash != ForFlash::Nowhere).then(|| &self.behind_flash[flight as usize]),
                above_ns: latency.ns - (now_ns - stages.issued_ns),
                around_ns: stages.around_ns(now_ns),
            },
        };
        debug_assert_eq!(made_of.parts().iter().sum::<u64>(), latency.ns, "the parts are the whole");
        made_of
    }
}

/// What dies did between two times.
fn between(before: &DieTime, after: &DieTime) -> DieTime {
    std::array::from_fn(|state| after[state].wrapping_sub(before[state]))
}

#[cfg(test)]
mod tests {
    use super::*;

    use ssdlab_trace::{Op, Request};

    use crate::observe::intervals::Intervals;
    use crate::observe::parts::{PartsByPercentile, ResponseSummary};

    /// What requests are made of that are complete one after the other, with the stages that `stages` gives them by their
    /// response time; they are issued at 0.
    fn summary(op: Op, latencies_ns: impl Iterator<Item = u64>, stages: impl Fn(u64) -> Stages) -> PartsByPercentile {
        let (waits, mut intervals, mut now_ns) = (Waits::default(), Intervals::new(0), 0_u64);
        let request = Request { time_ns: 0, offset: 0, bytes: 1, op, flags: 0, stream: 0 };
        for latency_ns in latencies_ns {
            now_ns = now_ns.max(latency_ns);
            let stages = stages(latency_ns);
            let made_of = waits.made_of(Some((0, &stages)), latency_ns, InBucket::of(latency_ns), |_| None);
            intervals.request_done(&request, now_ns, InBucket::of(0), made_of);
        }
        let found = ResponseSummary::of(intervals.finish().1, [0; 7]);
        let of_op = if op == Op::Read { found.read } else { found.write };
        of_op.filter(|of_op| *of_op == found.all).expect("nothing else")
    }

    /// 1,000 requests of 1, 2, 3 ... microseconds: half of each in the queue, the rest on the link.
    #[test]
    fn percentiles_are_means_of_the_requests_around_them() {
        let read = summary(Op::Read, (1..=1_000).map(|number| number * 1_000), |latency_ns| {
            let half_ns = latency_ns / 2;
            Stages {
                taken_ns: half_ns,
                received_ns: half_ns,
                submitted_ns: half_ns,
                served_ns: half_ns,
                ..Stages::default()
            }
        });
        assert_eq!((read.all.requests, read.all.sum_ns), (1_000, 500_500_000));
        for (parts, quantile) in [(read.p50, 0.5), (read.p99, 0.99), (read.p99_9, 0.999)] {
            assert_eq!(parts.parts_ns.iter().sum::<u128>(), parts.sum_ns);
            let mean_ns = parts.sum_ns as f64 / parts.requests as f64;
            assert!((mean_ns / (quantile * 1e6) - 1.0).abs() < 0.02, "{quantile}: {mean_ns}");
            assert!((parts.share(Part::Link as usize) - 0.5).abs() < 1e-9);
        }
        // Whole buckets, of up to 1.6 %.
        assert!((495..=520).contains(&read.p50.requests), "{}", read.p50.requests);
        assert!((10..=26).contains(&read.p99.requests), "{}", read.p99.requests);
    }

    /// Sums that 64 bits do not hold are not lost.
    #[test]
    fn sums_go_on_beyond_64_bits() {
        let long_ns = u64::MAX / 3;
        let read = summary(Op::Read, [long_ns; 10].into_iter(), |_| Stages::default());
        let expected = 10 * u128::from(long_ns);
        assert_eq!((read.all.requests, read.all.sum_ns), (10, expected));
        assert_eq!(read.all.parts_ns[Part::Link as usize], expected);
    }

    /// A request that was in the block layer before the drive saw it waited there.
    #[test]
    fn what_the_drive_did_not_see_is_the_block_layer() {
        let write = summary(Op::Write, [1_000].into_iter(), |latency_ns| Stages {
            issued_ns: 700,
            taken_ns: 700,
            received_ns: 700,
            submitted_ns: latency_ns,
            served_ns: latency_ns,
            ..Stages::default()
        });
        let [above, link] = [Part::BlockLayer, Part::Link].map(|part| write.all.parts_ns[part as usize]);
        assert_eq!((above, link), (700, 300));
    }
}
