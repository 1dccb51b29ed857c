//! Specification of a synthetic workload; `generate` turns it into a [`crate::Source`].

use crate::generate::Personality;

/// Address pattern of a workload. Addresses are multiples of `align_bytes` within `span_bytes`.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// All addresses of the span are equally likely.
    Uniform,
    /// The probability of rank k is proportional to `1 / k^theta`; ranks are scattered over the span.
    Zipf {
        /// Skew of the distribution, above 0 (YCSB uses 0.99).
        theta: f64,
    },
    /// A share `hot_requests` of the requests goes to a share `hot_space` of the addresses (r and f in the literature).
    HotCold {
        /// Share of the requests that go to hot addresses, 0 to 1.
        hot_requests: f64,
        /// Share of the span that consists of hot addresses, 0 to 1.
        hot_space: f64,
        /// Location of the hot addresses.
        placement: Placement,
    },
    /// Streams that write their own parts of the span front to back, taking turns.
    Sequential {
        /// Number of interleaved streams, at least 1.
        streams: u32,
    },
    /// Short sequential runs of several streams, interleaved with each other and with random requests.
    Streams(Streams),
    /// Consecutive files to which requests write in turn, each file from front to back. Write-only; the workload ends
    /// when all files are written.
    CopyFiles {
        /// Number of files to copy, at least 1.
        files: u32,
        /// Length of each file in bytes, at least 1.
        file_bytes: u64,
    },
    /// Block-wise skew: hot blocks, idle blocks that are never accessed, and other blocks, scattered over the span.
    /// Blocks of a class (hot or other) are equally likely.
    Oltp {
        /// Size of a block in bytes, a multiple of `align_bytes`; a partial block at the end of the span is not used.
        block_bytes: u32,
        /// Share of the blocks that are hot, 0 to 1.
        hot_blocks: f64,
        /// Share of the requests that go to hot blocks, 0 to 1; all other requests go to blocks that are neither hot
        /// nor idle.
        hot_requests: f64,
        /// Share of the blocks that are idle, 0 to 1.
        idle_blocks: f64,
    },
    /// Sequential runs of requests that continue, repeat a slot or jump, within a few regions.
    Locality(Locality),
    /// The benchmark Filebench on ext4. It determines the times, operations and sizes of requests itself.
    Filebench(Filebench),
}

/// Location of the hot addresses of [`Pattern::HotCold`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Hot addresses form one range at the start of the span.
    Together,
    /// Hot addresses are scattered individually over the span.
    Scattered,
}

/// Parameters of [`Pattern::Streams`]. A slot is `align_bytes`. A stream is a sequence of sub-streams, each of which
/// accesses `length` consecutive slots from a random start.
#[derive(Clone, Debug, PartialEq)]
pub struct Streams {
    /// Number of concurrent streams, from 1 to 65,534.
    pub streams: u32,
    /// Number of slots per sub-stream, at least 2. A request uses as many slots as it touches. A request that would
    /// pass the end of a sub-stream starts the next sub-stream.
    pub length: u64,
    /// Probability that a request belongs to a sub-stream; otherwise it goes to a random slot.
    pub sequential: f64,
    /// Size of a block in bytes, a multiple of `align_bytes`; the block header is its first slot.
    pub block_bytes: u32,
    /// Size of a sub-block in bytes, a multiple of `align_bytes` that divides the block.
    pub sub_block_bytes: u32,
    /// Share of sub-streams that start at a block header, 0 to 1.
    pub block_headers: f64,
    /// Share of sub-streams that start at a sub-block header (which may be a block header), 0 to 1. All other
    /// sub-streams start anywhere.
    pub sub_block_headers: f64,
    /// Probability of switching to the next stream after a sequential request; the end of a sub-stream always switches.
    /// With 0, whole sub-streams alternate; with 1, single requests.
    pub shuffle: f64,
    /// True if random requests may go to a block header.
    pub random_headers: bool,
}

/// Parameters of [`Pattern::Locality`]. A slot is `align_bytes`. With probability `jump` a request leaves its run;
/// otherwise it goes to the run's next slot or repeats the last slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Locality {
    /// Probability that a request leaves its run.
    pub jump: f64,
    /// Probability that a request that stays in its run advances to the next slot.
    pub advance: f64,
    /// Probability that a jump returns to the address where an earlier run stopped; all other jumps start a new run.
    pub back: f64,
    /// Recency weight of earlier runs: the run that stopped d runs ago has weight `decay^d`; above 0, at most 1.
    pub decay: f64,
    /// Number of earlier runs to which a jump may return, 1 to 1,048,576.
    pub runs: u32,
    /// Closeness of new runs to the current run, above 0; larger means closer. The distance is 2^(b u^`spread`) slots
    /// in either direction, with b = log2 of all slots and u uniform in 0 to 1.
    pub spread: f64,
    /// Number of regions accessed, at most 1,048,576 and at most the regions in the span; 0 means the whole span.
    pub heads: u32,
    /// Size of a region in bytes, a multiple of `align_bytes`.
    pub region_bytes: u32,
    /// Number of contiguous stretches that the regions form, 1 to `heads`, with random lengths and positions.
    pub stretches: u32,
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
    /// Number of threads, or of reading processes of a database.
    pub threads: u32,
    /// Size of the page cache in bytes, at least 4 MiB.
    pub cache_bytes: u64,
    /// Rule for the random seeds of Filebench's processes.
    pub seeding: Seeding,
    /// Maximum size of a block request in bytes, at least 4 KiB.
    pub max_bio_bytes: u32,
    /// Mean think time in ns of a thread between operations, above 0; exponentially distributed.
    pub think_ns: u64,
    /// Service time in ns of the nominal device per request.
    pub service_ns: u64,
    /// Number of requests the nominal device serves concurrently, at least 1.
    pub depth: u32,
    /// Bandwidth of the nominal device in bytes/s, at least 1.
    pub bytes_per_s: u64,
}

/// Rule for the random seeds of [`Filebench`] processes.
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
    /// Returns the mean number of requests per second; `None` without times.
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
    /// Arrival process of the queue's requests, at a rate.
    pub arrival: Arrival,
    /// Share of the queue's requests that are reads, 0 to 1; all other requests are writes.
    pub reads: f64,
}

/// A synthetic workload. The same specification and seed always give the same requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Address pattern of the requests.
    pub pattern: Pattern,
    /// Arrival process of the requests; not used with queues.
    pub arrival: Arrival,
    /// Queues of the workload, up to 16; each is a stream of the requests. Without queues, requests have the streams
    /// of the pattern.
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
