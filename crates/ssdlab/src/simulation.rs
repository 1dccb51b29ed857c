//! Runs simulations in the tests of components.

use ssdlab_config::{Config, Layer};
use ssdlab_trace::Generator;

pub use ssdlab_sim::Summary;

/// Simulates a generated workload, and returns the measurements. The configuration is the preset `tlc-chip` (one plane
/// of flash), changed by settings such as `ftl.page.gc=mine`. Checks every operation and every page read, like
/// `check=true`.
///
/// # Errors
/// Returns the error message that the command line would print.
pub fn simulate(settings: &[&str]) -> Result<Summary, String> {
    let layer = |set: &&str| Layer { origin: "simulate".into(), text: (*set).into() };
    let layers: Vec<Layer> = ["check=true"].iter().chain(settings).map(layer).collect();
    let config = Config::resolve(Some("tlc-chip"), &[], &layers).map_err(|error| error.to_string())?;
    let settings = config.settings(None).map_err(|error| error.to_string())?;
    let mut requests = Generator::new(&settings.workload).map_err(|error| error.to_string())?;
    let outcome = ssdlab_sim::run(&settings.setup, &mut requests, &mut ());
    outcome.map(|outcome| outcome.summary).map_err(|error| error.to_string())
}
