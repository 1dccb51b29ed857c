//! The third stage: complete settings, checked across options, all violations at once.

use crate::checker::{Checker, Read};
use crate::config::Config;
use crate::error::ConfigError;
use crate::figures::DeviceFigures;
use crate::registry::OPTIONS;
use crate::sections::host::Fitting;
use ssdlab_sim::Setup;
use ssdlab_trace::Workload;

/// Everything a run needs, in plain numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The simulation.
    pub setup: Setup,
    /// The generated workload, for runs without a trace.
    pub workload: Workload,
    /// The device in whole blocks and unambiguous ratios.
    pub device: DeviceFigures,
}

impl Config {
    /// The settings this configuration comes to. `extent_bytes` is the first byte after the last one the trace
    /// addresses, after packing if [`Self::packed_page_bytes`] asks for it; see [`Self::needs_extent`].
    ///
    /// # Errors
    ///
    /// Everything that does not fit together, each with its remedy.
    pub fn settings(&self, extent_bytes: Option<u64>) -> Result<Settings, ConfigError> {
        let mut checker = self.checker(extent_bytes);
        match settings(&mut checker)? {
            Some(settings) if checker.violations.is_empty() => Ok(settings),
            _ => Err(ConfigError(checker.violations)),
        }
    }

    /// Whether [`Self::settings`] needs to know where the trace ends, as some values of `host.fit` do.
    pub fn needs_extent(&self) -> bool {
        self.checker(None).fitting().is_ok_and(Fitting::needs_extent)
    }

    /// Bytes of the pages to which a trace is packed, if it is. Pages that cannot be are left to [`Self::settings`].
    pub fn packed_page_bytes(&self) -> Option<u32> {
        let checker = self.checker(None);
        let packs = checker.fitting().is_ok_and(|fitting| fitting == Fitting::Compact);
        let page_bytes = checker.small("nand.page_size").ok();
        page_bytes.filter(|bytes| packs && bytes.is_power_of_two())
    }

    fn checker(&self, extent_bytes: Option<u64>) -> Checker<'_> {
        Checker::new(&self.entries, &OPTIONS, extent_bytes)
    }
}

/// None where something leaves the drive without meaning.
pub(crate) fn settings(checker: &mut Checker<'_>) -> Read<Option<Settings>> {
    let extent_bytes = checker.extent_bytes;
    let plan = checker.plan()?;
    let precondition = checker.precondition()?;
    let sized = checker.device(&plan, extent_bytes)?;
    let clock = checker.clock(&plan, sized.as_ref())?;
    let block = checker.block(&clock, sized.as_ref().map(|(_, device)| device.capacity_bytes))?;
    let cache = checker.cache(&clock)?;
    let gantt = checker.gantt(&clock)?;
    let replay = checker.replay(&clock, block.as_ref())?;
    let fit = checker.fit(extent_bytes)?;
    let Some((geometry, device)) = sized else {
        return Ok(None);
    };
    let ftl = checker.ftl(plan, &device, geometry.pages_per_block)?;
    let workload = checker.workload(geometry.page_bytes, device.capacity_bytes, fit)?;
    let Some(ftl) = ftl else {
        return Ok(None);
    };
    let setup = Setup {
        geometry,
        logical_pages: device.logical_pages,
        endurance_cycles: checker.small("nand.endurance")?,
        ftl,
        clock,
        replay,
        repeat: checker.repeat("host.repeat")?,
        cache,
        block,
        gantt,
        attribution: false,
        fit,
        warmup_requests: checker.count("host.warmup")?,
        precondition,
        check: checker.flag("check")?,
        seed: checker.count("seed")?,
    };
    checker.refuse_endless(&setup, &workload);
    Ok(Some(Settings { setup, workload, device }))
}
