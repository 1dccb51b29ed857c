//! Configurations: resolving, looking at, and the tables they come from.

use pyo3::prelude::*;
use ssdlab_config::{Layer, Step};
use ssdlab_device::FaultPlan;
use ssdlab_sim::WhatIf;

use crate::drive::enough;
use crate::errors::{ConfigError, config_error};

/// A resolved configuration: one value for every option that applies.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Config {
    pub inner: ssdlab_config::Config,
}

#[pymethods]
impl Config {
    /// Merges defaults, the name of a preset, files and `key=value` overrides, each made at once, all as
    /// `(origin, text)`; later ones win.
    #[new]
    #[pyo3(signature = (preset, files, overrides))]
    fn new(
        preset: Option<(String, String)>,
        files: Vec<(String, String)>,
        overrides: Vec<Vec<(String, String)>>,
    ) -> PyResult<Self> {
        let layer = |(origin, text)| Layer { origin, text };
        let layers = |written: Vec<(String, String)>| -> Vec<Layer> { written.into_iter().map(layer).collect() };
        let overrides: Vec<_> = overrides.into_iter().map(layers).collect();
        let resolved = ssdlab_config::Config::resolve_on(preset.map(layer), &layers(files), &overrides);
        Ok(Self { inner: resolved.map_err(|error| config_error(&error))? })
    }

    /// Every setting as `(key, value as TOML, origin)`, by key.
    fn leaves(&self) -> Vec<(&'static str, String, String)> {
        self.inner.leaves().into_iter().map(|leaf| (leaf.key, leaf.value, leaf.origin)).collect()
    }

    /// The whole configuration as TOML, each line with a comment on its origin if asked for.
    fn to_toml(&self, origins: bool) -> String {
        if origins { self.inner.to_toml_with_origins() } else { self.inner.to_toml() }
    }

    /// The settings that make the change of this name, as `(key, value)`; none where there is nothing to change.
    fn what_if(&self, name: &str) -> Vec<(&'static str, String)> {
        let found = WhatIf::ALL.into_iter().find(|what_if| what_if.name() == name);
        found.map_or_else(Vec::new, |what_if| self.inner.what_if(what_if))
    }

    /// The setting with which the flash of a drive may fail, as `(key, value)`; none where nothing is to be changed.
    fn spared(&self) -> PyResult<Option<(&'static str, String)>> {
        let found = self.inner.spared().map_err(|error| config_error(&error))?;
        if let Some((key, half)) = &found
            && self.inner.with(key, half).and_then(|with| with.settings(None)).is_err()
        {
            let remedy = enough(&self.inner, &FaultPlan { programs: 1, ..FaultPlan::default() });
            let problem = "too few blocks lie beyond the data for some of them to replace those that fail";
            return Err(ConfigError::new_err(format!("{problem}; {remedy}")));
        }
        Ok(found)
    }

    /// Whether a run needs to know where the trace lies before it starts.
    fn needs_extent(&self) -> bool {
        self.inner.needs_extent()
    }

    /// Checks what only shows across options; `extent` is the first byte after the trace.
    fn check(&self, extent: Option<u64>) -> PyResult<()> {
        self.inner.settings(extent).map(drop).map_err(|error| config_error(&error))
    }
}

/// The presets that ship with ssdlab as `(name, title, TOML text)`.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    ssdlab_config::presets().iter().map(|preset| (preset.name, preset.title(), preset.text)).collect()
}

/// The JSON schema of a configuration file.
#[pyfunction]
pub fn json_schema() -> String {
    ssdlab_config::json_schema()
}

/// Every option as `(key, help, example, variants)`; `variants` is empty unless one of several names is chosen.
#[pyfunction]
pub fn options() -> Vec<(&'static str, &'static str, &'static str, Vec<&'static str>)> {
    ssdlab_config::OPTIONS
        .iter()
        .map(|option| {
            let variants = option.variants().iter().map(|variant| variant.name).collect();
            (option.key, option.help, option.example, variants)
        })
        .collect()
}

/// The variants of the option `key` as `(name, help)`; none unless it is a choice.
#[pyfunction]
pub fn variants(key: &str) -> Vec<(&'static str, &'static str)> {
    ssdlab_config::OPTIONS
        .iter()
        .filter(|option| option.key == key)
        .flat_map(|option| option.variants().iter().map(|variant| (variant.name, variant.help)))
        .collect()
}

/// The choices that an option needs, as `(key, variant)`.
type Conditions = Vec<(&'static str, String)>;

/// What the option `key` is, in words, as `(range, units, default, conditions, used)`, these being the choices it needs
/// as `(key, variant)`, and where else it is used; `None` if there is no such option.
#[pyfunction]
pub fn explain(key: &str) -> Option<(String, &'static str, String, Conditions, Vec<String>)> {
    let option = ssdlab_config::OptionSpec::of(key)?;
    let conditions = option.conditions().map(|(choice, variant)| (choice.key, variant.to_string())).collect();
    let default = option.describe_default();
    Some((option.kind.describe(), option.kind.units(), default, conditions, option.used()))
}

/// The steps that space the values of the option `key`, as `(rule, number, other option)`.
#[pyfunction]
pub fn spacing(key: &str) -> Vec<(&'static str, u64, &'static str)> {
    let steps = ssdlab_config::OptionSpec::of(key).map_or(&[][..], |option| option.kind.steps());
    let step = |step: &Step| match *step {
        Step::Multiple(unit) => ("multiple", unit, ""),
        Step::PowerOfTwo => ("power of two", 0, ""),
        Step::MultipleOf(other) => ("multiple of", 0, other),
        Step::DivisorOf(other) => ("divisor of", 0, other),
    };
    steps.iter().map(step).collect()
}

/// What presets say of the option `key`, as `(preset, value as TOML, source)`.
#[pyfunction]
pub fn stated(key: &str) -> Vec<(&'static str, String, String)> {
    ssdlab_config::OptionSpec::of(key)
        .map(ssdlab_config::OptionSpec::stated)
        .unwrap_or_default()
        .into_iter()
        .map(|one| (one.preset, one.value, one.source))
        .collect()
}
