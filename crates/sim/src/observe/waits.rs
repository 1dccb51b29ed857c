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

use ssdlab_core::InBucket;
use ssdlab_nand::backend::parallel::{Charges, DieTime, STATES, WAITS};

use crate::observe::parts::{PARTS, Part};

/// Number of the parts outside the flash.
const OUTSIDE_PARTS: usize = PARTS - WAITS;

/// What is added up of requests, by number: the sums of [`Charges`], of the parts outside the flash, of response times, and
/// how many there are. Their own work is the rest.
const OUTSIDE: usize = STATES;
const RESPONSE: usize = OUTSIDE + OUTSIDE_PARTS;
const REQUESTS: usize = RESPONSE + 1;
const SUMS: usize = REQUESTS + 1;

/// Of few requests: their response times fit 32 bits together, and all of it one line of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Few([u32; SUMS]);

impl Few {
    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.requests() == 0
    }

    /// Requests.
    #[inline(always)]
    pub fn requests(&self) -> u32 {
        self.0[REQUESTS]
    }

    /// Whether one more, which takes this long, is too much. No part is larger than the whole.
    #[inline(always)]
    pub fn is_full(&self, latency_ns: u64) -> bool {
        self.0[RESPONSE].checked_add(latency_ns as u32).is_none()
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

    #[inline(always)]
    pub fn add(&mut self, few: &Few) {
        self.0.iter_mut().zip(few.0).for_each(|(sum, more)| *sum += u64::from(more));
    }

    /// Their response times by part.
    pub fn parts(&self) -> [u64; PARTS] {
        let (mut flash, mut outside) = (Charges::default(), [0; OUTSIDE_PARTS]);
        flash.0.copy_from_slice(&self.0[..STATES]);
        outside.copy_from_slice(&self.0[OUTSIDE..RESPONSE]);
        by_part(self.0[RESPONSE], &flash, outside)
    }
}

fn by_part(response_ns: u64, flash: &Charges, outside_ns: [u64; OUTSIDE_PARTS]) -> [u64; PARTS] {
    let mut parts = [0; PARTS];
    let in_flash_ns = response_ns - outside_ns.iter().sum::<u64>();
    parts[..WAITS].copy_from_slice(&flash.parts(in_flash_ns));
    parts[WAITS..].copy_from_slice(&outside_ns);
    parts
}

/// What the response time of a request is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeOf<'a> {
    pub latency: InBucket,
    /// In the flash, if it was there.
    flash: Option<&'a Charges>,
    /// For the flash as a whole, if it waited for that.
    behind_flash: Option<&'a Charges>,
    way: &'a Way,
}

impl MadeOf<'_> {
    #[inline(always)]
    fn outside_ns(&self) -> [u64; OUTSIDE_PARTS] {
        let mut outside_ns = self.way.outside_ns;
        outside_ns[0] = self.latency.ns - (self.way.until_ns - self.way.issued_ns);
        outside_ns
    }

    /// Adds all of it to sums of requests.
    #[inline(always)]
    pub fn add_to(self, Few(sums): &mut Few) {
        if let Some(flash) = self.flash {
            add_flash(sums, flash);
        }
        if let Some(behind_flash) = self.behind_flash {
            add_flash(sums, behind_flash);
        }
        sums[OUTSIDE..].iter_mut().zip(self.outside_ns()).for_each(|(sum, part)| *sum += part as u32);
        sums[RESPONSE] += self.latency.ns as u32;
        sums[REQUESTS] += 1;
    }

    /// By part.
    pub fn parts(self) -> [u64; PARTS] {
        let mut flash = Charges::default();
        for more in [self.flash, self.behind_flash].into_iter().flatten() {
            flash.0.iter_mut().zip(more.0).for_each(|(sum, part)| *sum += part);
        }
        by_part(self.latency.ns, &flash, self.outside_ns())
    }
}

/// How a request stands to the flash as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behind {
    /// It never waited for it.
    Never,
    Waits,
    Waited,
}

/// A request on its way through the drive, in one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Way {
    /// What it was charged for outside the flash.
    outside_ns: [u64; OUTSIDE_PARTS],
    issued_ns: u64,
    until_ns: u64,
    behind_flash: Behind,
    /// Whether it was in the flash.
    in_flash: bool,
}

impl Way {
    /// One that never was in the drive.
    const ABOVE: Self = Self {
        outside_ns: [0; OUTSIDE_PARTS],
        issued_ns: 0,
        until_ns: 0,
        behind_flash: Behind::Never,
        in_flash: false,
    };
}

/// Charges requests.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// By the number of the flight.
    ways: Vec<Way>,
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

    /// A request enters the drive's queues.
    #[inline(always)]
    pub fn enter(&mut self, flight: u32, issued_ns: u64) {
        let flight = flight as usize;
        if self.ways.len() <= flight {
            self.make_room(flight);
        }
        self.ways[flight] = Way { issued_ns, until_ns: issued_ns, ..Way::ABOVE };
    }

    #[cold]
    fn make_room(&mut self, flight: usize) {
        self.ways.resize(flight + 1, Way::ABOVE);
        self.dies_before.resize(flight + 1, Default::default());
        self.behind_flash.resize(flight + 1, Charges::default());
    }

    /// The time since a request was charged last went to this.
    #[inline(always)]
    pub fn charge(&mut self, flight: u32, part: Part, now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        way.outside_ns[part as usize - WAITS] += now_ns - way.until_ns;
        way.until_ns = now_ns;
    }

    /// The flash is done with a request, and knows what went by there.
    #[inline(always)]
    pub fn flash(&mut self, flight: u32, now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        (way.until_ns, way.in_flash) = (now_ns, true);
    }

    /// From now on a request waits for the flash as a whole.
    #[cold]
    pub fn wait_for_flash(&mut self, flight: u32, dies: DieTime) {
        self.dies_before[flight as usize] = dies;
        self.ways[flight as usize].behind_flash = Behind::Waits;
    }

    /// Whether it still does.
    #[inline(always)]
    pub fn is_behind_flash(&self, flight: u32) -> bool {
        self.ways[flight as usize].behind_flash == Behind::Waits
    }

    /// It has waited: for what the dies did since.
    #[cold]
    pub fn waited_for_flash(&mut self, flight: u32, dies: &DieTime, now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        let meanwhile = between(&self.dies_before[flight as usize], dies);
        self.behind_flash[flight as usize] = Charges::divide(now_ns - way.until_ns, &meanwhile);
        (way.until_ns, way.behind_flash) = (now_ns, Behind::Waited);
    }

    /// A request of the host is complete with a flight. Before that entered the drive, it was in the block layer; if there
    /// is none, all the time. Returns what its response time is made of, with what `flash` charged it for.
    #[inline(always)]
    pub fn made_of<'a>(
        &'a self,
        flight: Option<u32>,
        latency: InBucket,
        flash: impl Fn(u32) -> Option<&'a Charges>,
    ) -> MadeOf<'a> {
        let way = flight.map_or(&Way::ABOVE, |flight| &self.ways[flight as usize]);
        let behind_flash = flight.filter(|_| way.behind_flash == Behind::Waited);
        let made_of = MadeOf {
            latency,
            flash: flight.filter(|_| way.in_flash).and_then(flash),
            behind_flash: behind_flash.map(|flight| &self.behind_flash[flight as usize]),
            way,
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

    /// What requests are made of that are complete one after the other, with those of `charge`.
    fn summary(op: Op, latencies_ns: impl Iterator<Item = u64>, charge: impl Fn(&mut Waits, u64)) -> PartsByPercentile {
        let (mut waits, mut intervals, mut now_ns) = (Waits::default(), Intervals::new(0), 0_u64);
        let request = Request { time_ns: 0, offset: 0, bytes: 1, op, flags: 0, stream: 0 };
        for latency_ns in latencies_ns {
            charge(&mut waits, latency_ns);
            now_ns = now_ns.max(latency_ns);
            let made_of = waits.made_of(Some(0), InBucket::of(latency_ns), |_| None);
            intervals.request_done(&request, now_ns, InBucket::of(0), made_of);
        }
        let found = ResponseSummary::of(intervals.finish().1, [0; 7]);
        let of_op = if op == Op::Read { found.read } else { found.write };
        of_op.filter(|of_op| *of_op == found.all).expect("nothing else")
    }

    /// 1,000 requests of 1, 2, 3 ... microseconds: half of each in the queue, the rest on the link.
    #[test]
    fn percentiles_are_means_of_the_requests_around_them() {
        let read = summary(Op::Read, (1..=1_000).map(|number| number * 1_000), |waits, latency_ns| {
            waits.enter(0, 0);
            waits.charge(0, Part::HostQueue, latency_ns / 2);
            waits.charge(0, Part::Link, latency_ns);
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
        let read = summary(Op::Read, [long_ns; 10].into_iter(), |waits, latency_ns| {
            waits.enter(0, 0);
            waits.charge(0, Part::Link, latency_ns);
        });
        let expected = 10 * u128::from(long_ns);
        assert_eq!((read.all.requests, read.all.sum_ns), (10, expected));
        assert_eq!(read.all.parts_ns[Part::Link as usize], expected);
    }

    /// A request that was in the block layer before the drive saw it waited there.
    #[test]
    fn what_the_drive_did_not_see_is_the_block_layer() {
        let write = summary(Op::Write, [1_000].into_iter(), |waits, latency_ns| {
            waits.enter(0, 700);
            waits.charge(0, Part::Link, latency_ns);
        });
        let [above, link] = [Part::BlockLayer, Part::Link].map(|part| write.all.parts_ns[part as usize]);
        assert_eq!((above, link), (700, 300));
    }
}
