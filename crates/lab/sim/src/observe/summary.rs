//! The metrics of a run, in the order in which reports and files list them.

use serde::{Serialize, Serializer, ser::SerializeMap};
use ssdlab_ftl::{GcOccupancy, SlcCounts};
use ssdlab_nand::{Cause, Counts};

use crate::host::cache::CacheSummary;
use crate::observe::activity::DriveSummary;
use crate::observe::finding::Finding;
use crate::observe::latency::{LatencyByOp, TimeSummary};
use crate::observe::lifetime::LifetimeSummary;
use crate::observe::meter::{LogSummary, MapSummary};
use crate::observe::replayed::ReplaySummary;
use crate::observe::requests::HostCounters;
use crate::precondition::PreconditionSummary;
use crate::run::steady::RepeatSummary;
use crate::setup::Setup;
use crate::setup::size::ScaleModel;

/// Properties of the simulated device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// Logical capacity in bytes.
    pub capacity_bytes: u64,
    /// The nominal drive, if the device is a scale model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_model: Option<ScaleModel>,
    /// Number of bytes per page.
    pub page_bytes: u32,
    /// Number of pages per erase block.
    pub pages_per_block: u32,
    /// Number of erase blocks.
    pub blocks: u32,
    /// Size of the flash in bytes, including parity.
    pub physical_bytes: u64,
    /// Number of logical pages.
    pub logical_pages: u64,
    /// Number of physical pages, including parity.
    pub physical_pages: u64,
    /// Spare capacity: (physical - logical) / logical. Parity is not part of the physical capacity here.
    pub op_over_logical: f64,
    /// Spare capacity: (physical - logical) / physical, without parity.
    pub spare_of_physical: f64,
    /// Number of blocks reserved by the FTL for open and free blocks, merges or a map in flash; included in `blocks`.
    pub reserve_blocks: u32,
    /// Like `op_over_logical`, but the reserved blocks do not count as spare capacity. See also
    /// `CollectionSummary::effective_op`.
    pub op_without_reserve: f64,
    /// Number of program/erase cycles that a block endures.
    pub endurance_cycles: u32,
    /// Bytes of mapping tables in the controller's RAM, counted as in the paper that describes the FTL.
    pub mapping_table_bytes: u64,
    /// Memory that the simulation uses for maps and block states, in bytes.
    pub memory_bytes: u64,
}

/// Flash operations by cause; causes that never occurred are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashSummary(pub Counts);

/// Numbers of flash operations of one type, by cause.
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

/// Metrics of the collection of data blocks in the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CollectionSummary {
    /// Number of victims chosen.
    pub victims: u64,
    /// Over-provisioning that garbage collection can use, not counting erased blocks: invalid pages divided by valid
    /// pages. Both are counted in the plane of each victim half-way through its collection, and summed over all
    /// victims. `None` without victims.
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

    /// Returns the share of all victim pages that were valid when the victim was chosen; `None` without victims.
    pub(crate) fn valid_share(&self, pages_per_block: u32) -> Option<f64> {
        let pages = self.victims * u64::from(pages_per_block);
        (pages > 0).then(|| 1.0 - self.yielded as f64 / pages as f64)
    }
}

/// Distribution of erases over the blocks in the measured phase, excluding erases in SLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WearSummary {
    /// Total number of erases of all blocks, excluding erases in SLC mode.
    pub erases: u64,
    /// Mean number of erases per block.
    pub erase_mean: f64,
    /// Standard deviation of the number of erases per block.
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

/// Metrics of the SLC cache in the measured phase. [`FlashSummary`] counts the pages folded out of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlcSummary {
    /// Number of host pages written to the cache.
    pub pages_cached: u64,
    /// Number of host pages that bypassed the full cache.
    pub pages_bypassed: u64,
    /// Number of erases of blocks in SLC mode, which [`WearSummary`] does not count.
    pub erases: u64,
    /// Highest number of SLC-mode erases of any block.
    pub erase_max: u32,
    /// Number of program/erase cycles that a block endures in SLC mode.
    pub endurance_cycles: u32,
}

impl SlcSummary {
    pub(crate) fn of(before: &SlcCounts, now: &SlcCounts, endurance_cycles: u32) -> Self {
        let erases = before.erases.iter().zip(&now.erases).map(|(before, now)| now - before);
        Self {
            pages_cached: now.cached - before.cached,
            pages_bypassed: now.bypassed - before.bypassed,
            erases: erases.clone().map(u64::from).sum(),
            erase_max: erases.max().unwrap_or(0),
            endurance_cycles,
        }
    }
}

/// Coverage of the data check in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    /// Number of flash operations checked against the NAND rules, including preconditioning.
    pub flash_operations_checked: u64,
    /// Number of pages read and compared with the last write, including the warm-up.
    pub page_reads_checked: u64,
}

/// All metrics of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// True if the run was stopped early.
    pub partial: bool,
    /// Properties of the device.
    pub device: DeviceSummary,
    /// State of the device before the first request.
    pub precondition: PreconditionSummary,
    /// Metrics of repeated replays, if any.
    pub repeat: Option<RepeatSummary>,
    /// Replay of the requests, and the lag of the drive.
    pub replay: ReplaySummary,
    /// Metrics of the cache above the drive, if any.
    pub cache: Option<CacheSummary>,
    /// Counters of host requests; with a cache, of requests below the cache.
    pub host: HostCounters,
    /// Numbers of flash operations by cause.
    pub flash: FlashSummary,
    /// Pages programmed per page that the host wrote; `None` if the host wrote nothing.
    pub write_amplification: Option<f64>,
    /// Number of logical pages that the host wrote, as a multiple of the device capacity. Below twice the size of the
    /// flash, write amplification still reflects the preconditioning.
    pub capacities_written: f64,
    /// Rates of host requests, if time is modelled; with a cache above a serial drive, rates below the cache.
    pub time: Option<TimeSummary>,
    /// Response times of the requests in `time`, if time is modelled.
    pub latency: Option<LatencyByOp>,
    /// Metrics of channels, dies, queues, buffer and requests in the drive, if modelled. With a cache, these are the
    /// requests below the cache.
    pub drive: Option<DriveSummary>,
    /// Metrics of merges and of sequential log blocks, for a log-block FTL.
    pub log: Option<LogSummary>,
    /// Metrics of the map, for a map in flash.
    pub map: Option<MapSummary>,
    /// Metrics of collection, for an FTL that does not merge.
    pub collection: Option<CollectionSummary>,
    /// Metrics of the SLC cache, if the drive has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcSummary>,
    /// Distribution of erases over the blocks.
    pub wear: WearSummary,
    /// Projected lifetime of the drive.
    pub lifetime: LifetimeSummary,
    /// Coverage of the data check, if enabled.
    pub check: Option<CheckSummary>,
    /// Findings of the diagnosis, sorted by importance.
    pub diagnosis: Vec<Finding>,
}

impl DeviceSummary {
    pub(crate) fn of(setup: &Setup, memory_bytes: u64, mapping_table_bytes: u64) -> Self {
        let geometry = &setup.geometry;
        let (logical, data, physical) = (u64::from(setup.logical_pages), geometry.pages(), geometry.flash_pages());
        let spare = (data - logical) as f64;
        let reserve_blocks = setup.reserve_blocks();
        let reserve_pages = f64::from(reserve_blocks) * f64::from(geometry.pages_per_block);
        Self {
            capacity_bytes: setup.capacity_bytes(),
            scale_model: setup.size.model(),
            page_bytes: geometry.page_bytes,
            pages_per_block: geometry.pages_per_block,
            blocks: geometry.blocks,
            physical_bytes: physical * u64::from(geometry.page_bytes),
            logical_pages: logical,
            physical_pages: physical,
            op_over_logical: spare / logical as f64,
            spare_of_physical: spare / data as f64,
            reserve_blocks,
            op_without_reserve: (spare - reserve_pages) / logical as f64,
            endurance_cycles: setup.endurance_cycles,
            mapping_table_bytes,
            memory_bytes,
        }
    }
}
