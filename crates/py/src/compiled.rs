//! Crates of components that `ssdlab build` links into a new extension.

use pyo3::prelude::*;
use pyo3::wrap_pymodule;
use ssdlab::NameTaken;

use crate::_ssdlab;
use crate::errors::{ConfigError, name_components};

/// A crate of components (plug-in).
pub struct Plugin {
    /// Name of the package.
    pub name: &'static str,
    /// Version of the package.
    pub version: &'static str,
    /// SHA-256 of the sources.
    pub sha256: &'static str,
    /// Path of the crate's Cargo.toml, for messages.
    pub manifest: &'static str,
    /// Registers the components.
    pub register: fn() -> Result<(), NameTaken>,
}

/// Registers the components of all plug-ins, and fills the extension's module with the contents of the built-in module
/// and a list of the plug-ins.
pub fn fill(module: &Bound<'_, PyModule>, plugins: &[Plugin]) -> PyResult<()> {
    name_components(plugins.iter().map(|plugin| plugin.manifest).collect());
    for plugin in plugins {
        (plugin.register)().map_err(|error| ConfigError::new_err(format!("{}: {error}", plugin.manifest)))?;
    }
    let built_in = wrap_pymodule!(_ssdlab)(module.py());
    module.dict().update_if_missing(built_in.bind(module.py()).dict().as_mapping())?;
    let rows: Vec<_> = plugins.iter().map(|plugin| (plugin.name, plugin.version, plugin.sha256)).collect();
    module.setattr("PLUGINS", rows)
}
