//! What a drive that is served has done.

use serde::Serialize;
use ssdlab_core::counters;
use ssdlab_device::{Health, MountReport};
use ssdlab_sim::{FlashSummary, HostCounters, LatencyByOp, Setup};

counters! {
    /// Requests to make bytes zero, which no trace has: a record says them as writes and trims.
    pub struct Zeroes {
        write_zeroes_requests: "requests", "Write-zeroes requests; neither writes nor trims.";
        bytes_zeroed: "bytes", "Bytes of write-zeroes requests.";
    }
}

/// What clients asked for. Pages are counted as they were served: those that zeroes trim as trimmed, others as written.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Clients {
    /// In the words of a trace.
    #[serde(flatten)]
    pub host: HostCounters,
    /// Beside it.
    #[serde(flatten)]
    pub zeroes: Zeroes,
}

/// How a drive was mounted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mount {
    /// Whether it had been shut down in good order.
    pub clean: bool,
    /// Whether the log was lost, so that all spare areas were read.
    pub full_scan: bool,
    /// Bytes of the log read.
    pub log_bytes_read: u64,
    /// Blocks whose spare areas were read.
    pub blocks_scanned: u64,
    /// Spare areas read.
    pub spares_read: u64,
    /// Pages read to compare their checksums.
    pub pages_verified: u64,
    /// Operations of the FTL, by cause.
    pub operations: FlashSummary,
    /// Simulated time that all of it takes, in nanoseconds; none without time.
    pub time_ns: Option<u64>,
}

impl Mount {
    /// What a report of the drive says.
    pub fn of(report: MountReport, setup: &Setup) -> Self {
        let time_ns = setup.clock.timing().map(|timing| report.time(timing, &setup.geometry).0);
        let MountReport { full_scan, clean, log_bytes_read, blocks_scanned, spares_read, pages_verified, operations } =
            report;
        let operations = FlashSummary(operations);
        Self { clean, full_scan, log_bytes_read, blocks_scanned, spares_read, pages_verified, operations, time_ns }
    }
}

/// Response times of the drive in time, and how late replies left.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Response times as simulated.
    pub latency: LatencyByOp,
    /// Pages programmed by the drive that holds the bytes, which empties its buffer at once: there pages are
    /// overwritten less often than in that of the drive in time.
    pub pages_stored: u64,
    /// Pages in the write buffer of the drive in time.
    pub buffered_pages: u32,
    /// Replies that waited for their time.
    pub replies: u64,
    /// Mean time by which they left late, in nanoseconds on the wall.
    pub lag_mean_ns: f64,
    /// The longest such time.
    pub lag_max_ns: u64,
    /// Why the drive in time stopped; none while it runs.
    pub failed: Option<String>,
}

/// A drive since it was opened.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Bytes that clients see.
    pub capacity_bytes: u64,
    /// What clients asked for, as far as it was done.
    pub host: Clients,
    /// Flash operations by cause, without those of the mount; where there are times, those of the drive in time.
    pub flash: FlashSummary,
    /// Pages programmed for each page that clients wrote; none if they wrote nothing.
    pub write_amplification: Option<f64>,
    /// Logical pages that wait in a volatile write buffer.
    pub buffered_pages: u32,
    /// State of the flash.
    pub health: Health,
    /// How the drive was mounted; none if it was made anew.
    pub mount: Option<Mount>,
    /// Response times; none where replies leave at once.
    pub times: Option<Times>,
}
