//! Byte-storing drives whose flash may fail.

use pyo3::prelude::*;
use ssdlab_device::{FaultPlan, Options};
use ssdlab_serve::drive_options;
use ssdlab_sim::Setup;

use crate::errors::ConfigError;

/// Maximum number of program failures that a drive must tolerate during one collection.
const SPARE_FOR_FAILURES: u32 = 3;

/// Returns the options of a drive that stores bytes on flash with the faults in `plan`.
pub fn options(setup: &Setup, plan: &FaultPlan) -> PyResult<Options> {
    let options = drive_options(setup).map_err(|error| ConfigError::new_err(error.to_string()))?;
    Ok(Options { spare_for_failures: if plan.programs > 0 { SPARE_FOR_FAILURES } else { 0 }, ..options })
}

/// Returns a remedy that makes a drive tolerate block failures: over-provisioning raised to the first candidate value
/// that suffices.
pub fn enough(config: &ssdlab_config::Config, plan: &FaultPlan) -> String {
    let suffices = |op: &str| {
        let mut more = config.with("device.op", op).ok()?;
        if let Some((key, half)) = more.spared().ok()? {
            more = more.with(key, &half).ok()?;
        }
        let setup = more.settings(None).ok()?.setup;
        options(&setup, plan).ok()?.check(&setup.geometry).ok()
    };
    let tried = ["10%", "15%", "20%", "28%", "50%", "100%", "200%", "400%", "1000%"];
    let Some(op) = tried.into_iter().find(|op| suffices(op).is_some()) else { return "raise device.capacity".into() };
    let is_spare = |(key, _): &(String, String)| key == "device.spare";
    let instead = if config.drive_settings().iter().any(is_spare) { " and without device.spare" } else { "" };
    format!("create a new drive with device.op={op}{instead}")
}
