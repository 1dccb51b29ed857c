//! Address patterns: the trait that draws addresses, the registry of patterns, and the loop that draws requests.
//!
//! The loop is generic over the pattern, so requests need no dynamic dispatch.

use std::fmt::Debug;
use std::ops::Range;

use ssdlab_core::{Info, Rng, Settings};

use super::Requests;
use super::check::numbered;
use super::clock::Clock;
use super::queues::Queues;
use super::sizes::Sizes;
use super::space::{RequestTarget, Space};
use crate::{Op, Request, TraceError, Workload};

/// Draws the addresses of a workload's requests, one after the other.
pub trait Addresses: Debug + Send + Sized + 'static {
    /// False if the pattern generates only writes, whatever share of reads the workload sets.
    const READS: bool = true;
    /// True if the pattern assigns requests to streams. A workload with such a pattern must not have queues.
    const STREAMS: bool = false;

    /// Checks the parameters against the address space, in constant time and memory. Returns [`TraceError::Workload`]
    /// for the first violated rule, naming the parameter and a valid value.
    fn check(_settings: &Settings, _space: Space) -> Result<(), TraceError> {
        Ok(())
    }

    /// Returns the number of requests after which the pattern ends; `u64::MAX` if it does not end.
    fn requests(_settings: &Settings, _space: Space) -> u64 {
        u64::MAX
    }

    /// Creates the pattern in its initial state; [`Self::check`] must have accepted the parameters.
    fn new(settings: &Settings, space: Space, rng: &mut Rng) -> Self;

    /// Returns the names of the pattern's streams in numerical order, starting with stream 1.
    fn streams(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the address and the stream of the next request, whose size is `bytes`.
    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget;
}

/// A registered address pattern.
pub type PatternInfo = Info<PatternRules>;

/// Functions that check a workload with this address pattern, count its requests and create its generator.
pub struct PatternRules {
    pub(super) check: fn(&Settings, Space) -> Result<(), TraceError>,
    pub(super) requests: fn(&Settings, Space) -> u64,
    pub(super) streams: bool,
    pub(super) start: Start,
}

/// Creates a workload's generator, positioned at the first request.
pub type Start = &'static (dyn Fn(&Workload, &Settings) -> Box<dyn Requests> + Send + Sync);

impl PatternRules {
    /// Returns the rules of the address pattern `A`.
    pub const fn of<A: Addresses>() -> Self {
        Self { check: A::check, requests: A::requests, streams: A::STREAMS, start: &Drawn::<A>::boxed }
    }

    /// Returns the rules of a pattern that generates complete requests, with operations, sizes, times and streams.
    pub const fn whole(start: Start) -> Self {
        Self { check: |_, _| Ok(()), requests: |_, _| u64::MAX, streams: true, start }
    }
}

/// Generators of the addresses, operations, sizes and times of requests. Each generator has its own random number
/// stream.
#[derive(Debug)]
struct Drawn<A> {
    addresses: A,
    sizes: Sizes,
    clock: Clock,
    /// Queues of the workload; `None` if only `clock` determines the arrival times.
    queues: Option<Queues>,
    reads: f64,
    address_rng: Rng,
    op_rng: Rng,
}

impl<A: Addresses> Drawn<A> {
    /// Creates the generators in their initial state; [`Workload::check`] must have accepted the workload.
    fn boxed(workload: &Workload, settings: &Settings) -> Box<dyn Requests> {
        let rng = |name| Rng::named(workload.seed, name);
        let mut address_rng = rng("workload.address");
        Box::new(Self {
            addresses: A::new(settings, workload.space(), &mut address_rng),
            sizes: Sizes::new(&workload.sizes, rng("workload.size")),
            clock: Clock::new(&workload.arrival, rng("workload.arrival")),
            queues: Queues::new(&workload.queues, workload.seed),
            reads: if A::READS { workload.reads } else { 0.0 },
            address_rng,
            op_rng: rng("workload.op"),
        })
    }

    #[inline]
    fn next(&mut self, index: u64) -> Request {
        let bytes = self.sizes.draw();
        let RequestTarget { offset, bytes, stream } = self.addresses.next(bytes, &mut self.address_rng);
        let (time_ns, reads, stream) = match &mut self.queues {
            Some(queues) => queues.next(),
            None => (self.clock.tick(index), self.reads, stream),
        };
        // A random number is drawn only if needed, because most workloads are all reads or all writes.
        let reads = A::READS && (reads >= 1.0 || (reads > 0.0 && self.op_rng.unit() < reads));
        let op = if reads { Op::Read } else { Op::Write };
        Request { time_ns, offset, bytes, op, flags: 0, stream }
    }
}

impl<A: Addresses> Requests for Drawn<A> {
    fn streams(&self) -> Vec<String> {
        self.queues.as_ref().map_or_else(|| self.addresses.streams(), |queues| numbered("queue", queues.count()))
    }

    fn fill(&mut self, out: &mut Vec<Request>, indices: Range<u64>) -> Result<(), TraceError> {
        let pure = self.queues.is_none() && self.clock.is_closed() && (self.reads <= 0.0 || self.reads >= 1.0);
        match self.sizes.only() {
            // Fast path for the common case that only addresses are random. Its loop keeps the random generator in
            // registers.
            Some(bytes) if pure => {
                let op = if self.reads >= 1.0 { Op::Read } else { Op::Write };
                let mut rng = self.address_rng.clone();
                out.extend(indices.map(|_| {
                    let RequestTarget { offset, bytes, stream } = self.addresses.next(bytes, &mut rng);
                    Request { time_ns: 0, offset, bytes, op, flags: 0, stream }
                }));
                self.address_rng = rng;
            }
            _ => out.extend(indices.map(|index| self.next(index))),
        }
        Ok(())
    }
}
