//! Specification of a synthetic workload; `generate` turns it into a [`crate::Source`].

use ssdlab_core::Choice;

use crate::TraceError;
use crate::generate::{PATTERNS, PatternRules, Personality};

/// Pattern of a workload's requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// An address pattern from [`PATTERNS`], with its parameters. Addresses are multiples of `align_bytes` within
    /// `span_bytes`.
    Addresses(Choice<PatternRules>),
    /// The Filebench benchmark on ext4, which determines the times, operations and sizes of its requests itself.
    Filebench(Filebench),
}

impl Pattern {
    /// Returns the address pattern with the given name; `changes` replace its default parameters. Fails if no pattern
    /// has this name, or the pattern does not accept a change.
    pub fn named(name: &str, changes: &[(&str, u64)]) -> Result<Self, TraceError> {
        let info = PATTERNS.get(name).map_err(|error| TraceError::Invalid(error.to_string()))?;
        info.set(changes).map(Self::Addresses).map_err(|error| TraceError::Invalid(error.to_string()))
    }
}

/// Parameters of [`Pattern::Filebench`]. Sizes are in bytes, times in ns.
#[derive(Clone, PartialEq, Debug)]
pub struct Filebench {
    /// Filebench personality, which determines the files and the operations of the threads.
    pub personality: &'static Personality,
    /// Number of files in the fileset.
    pub files: u32,
    /// Mean size of a file.
    pub file_bytes: u64,
    /// Number of threads; for the database personality (`oltp`), number of reader processes.
    pub threads: u32,
    /// Size of the page cache in bytes, at least 4 MiB.
    pub cache_bytes: u64,
    /// Choice of the random seeds of Filebench's processes: one seed for all processes, or a different seed for each.
    pub seeding: Seeding,
    /// Maximum size of a block request in bytes, at least 4 KiB.
    pub max_bio_bytes: u32,
    /// Mean of the exponentially distributed think time of a thread between operations, in ns; above 0.
    pub think_ns: u64,
    /// Service time per request on the nominal device, in ns.
    pub service_ns: u64,
    /// Number of requests the nominal device serves concurrently, at least 1.
    pub depth: u32,
    /// Bandwidth of the nominal device in bytes/s, at least 1.
    pub bytes_per_s: u64,
}

/// Assignment of random seeds to [`Filebench`] processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seeding {
    /// The same seed for all processes, as Filebench does.
    Filebench,
    /// Each process has a different seed.
    Independent,
}

/// Arrival process of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// All requests arrive at time 0; meant for closed-loop replay.
    Closed,
    /// One request arrives every `1 / per_second` seconds.
    Fixed {
        /// Number of requests per second.
        per_second: f64,
    },
    /// Times between arrivals are exponential, with a mean of `1 / per_second` seconds.
    Poisson {
        /// Mean number of requests per second.
        per_second: f64,
    },
}

impl Arrival {
    /// Returns the mean number of requests per second; `None` if all requests arrive at time 0.
    pub const fn per_second(&self) -> Option<f64> {
        match *self {
            Self::Closed => None,
            Self::Fixed { per_second } | Self::Poisson { per_second } => Some(per_second),
        }
    }
}

/// A queue of a workload with several queues: its arrivals and its share of reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Arrival process of the queue's requests, which must have a rate.
    pub arrival: Arrival,
    /// Share of the queue's requests that are reads, 0 to 1; all other requests are writes.
    pub reads: f64,
}

/// A synthetic workload. The same specification and seed always give the same requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Pattern of the requests.
    pub pattern: Pattern,
    /// Arrival process of the requests; not used with queues.
    pub arrival: Arrival,
    /// Queues of the workload, up to 16; the requests of each queue form a stream. Without queues, the pattern
    /// determines the streams.
    pub queues: Vec<Queue>,
    /// Maximum number of requests to generate.
    pub requests: u64,
    /// Share of the requests that are reads, 0 to 1; all other requests are writes. Not used with queues.
    pub reads: f64,
    /// Request sizes in bytes, with relative weights (positive, any scale).
    pub sizes: Vec<(u32, f64)>,
    /// Alignment of request addresses in bytes.
    pub align_bytes: u32,
    /// Size in bytes of the address range, which starts at 0.
    pub span_bytes: u64,
    /// Seed of all random number streams.
    pub seed: u64,
}
