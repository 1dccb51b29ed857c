//! Cost model for schedulers that divide device time among processes: a base time plus a time per sector, for reads and
//! for writes. The papers on FIOS and FlashFQ calibrate these times for each device.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use ssdlab_core::{Parameter, Settings, Unit};

use crate::request::Request;

const fn cost(name: &'static str, unit: Unit, default: u64, help: &'static str) -> Parameter {
    Parameter::new(name, unit, default, [0, 1_000_000_000], help)
}

/// The parameters are plain counts of microseconds, because their names already state the unit.
const MICROS: Unit = Unit::Count("us");

/// The default costs are our own estimates, typical of SATA SSDs at the time of the FIOS and FlashFQ papers.
pub(super) const READ_BASE: Parameter =
    cost("read_base_us", MICROS, 100, "Base device time of a read; the default is an estimate for SATA SSDs.");
pub(super) const READ_SECTOR: Parameter =
    cost("read_sector_ns", Unit::Nanos, 2000, "Device time per sector read; the default is an estimate for SATA SSDs.");
pub(super) const WRITE_BASE: Parameter =
    cost("write_base_us", MICROS, 150, "Base device time of a write; the default is an estimate for SATA SSDs.");
pub(super) const WRITE_SECTOR: Parameter = cost(
    "write_sector_ns",
    Unit::Nanos,
    5000,
    "Device time per sector written; the default is an estimate for SATA SSDs.",
);
pub(super) const ANTIC_EXPIRE: Parameter = Parameter::ms(
    "antic_expire",
    2,
    0,
    "Maximum time to hold back other processes while waiting for a process's next request; 0 disables waiting. \
           The default is ssdlab's choice.",
);

/// Cost of a request in device time, by direction.
#[derive(Debug, Default)]
pub(super) struct CostModel {
    base: [u64; 2],
    sector: [u64; 2],
}

impl CostModel {
    pub fn new(settings: &Settings) -> Self {
        let get = |name| settings.get(name);
        Self {
            base: [1000 * get("read_base_us"), 1000 * get("write_base_us")],
            sector: [get("read_sector_ns"), get("write_sector_ns")],
        }
    }

    /// Returns the cost of a request in nanoseconds, at least 1.
    pub fn of(&self, rq: &Request) -> u64 {
        let direction = rq.direction as usize;
        (self.base[direction] + self.sector[direction] * u64::from(rq.sectors)).max(1)
    }
}

/// Processes whose next request is anticipated, each until its own deadline.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    until: FxHashMap<u32, u64>,
    ends: BTreeSet<(u64, u32)>,
}

impl Awaited {
    pub fn insert(&mut self, pid: u32, until: u64) {
        self.remove(pid);
        self.until.insert(pid, until);
        self.ends.insert((until, pid));
    }

    /// Stops waiting for a process; returns true if the scheduler was waiting for its next request.
    pub fn remove(&mut self, pid: u32) -> bool {
        let until = self.until.remove(&pid);
        until.is_some_and(|until| self.ends.remove(&(until, pid)))
    }

    /// Removes and returns a process whose deadline has expired.
    pub fn pop_due(&mut self, now: u64) -> Option<u32> {
        let pid = self.ends.first().filter(|&&(until, _)| until <= now)?.1;
        self.remove(pid);
        Some(pid)
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn timer(&self) -> Option<u64> {
        self.ends.first().map(|&(until, _)| until)
    }
}
