//! Third stage of configuration: complete settings, checked across options.

use crate::checker::{Checker, Read};
use crate::config::Config;
use crate::error::ConfigError;
use crate::sections::device::Device;
use crate::sections::host::Fitting;
use ssdlab_sim::Setup;
use ssdlab_trace::Workload;

/// Settings of a run after all checks, as plain numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Set-up of the simulation, derived from the settings.
    pub setup: Setup,
    /// Generated workload, which is used if the run has no trace.
    pub workload: Workload,
}

impl Config {
    /// Returns the checked settings. `extent_bytes` is the first byte past the last address of the trace, after packing
    /// if [`Self::packed_page_bytes`] requires it; see [`Self::needs_extent`].
    ///
    /// # Errors
    /// Returns all violations of rules that concern several options, each with a remedy.
    pub fn settings(&self, extent_bytes: Option<u64>) -> Result<Settings, ConfigError> {
        let mut checker = self.checker();
        match settings(&mut checker, extent_bytes)? {
            Some(settings) if checker.violations.is_empty() => Ok(settings),
            _ => Err(ConfigError(checker.violations)),
        }
    }

    /// True if [`Self::settings`] needs the extent of the trace, as for some values of `host.fit`.
    pub fn needs_extent(&self) -> bool {
        self.checker().fitting().is_ok_and(Fitting::needs_extent)
    }

    /// Returns the page size for compacting the addresses of the trace; `None` unless `host.fit` is `compact`.
    /// [`Self::settings`] reports invalid sizes.
    pub fn packed_page_bytes(&self) -> Option<u32> {
        let checker = self.checker();
        let packs = checker.fitting().is_ok_and(|fitting| fitting == Fitting::Compact);
        let page_bytes = checker.small("device.unit").ok();
        page_bytes.filter(|bytes| packs && bytes.is_power_of_two())
    }

    fn checker(&self) -> Checker<'_> {
        Checker { entries: &self.entries, preset_bytes: self.preset_bytes, violations: Vec::new() }
    }
}

/// Returns the checked settings; `None` if the configuration has errors that make a drive impossible.
fn settings(checker: &mut Checker<'_>, extent_bytes: Option<u64>) -> Read<Option<Settings>> {
    let ftl = checker.ftl()?;
    let precondition = checker.precondition()?;
    let device = checker.device(&ftl, extent_bytes)?;
    let clock = checker.clock(&ftl, device.as_ref())?;
    checker.check_fold(&ftl, &clock);
    let block = checker.block(&clock, device.as_ref().map(Device::capacity_bytes))?;
    let cache = checker.cache(&clock)?;
    let gantt = checker.gantt(&clock)?;
    let replay = checker.replay(&clock, block.as_ref())?;
    let fit = checker.fit(extent_bytes)?;
    let Some(device) = device else {
        return Ok(None);
    };
    checker.slc_fits(&ftl, &device)?;
    let ftl = checker.with_log_blocks(ftl, &device)?;
    let workload = checker.workload(device.geometry.page_bytes, device.capacity_bytes(), fit)?;
    let Some(ftl) = ftl else {
        return Ok(None);
    };
    let setup = Setup {
        geometry: device.geometry,
        logical_pages: device.logical_pages,
        size: device.size,
        endurance_cycles: checker.small("nand.endurance")?,
        slc_endurance_cycles: checker.small("nand.slc.endurance")?,
        ftl,
        clock,
        replay,
        repeat: checker.repeat("host.repeat")?,
        cache,
        block,
        record: checker.flag("block.record")?,
        gantt,
        attribution: false,
        fit,
        warmup_requests: checker.count("host.warmup")?,
        precondition,
        check: checker.flag("check")?,
        seed: checker.count("seed")?,
    };
    checker.refuse_endless(&setup, &workload);
    Ok(Some(Settings { setup, workload }))
}
