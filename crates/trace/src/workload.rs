//! The specification of a synthetic workload; `generate` turns it into a [`crate::Source`].

use crate::generate::Personality;

/// Which addresses a workload touches. Addresses are drawn in units of `align_bytes` inside `span_bytes`.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Every address equally likely.
    Uniform,
    /// Popularity of rank k proportional to `1 / k^theta`; ranks are scattered over the span.
    Zipf {
        /// Skew, above 0 (0.99 is YCSB's).
        theta: f64,
    },
    /// `hot_requests` of the requests go to `hot_space` of the addresses (r and f of the literature).
    HotCold {
        /// Share of requests that are hot, 0 to 1.
        hot_requests: f64,
        /// Share of the span that is hot, 0 to 1.
        hot_space: f64,
        /// Where the hot addresses lie.
        placement: Placement,
    },
    /// Streams that each write their own stretch of the span from front to back, in turn.
    Sequential {
        /// Number of interleaved streams, at least 1.
        streams: u32,
    },
    /// Short sequential runs of several streams interleaved with one another and with random requests.
    Streams(Streams),
    /// Files written at the same time, each front to back, in turn; they lie one after another. Nothing is read, and
    /// the workload ends when every file is written.
    CopyFiles {
        /// Number of files, at least 1.
        files: u32,
        /// Length of each file, at least 1.
        file_bytes: u64,
    },
    /// Skew by blocks, which lie scattered over the span: hot ones, idle ones that no request touches, and the rest.
    /// Within a class every block is equally likely.
    Oltp {
        /// Size of a block, a multiple of `align_bytes`; what the span holds beyond whole blocks is not used.
        block_bytes: u32,
        /// Share of the blocks that is hot, 0 to 1.
        hot_blocks: f64,
        /// Share of the requests that goes to hot blocks, 0 to 1; the rest goes to blocks neither hot nor idle.
        hot_requests: f64,
        /// Share of the blocks that is idle, 0 to 1.
        idle_blocks: f64,
    },
    /// Runs that go on, return and jump, in few regions.
    Locality(Locality),
    /// Filebench on ext4; it decides when requests come, what they do and how large they are.
    Filebench(Filebench),
}

/// Where the hot addresses of [`Pattern::HotCold`] lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// In the first stretch of the span.
    Together,
    /// One by one all over the span.
    Scattered,
}

/// [`Pattern::Streams`]. A slot is `align_bytes`; a stream is a succession of sub-streams, each of which runs through
/// `length` slots from a random one on.
#[derive(Clone, Debug, PartialEq)]
pub struct Streams {
    /// Concurrent streams, 1 to 65,534.
    pub streams: u32,
    /// Slots of a sub-stream, at least 2. A request takes as many as it touches; one that would pass the end begins
    /// the next sub-stream.
    pub length: u64,
    /// Share of requests that belong to a sub-stream, 0 to 1, each by its own draw; the others go to one random slot.
    pub sequential: f64,
    /// Size of a block, a multiple of `align_bytes`; a header is its first slot.
    pub block_bytes: u32,
    /// Size of a sub-block, a multiple of `align_bytes` that divides the block.
    pub sub_block_bytes: u32,
    /// Share of sub-streams made to start at a block header, 0 to 1.
    pub block_headers: f64,
    /// Share of sub-streams made to start at a sub-block header, 0 to 1; a block header is one too. Sub-streams of
    /// neither share start anywhere.
    pub sub_block_headers: f64,
    /// Chance that the next stream in turn follows a sequential request, 0 to 1. The end of a sub-stream always
    /// leads on: at 0 sub-streams follow one another whole, at 1 they interleave request by request.
    pub shuffle: f64,
    /// Whether random requests may go to a block header.
    pub random_headers: bool,
}

/// [`Pattern::Locality`]. A slot is `align_bytes`. With probability `jump` a request leaves its run; else it goes to
/// the run's next slot, or to the same one again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Locality {
    /// Chance that a request leaves its run, 0 to 1.
    pub jump: f64,
    /// Chance that a request that stays goes on to the next slot, 0 to 1.
    pub advance: f64,
    /// Chance that a jump returns to where an earlier run stopped, 0 to 1; else it begins a run at a new place.
    pub back: f64,
    /// The run that stopped d runs ago is returned to in proportion to this to the power of d; above 0, at most 1.
    pub decay: f64,
    /// Runs that can be returned to, 1 to 1,048,576.
    pub runs: u32,
    /// A new place is 2^(b u^`spread`) slots away, either way, where b is log2 of all slots and u uniform from 0 to 1;
    /// above 0. The larger, the nearer.
    pub spread: f64,
    /// Regions that the walk keeps to, at most 1,048,576 and those of the span; 0 for the whole span.
    pub heads: u32,
    /// Size of a region, a multiple of `align_bytes`.
    pub region_bytes: u32,
    /// Stretches of neighbouring regions that the regions form, 1 to `heads`, of random lengths at random places.
    pub stretches: u32,
}

/// [`Pattern::Filebench`]. Sizes are in bytes, times in ns.
#[derive(Clone, PartialEq, Debug)]
pub struct Filebench {
    /// What the files are like and what the threads do.
    pub personality: &'static Personality,
    /// Files of the fileset.
    pub files: u32,
    /// Mean size of a file.
    pub file_bytes: u64,
    /// Threads, or reading processes of a database.
    pub threads: u32,
    /// Page cache, 4 MiB or more.
    pub cache_bytes: u64,
    /// Whether processes draw random numbers of their own.
    pub seeding: Seeding,
    /// Largest request, at least a page of 4 KiB.
    pub max_bio_bytes: u32,
    /// Mean time of a thread between two operations, above 0; times are exponential.
    pub think_ns: u64,
    /// Time that the nominal device takes for a request.
    pub service_ns: u64,
    /// Requests that it serves at once, at least 1.
    pub depth: u32,
    /// Bytes that it moves in a second, at least 1.
    pub bytes_per_s: u64,
}

/// Random numbers of the processes of [`Filebench`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seeding {
    /// Equal in all processes: Filebench seeds none.
    Filebench,
    /// Each process its own.
    Independent,
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// All at time 0: the replay's closed loop decides.
    Closed,
    /// One every `1 / per_second`.
    Fixed {
        /// Requests per second.
        per_second: f64,
    },
    /// Exponential gaps of mean `1 / per_second`.
    Poisson {
        /// Requests per second.
        per_second: f64,
    },
}

/// A synthetic workload; the same specification and seed give the same requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Which addresses.
    pub pattern: Pattern,
    /// When.
    pub arrival: Arrival,
    /// How many requests, at most.
    pub requests: u64,
    /// Share of requests that read, 0 to 1; the rest write.
    pub reads: f64,
    /// Request sizes in bytes with their weights (any positive scale).
    pub sizes: Vec<(u32, f64)>,
    /// Addresses are multiples of this many bytes.
    pub align_bytes: u32,
    /// Addresses lie in `0..span_bytes`.
    pub span_bytes: u64,
    /// Seed of the random streams.
    pub seed: u64,
}
