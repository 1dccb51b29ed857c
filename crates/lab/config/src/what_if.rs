//! Settings of the what-if changes that a diagnosis proposes.

use ssdlab_nand::Geometry;
use ssdlab_sim::WhatIf;

use crate::config::Config;
use crate::sections::drive::controller::{COMMAND, TIMES};
use crate::sections::ftl::SLC;
use crate::sections::nand::SLC_ERASE;
use crate::sections::provision::Provision;
use crate::value::{LogSpace, Value};

impl Config {
    /// Returns the settings of a what-if change as keys and values for `--set`; empty if the change has no effect. The
    /// settings may be invalid, for example out of range.
    pub fn what_if(&self, what_if: WhatIf) -> Vec<(&'static str, String)> {
        let choose = |key, name| vec![(key, Some(Value::Choice(name)))];
        let changes = match what_if {
            WhatIf::Dies => {
                const SLC_TIMES: [&str; 3] = ["nand.slc.read", "nand.slc.program", SLC_ERASE];
                let has_cache = self.entries.contains_key(SLC) && !self.chooses(SLC, "none");
                let cache = if has_cache { &SLC_TIMES[..] } else { &[] };
                let is_set = |&(key, _): &(&str, _)| key != SLC_ERASE || !self.is_derived(key);
                let times = [&["nand.read", "nand.program", "nand.erase"], cache].concat();
                self.each(&times, halved).into_iter().filter(is_set).collect()
            }
            WhatIf::Channels => self.each(&["nand.transfer_per_kib"], halved),
            WhatIf::Link => self.each(&["drive.link"], doubled),
            // Controller times that the user did not set are derived from `drive.command` and change with it. They must
            // not be halved a second time.
            WhatIf::Controller => {
                let is_set = |&(key, _): &(&str, _)| key == COMMAND || !self.is_derived(key);
                let times = self.each(&[&[COMMAND][..], &TIMES].concat(), halved);
                times.into_iter().filter(is_set).chain(self.each(&["drive.dram"], doubled)).collect()
            }
            WhatIf::Buffer => self.each(&["drive.buffer.eager.size", "drive.buffer.watermark.size"], doubled),
            WhatIf::Protected => {
                self.each(&["drive.buffer.eager.plp", "drive.buffer.watermark.plp"], |_| Some(Value::Bool(true)))
            }
            WhatIf::Slots => {
                const SLOTS: [&str; 4] = [
                    "drive.protocol.sata.depth",
                    "drive.protocol.ufs.depth",
                    "drive.protocol.nvme.depth",
                    "drive.protocol.nvme.slots",
                ];
                const OF_BLOCK_LAYER: [&str; 2] = ["block.slots", "block.nr_requests"];
                let mut changes = self.each(&SLOTS, doubled);
                if !self.chooses("block.scheduler", "direct") {
                    changes.extend(self.each(&OF_BLOCK_LAYER, doubled));
                }
                changes
            }
            WhatIf::Depth => self.each(&["host.replay.closed.queue_depth"], doubled),
            WhatIf::NoThink => {
                self.each(&["host.replay.closed.think", "host.replay.processes.think"], |_| Some(Value::Nanos(0)))
            }
            WhatIf::NoBlockLayer => choose("block.scheduler", "direct"),
            WhatIf::Spare => self.more_spare(),
            WhatIf::Placement => choose("ftl.page.survivors", "own"),
            WhatIf::Map => [choose("ftl.page.map", "ram"), choose("drive.hmb", "none")].concat(),
            WhatIf::Cache if self.chooses("cache.policy", "none") => Vec::new(),
            WhatIf::Cache => self.each(&["cache.size"], doubled),
        };
        let written = |(key, value): (&'static str, Option<Value>)| {
            let now = &self.entries.get(key)?.value;
            let value = value.filter(|value| value != now)?;
            Some((key, value.as_set()))
        };
        changes.into_iter().filter_map(written).collect()
    }

    /// True if no layer sets the option; its default may depend on other options.
    fn is_derived(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.origin == "default")
    }

    fn chooses(&self, key: &str, name: &str) -> bool {
        self.entries.get(key).is_some_and(|entry| matches!(entry.value, Value::Choice(chosen) if chosen == name))
    }

    /// Returns the settings among `keys` that have a value, each with the new value that `change` computes from it.
    fn each(
        &self,
        keys: &[&'static str],
        change: impl Fn(&Value) -> Option<Value>,
    ) -> Vec<(&'static str, Option<Value>)> {
        let entry = |&key| self.entries.get(key).map(|entry| (key, change(&entry.value)));
        keys.iter().filter_map(entry).collect()
    }

    /// Doubles the configured over-provisioning; on a drive with few blocks, doubles the over-provisioning that remains
    /// after rounding to blocks. Also doubles the number of log blocks unless it is `all`.
    fn more_spare(&self) -> Vec<(&'static str, Option<Value>)> {
        let of_physical = |value: &Value| match value {
            // The percentage refers to the physical capacity, which grows with the spare flash. The result is rounded
            // up to 0.01 %.
            Value::Percent(percent) => Some(Value::Percent((20_000.0 * percent / (100.0 + percent)).ceil() / 100.0)),
            _ => None,
        };
        let mut changes = self.each(&["device.op"], doubled);
        changes.extend(self.each(&["device.spare"], of_physical));
        for (key, value) in &mut changes {
            if let Some(Value::Percent(percent)) = value {
                let provision = if *key == "device.op" { Provision::OverLogical } else { Provision::OfPhysical };
                *percent = self.twice_actual(provision(*percent / 100.0)).unwrap_or(*percent);
            }
        }
        let log = self.entries.iter().find(|(_, entry)| matches!(entry.value, Value::LogSpace(_)));
        changes.extend(log.map(|(&key, entry)| (key, doubled(&entry.value))));
        changes
    }

    /// Returns the percentage that doubles the over-provisioning after rounding to blocks. Returns `None` if the
    /// setting `asked` already gives this over-provisioning, to within one block per plane, or if the drive is
    /// invalid.
    fn twice_actual(&self, asked: Provision) -> Option<f64> {
        let setup = self.settings(None).ok()?.setup;
        let Geometry { pages_per_block, blocks, .. } = setup.geometry;
        let (pages, pages_per_block) = (u64::from(setup.logical_pages), u64::from(pages_per_block));
        let reserve = if self.chooses("device.reserve", "extra") { setup.reserve_blocks() } else { 0 };
        let provided = u64::from(blocks - reserve);
        let twice = (2 * provided).checked_sub(pages.div_ceil(pages_per_block))?;
        let blocks = asked.blocks(pages, pages_per_block);
        let enough = blocks > provided && blocks + u64::from(setup.geometry.areas()) >= twice;
        (!enough).then(|| asked.percent_for(twice, pages, pages_per_block))
    }
}

fn doubled(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Bytes(bytes) => Value::Bytes(bytes.checked_mul(2)?),
        Value::Count(count) => Value::Count(count.checked_mul(2)?),
        Value::Percent(percent) => Value::Percent(2.0 * percent),
        Value::Bandwidth(bytes) => Value::Bandwidth(Some((*bytes)?.checked_mul(2)?)),
        Value::LogSpace(LogSpace::Blocks(blocks)) => Value::LogSpace(LogSpace::Blocks(blocks.checked_mul(2)?)),
        Value::LogSpace(LogSpace::Percent(percent)) => Value::LogSpace(LogSpace::Percent(2.0 * percent)),
        _ => return None,
    })
}

fn halved(value: &Value) -> Option<Value> {
    match value {
        Value::Nanos(nanos) => Some(Value::Nanos(nanos / 2)),
        Value::Durations(all) => Some(Value::Durations(all.iter().map(|nanos| nanos / 2).collect())),
        _ => None,
    }
}
