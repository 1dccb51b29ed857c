//! The figures of a run, in the order of reports and files.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use ssdlab_core::{LatencyHistogram, Pages, counters};
use ssdlab_ftl::GcOccupancy;
use ssdlab_nand::{Cause, Counts};
use ssdlab_trace::Op;

use crate::host::cache::CacheSummary;
use crate::observe::activity::DriveSummary;
use crate::observe::diagnosis::Finding;
use crate::observe::lifetime::LifetimeSummary;
use crate::observe::log::LogSummary;
use crate::observe::map::MapSummary;
use crate::setup::Setup;

const NANOS_PER_SECOND: f64 = 1e9;

counters! {
    /// Requests of the host in the measured phase.
    pub struct HostCounters {
        read_requests: "requests", "Read requests.";
        write_requests: "requests", "Write requests.";
        trim_requests: "requests", "Trim requests.";
        flush_requests: "requests", "Flush requests; they wait only for a write buffer without power-loss protection.";
        bytes_read: "bytes", "Bytes read.";
        bytes_written: "bytes", "Bytes written.";
        bytes_trimmed: "bytes", "Bytes trimmed, including partial pages.";
        pages_read: "pages", "Logical pages touched by reads.";
        pages_written: "pages", "Logical pages touched by writes.";
        pages_trimmed: "pages", "Logical pages wholly covered by trims.";
        unmapped_pages_read: "pages", "Reads of pages that were never written or have been trimmed; they return zeros \
                                       at no cost.";
        partial_pages_written: "pages", "Partial page writes; the rest of the page is read first, unless it is empty \
                                         or in the write buffer.";
        wrapped_requests: "requests", "Requests past the end of the device, moved by `--fit wrap`.";
    }
}

impl HostCounters {
    /// Counts a request.
    #[inline(always)]
    pub fn count(&mut self, op: Op, bytes: u64) {
        match op {
            Op::Read => {
                self.read_requests += 1;
                self.bytes_read += bytes;
            }
            Op::Write => {
                self.write_requests += 1;
                self.bytes_written += bytes;
            }
            Op::Trim => {
                self.trim_requests += 1;
                self.bytes_trimmed += bytes;
            }
            Op::Flush => self.flush_requests += 1,
        }
    }

    /// Counts pages that the host writes.
    #[inline(always)]
    pub fn count_written(&mut self, pages: Pages) {
        self.pages_written += u64::from(pages.count);
        self.partial_pages_written += u64::from(pages.head) + u64::from(pages.tail);
    }
}

/// The device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// Capacity in bytes.
    pub capacity_bytes: u64,
    /// Bytes per page.
    pub page_bytes: u32,
    /// Pages per erase block.
    pub pages_per_block: u32,
    /// Erase blocks.
    pub blocks: u32,
    /// Bytes of flash.
    pub physical_bytes: u64,
    /// Logical pages.
    pub logical_pages: u64,
    /// Physical pages.
    pub physical_pages: u64,
    /// Spare capacity: (physical - logical) / logical.
    pub op_over_logical: f64,
    /// Spare capacity: (physical - logical) / physical.
    pub spare_of_physical: f64,
    /// Blocks reserved by the FTL for open and free blocks, merges or a map in flash; included in `blocks`.
    pub reserve_blocks: u32,
    /// `op_over_logical` without the reserved blocks. See also [`CollectionSummary::effective_op`].
    pub op_without_reserve: f64,
    /// Number of program/erase cycles that a block endures.
    pub endurance_cycles: u32,
    /// Bytes of mapping tables in the RAM of a controller, counted as in the FTL's paper.
    pub mapping_table_bytes: u64,
    /// Bytes of maps and block state in the simulation.
    pub memory_bytes: u64,
}

/// The device's state before the first request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PreconditionSummary {
    /// Pages written.
    pub host_pages_written: u64,
    /// Pages programmed.
    pub flash_pages_programmed: u64,
    /// Pages programmed by earlier runs of a saved drive, included above; excludes pages overwritten in a write buffer.
    pub runs_pages_written: u64,
    /// Write amplification at the end of overwriting, if any.
    pub write_amplification: Option<f64>,
    /// True if write amplification was steady; `None` unless the set-up requires a steady state.
    pub stable: Option<bool>,
    /// Number of replays of the trace's writes, if the trace overwrote the device.
    pub replays: Option<u64>,
    /// Number of planes preconditioned as a sample for all planes; `None` without sampling.
    pub sampled_planes: Option<u32>,
}

impl PreconditionSummary {
    /// Adds a completed run, from the total counts of the flash.
    pub(crate) fn add_run(&mut self, counts: &Counts) {
        self.runs_pages_written += counts.programs[Cause::Host as usize] - self.host_pages_written;
        self.count(counts);
    }

    /// Sets pages written and programmed from the total counts of the flash.
    pub(crate) fn count(&mut self, counts: &Counts) {
        self.host_pages_written = counts.programs[Cause::Host as usize];
        self.flash_pages_programmed = counts.programmed();
    }
}

/// Replays of the trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RepeatSummary {
    /// Replays begun, including the measured one.
    pub replays: u64,
    /// True if write amplification became steady; `None` unless the set-up requires a steady state.
    pub steady: Option<bool>,
    /// Data written in all replays, in capacities of the device.
    pub capacities_written: f64,
    /// Write amplification of each complete replay without its warm-up; `None` if the replay wrote nothing.
    pub write_amplification: Vec<Option<f64>>,
}

/// Flash operations by cause; causes that never occurred are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashSummary(pub Counts);

/// Operations of one kind by cause.
struct ByCause<'a>(&'a [u64]);

impl Serialize for ByCause<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let occurred = Cause::ALL.iter().zip(self.0).filter(|(_, count)| **count > 0);
        serializer.collect_map(occurred.map(|(cause, count)| (cause.name(), count)))
    }
}

impl Serialize for FlashSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("reads", &ByCause(&self.0.reads))?;
        map.serialize_entry("programs", &ByCause(&self.0.programs))?;
        map.serialize_entry("erases", &ByCause(&self.0.erases))?;
        map.end()
    }
}

/// Returns an amount per second; `None` if no time passed.
pub(crate) fn per_second(amount: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| amount as f64 / (elapsed_ns as f64 / NANOS_PER_SECOND))
}

/// Share of simulated time, in addition to the mean latency, that a drive may take after the last arrival and still
/// keep up.
const BEHIND: f64 = 0.05;

/// Rates over the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimeSummary {
    /// Time from the start of measuring to the last completion.
    pub elapsed_ns: u64,
    /// Time during which the flash worked.
    pub busy_ns: u64,
    /// Busy time divided by elapsed time.
    pub utilisation: f64,
    /// Requests completed per second; all rates are `None` if no time passed.
    pub iops: Option<f64>,
    /// Bytes read per second.
    pub bytes_read_per_s: Option<f64>,
    /// Bytes written per second.
    pub bytes_written_per_s: Option<f64>,
    /// Time from the last arrival to the last completion; `None` in closed replay.
    pub behind_ns: Option<u64>,
}

impl TimeSummary {
    /// Returns the time from the last arrival to the last completion if the drive did not keep up.
    pub(crate) fn fell_behind_ns(&self, latency: &LatencyByOp, drive: Option<&DriveSummary>) -> Option<u64> {
        let requests = latency.all?.count;
        let service_ns = match drive {
            Some(drive) => drive.service.all?.mean_ns,
            // This case serves requests one by one.
            None => self.busy_ns as f64 / requests as f64,
        };
        self.behind_ns.filter(|&behind_ns| behind_ns as f64 - service_ns > BEHIND * self.elapsed_ns as f64)
    }
}

/// A distribution of response times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Requests.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub std_dev_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Median. All quantiles are exact to 1.6 %.
    pub p50_ns: u64,
    /// Time that 90 of 100 requests do not exceed.
    pub p90_ns: u64,
    /// Time that 95 of 100 requests do not exceed.
    pub p95_ns: u64,
    /// Time that 99 of 100 requests do not exceed.
    pub p99_ns: u64,
    /// Time that 999 of 1,000 requests do not exceed.
    pub p99_9_ns: u64,
    /// Time that 9,999 of 10,000 requests do not exceed.
    pub p99_99_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl LatencySummary {
    /// Summarises a histogram; `None` if it is empty.
    pub(crate) fn of(histogram: &LatencyHistogram) -> Option<Self> {
        let q = |quantile| histogram.quantile_ns(quantile);
        (histogram.count() > 0).then(|| Self {
            count: histogram.count(),
            mean_ns: histogram.mean_ns(),
            std_dev_ns: histogram.std_dev_ns(),
            min_ns: histogram.min_ns(),
            p50_ns: q(0.5),
            p90_ns: q(0.9),
            p95_ns: q(0.95),
            p99_ns: q(0.99),
            p99_9_ns: q(0.999),
            p99_99_ns: q(0.9999),
            max_ns: histogram.max_ns(),
        })
    }
}

/// Response times by operation, for operations that occurred.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyByOp {
    /// All requests.
    pub all: Option<LatencySummary>,
    /// Reads.
    pub read: Option<LatencySummary>,
    /// Writes.
    pub write: Option<LatencySummary>,
    /// Trims.
    pub trim: Option<LatencySummary>,
    /// Flushes.
    pub flush: Option<LatencySummary>,
}

impl LatencyByOp {
    /// Summarises histograms by [`ssdlab_trace::Op`].
    pub fn of(histograms: &[LatencyHistogram; 4]) -> Self {
        let mut all = LatencyHistogram::default();
        histograms.iter().for_each(|histogram| all.merge(histogram));
        let [read, write, trim, flush] = histograms.each_ref().map(LatencySummary::of);
        Self { all: LatencySummary::of(&all), read, write, trim, flush }
    }
}

/// Collection of data blocks in the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CollectionSummary {
    /// Victims chosen.
    pub victims: u64,
    /// Over-provisioning available to collection, without erased blocks: invalid over valid pages in the planes of
    /// victims, half-way through their collection, summed over the victims. `None` without victims.
    pub effective_op: Option<f64>,
    /// Number of victim pages that were invalid when the victim was chosen.
    #[serde(skip)]
    pub(crate) yielded: u64,
}

impl CollectionSummary {
    pub(crate) fn of(occupied: GcOccupancy) -> Self {
        let yielded = occupied.before - occupied.after;
        Self { victims: occupied.victims, effective_op: occupied.effective_op(), yielded }
    }

    /// Returns the share of victim pages that were valid when the victim was chosen; `None` without victims.
    pub(crate) fn valid_share(&self, pages_per_block: u32) -> Option<f64> {
        let pages = self.victims * u64::from(pages_per_block);
        (pages > 0).then(|| 1.0 - self.yielded as f64 / pages as f64)
    }
}

/// Distribution of the erases of the measured phase over the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WearSummary {
    /// All erases.
    pub erases: u64,
    /// Mean per block.
    pub erase_mean: f64,
    /// Standard deviation over the blocks.
    pub erase_std_dev: f64,
    /// Number of erases of the least worn block.
    pub erase_min: u32,
    /// Number of erases of the most worn block.
    pub erase_max: u32,
}

impl WearSummary {
    pub(crate) fn of(counts: &[u32]) -> Self {
        let n = counts.len().max(1) as f64;
        let erases: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let mean = erases as f64 / n;
        let variance = counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum::<f64>() / n;
        Self {
            erases,
            erase_mean: mean,
            erase_std_dev: variance.sqrt(),
            erase_min: counts.iter().copied().min().unwrap_or(0),
            erase_max: counts.iter().copied().max().unwrap_or(0),
        }
    }
}

/// Extent of the data check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    /// Number of flash operations checked against the NAND rules, including preconditioning.
    pub flash_operations_checked: u64,
    /// Pages read and compared with the last write, with the warm-up.
    pub page_reads_checked: u64,
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// True if the run was stopped early.
    pub partial: bool,
    /// The device.
    pub device: DeviceSummary,
    /// State before the first request.
    pub precondition: PreconditionSummary,
    /// Figures of repeated replays, if any.
    pub repeat: Option<RepeatSummary>,
    /// Figures of the cache above the drive, if any.
    pub cache: Option<CacheSummary>,
    /// Host requests; with a cache, requests below the cache.
    pub host: HostCounters,
    /// Counts of flash operations.
    pub flash: FlashSummary,
    /// Pages programmed per host page; `None` if the host wrote nothing.
    pub write_amplification: Option<f64>,
    /// Logical pages the host wrote, in device capacities. Below twice the flash, write amplification still reflects
    /// the preconditioning.
    pub capacities_written: f64,
    /// Rates of host requests, if time is modelled; with a cache above a serial drive, rates below the cache.
    pub time: Option<TimeSummary>,
    /// Response times of these requests, if time is modelled.
    pub latency: Option<LatencyByOp>,
    /// Channels, dies, queues and buffer, and the requests of the drive, if modelled; with a cache, requests below the
    /// cache.
    pub drive: Option<DriveSummary>,
    /// Merges and captures of a log-block FTL.
    pub log: Option<LogSummary>,
    /// Use of a map in flash.
    pub map: Option<MapSummary>,
    /// Collection of an FTL that does not merge.
    pub collection: Option<CollectionSummary>,
    /// Erases.
    pub wear: WearSummary,
    /// Projected lifetime.
    pub lifetime: LifetimeSummary,
    /// Extent of the data check, if enabled.
    pub check: Option<CheckSummary>,
    /// Findings, the weightiest first.
    pub diagnosis: Vec<Finding>,
}

/// Figures since measuring began or, before measuring, since the replay began. Free blocks are current.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoFar {
    /// Requests replayed, with earlier phases.
    pub requests: u64,
    /// Simulated time, if modelled.
    pub elapsed_ns: Option<u64>,
    /// Mean busy time per die, if time is modelled.
    pub busy_ns: Option<u64>,
    /// Pages programmed per host page; `None` if the host wrote nothing.
    pub write_amplification: Option<f64>,
    /// Response times, if time is modelled.
    pub latency: Option<LatencyByOp>,
    /// Free blocks.
    pub free_blocks: u32,
    /// All blocks.
    pub blocks: u32,
}

impl DeviceSummary {
    pub(crate) fn of(setup: &Setup, memory_bytes: u64, mapping_table_bytes: u64) -> Self {
        let geometry = &setup.geometry;
        let (logical, physical) = (u64::from(setup.logical_pages), geometry.pages());
        let spare = (physical - logical) as f64;
        let reserve_blocks = setup.reserve_blocks();
        let reserve_pages = f64::from(reserve_blocks) * f64::from(geometry.pages_per_block);
        Self {
            capacity_bytes: setup.capacity_bytes(),
            page_bytes: geometry.page_bytes,
            pages_per_block: geometry.pages_per_block,
            blocks: geometry.blocks,
            physical_bytes: physical * u64::from(geometry.page_bytes),
            logical_pages: logical,
            physical_pages: physical,
            op_over_logical: spare / logical as f64,
            spare_of_physical: spare / physical as f64,
            reserve_blocks,
            op_without_reserve: (spare - reserve_pages) / logical as f64,
            endurance_cycles: setup.endurance_cycles,
            mapping_table_bytes,
            memory_bytes,
        }
    }
}
