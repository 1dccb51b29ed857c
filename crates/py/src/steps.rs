//! Binding that records the individual steps of an FTL.

use pyo3::prelude::*;
use ssdlab_explain::{Drive, Times, answer};
use ssdlab_nand::Units;

use crate::config::Config;
use crate::errors::{ConfigError, OrRaise, detached};

/// Runs an FTL on a drive and requests that the JSON text `question` describes. Returns the recorded steps as JSON.
#[pyfunction]
pub fn record_steps(py: Python<'_>, question: &str) -> PyResult<String> {
    detached(py, None, || answer(question))
}

/// Returns a JSON description of the drive of `config`, including the configured number of filled pages.
#[pyfunction]
pub fn steps_drive(config: &Config) -> PyResult<String> {
    let settings = config.inner.settings(Some(0)).or_raise()?;
    let setup = settings.setup;
    let units = setup.geometry.units;
    if units != (Units { word_line: units.word_line, ..Units::PAGE }) {
        let message = "the step-by-step view supports only drives that map single flash pages, program them in one \
                       pass and collect blocks of single planes; set device.unit to the value of nand.page_size, \
                       nand.passes to \"one\" and ftl.page.collect to \"plane\"";
        return Err(ConfigError::new_err(message));
    }
    let mut drive = Drive::new(&setup.shape(), &setup.ftl, setup.seed);
    drive.filled = setup.filled_pages() as u32;
    if let Some(timing) = setup.clock.timing() {
        drive.times = Times::from(timing);
    }
    Ok(serde_json::to_string(&drive).expect("numbers and names are always JSON"))
}
