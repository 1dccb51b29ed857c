//! The specification of a synthetic workload; `generate` turns it into a [`crate::Source`].

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
    },
    /// Streams that each write their own stretch of the span from front to back, in turn.
    Sequential {
        /// Number of interleaved streams, at least 1.
        streams: u32,
    },
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
    /// How many requests.
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
