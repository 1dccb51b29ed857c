//! Report on a drive that is exported over NBD.

use serde::Serialize;
use ssdlab_core::counters;
use ssdlab_device::{Health, MountReport};
use ssdlab_sim::{FlashSummary, HostCounters, LatencyByOp, PreconditionSummary, Setup};

counters! {
    /// Counters of write-zeroes requests. Traces have no such requests; a recorded trace contains writes and trims
    /// instead.
    pub struct Zeroes {
        write_zeroes_requests: "requests", "Write-zeroes requests; not counted as writes or trims.";
        bytes_zeroed: "bytes", "Bytes zeroed by write-zeroes requests.";
    }
}

/// Requests of clients. Pages of a write-zeroes request count as trimmed or written, depending on how the drive
/// executed the request.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ClientCounters {
    /// Counters of the client requests whose types also occur in traces.
    #[serde(flatten)]
    pub host: HostCounters,
    #[serde(flatten)]
    pub zeroes: Zeroes,
}

/// Report on how a drive was mounted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mount {
    #[serde(flatten)]
    pub report: MountReport,
    /// Flash operations of the FTL during the mount, by cause.
    pub operations: FlashSummary,
    /// Simulated duration of the mount in ns; `None` without timing.
    pub time_ns: Option<u64>,
}

impl Mount {
    /// Creates the mount report of a drive with this set-up.
    pub fn of(report: MountReport, setup: &Setup) -> Self {
        let time_ns = setup.clock.timing().map(|timing| report.time(timing, &setup.geometry).0);
        Self { report, operations: FlashSummary(report.operations), time_ns }
    }
}

/// State of the drive when the server started. Both fields are `None` for a new, empty drive.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Start {
    /// Report on the mount of the drive; `None` for a new drive.
    pub mount: Option<Mount>,
    /// Writes that preconditioned the drive before it was exported; `None` for an existing or an empty drive.
    pub precondition: Option<PreconditionSummary>,
}

/// Response times of the simulated drive, and delays of replies.
#[derive(Clone, Debug, Serialize)]
pub struct TimingReport {
    /// Simulated response times by type of request.
    pub latency: LatencyByOp,
    /// Number of pages programmed by the stored drive, which holds the bytes. It may exceed the number in the simulated
    /// drive: the stored drive programs buffered pages without delay, so fewer of them are overwritten in the buffer.
    pub pages_stored: u64,
    /// Number of pages in the write buffer of the simulated drive.
    pub buffered_pages: u32,
    /// Number of replies whose due time was set by an export.
    pub replies: u64,
    /// Mean delay of replies beyond their due times, in ns of wall time.
    pub lag_mean_ns: f64,
    /// Longest delay of a reply beyond its due time, in ns of wall time.
    pub lag_max_ns: u64,
    /// Error that stopped the simulated drive; `None` while it runs.
    pub failed: Option<String>,
}

/// Activity of a drive since it was opened.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Capacity of the drive in bytes.
    pub capacity_bytes: u64,
    /// Counters of the completed requests of clients.
    pub host: ClientCounters,
    /// Flash operations by cause, without the mount. They are counted in the simulated drive, or in the stored drive if
    /// there is no simulated drive.
    pub flash: FlashSummary,
    /// Pages programmed per page written by clients; `None` without writes.
    pub write_amplification: Option<f64>,
    /// Number of logical pages in the write buffer.
    pub buffered_pages: u32,
    /// Health of the stored drive.
    pub health: Health,
    /// State of the drive when the server started.
    #[serde(flatten)]
    pub start: Start,
    /// Response times; `None` if replies are sent immediately.
    pub times: Option<TimingReport>,
}
