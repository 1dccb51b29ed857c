//! Python binding for configurations and for the table of options.

use pyo3::prelude::*;
use ssdlab_config::{Layer, OPTIONS, OptionSpec, Step};
use ssdlab_device::FaultPlan;
use ssdlab_sim::WhatIf;

use crate::errors::{ConfigError, OrRaise};
use crate::failures::enough;

/// Resolved configuration: the value of every option that applies to this configuration.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Config {
    pub inner: ssdlab_config::Config,
}

impl Config {
    /// Fails if the configuration uses a component written in Python, because such a component works only on the thread
    /// that executes its run.
    pub fn require_built_in(&self) -> PyResult<()> {
        match self.inner.leaves().iter().find(|leaf| leaf.value.starts_with("\"python:")) {
            Some(leaf) => Err(ConfigError::new_err(format!(
                "{} = {}: plug-ins written in Python work in simulations only; choose a built-in value for this drive",
                leaf.key, leaf.value
            ))),
            None => Ok(()),
        }
    }
}

#[pymethods]
impl Config {
    /// Merges defaults, a preset, files and groups of `key=value` overrides, all given as `(origin, text)`. Later
    /// values override earlier values.
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
        Ok(Self { inner: resolved.or_raise()? })
    }

    /// Returns all settings as `(key, value as TOML, origin)`, sorted by key.
    fn leaves(&self) -> Vec<(&'static str, String, String)> {
        self.inner.leaves().into_iter().map(|leaf| (leaf.key, leaf.value, leaf.origin)).collect()
    }

    /// Returns the whole configuration as TOML. With `origins`, a comment on each line gives the origin of the value.
    fn to_toml(&self, origins: bool) -> String {
        if origins { self.inner.to_toml_with_origins() } else { self.inner.to_toml() }
    }

    /// Returns the settings that a what-if analysis would change, as `(key, value)`; empty if the change would have no
    /// effect.
    fn what_if(&self, name: &str) -> Vec<(&'static str, String)> {
        let what_if = WhatIf::ALL.into_iter().find(|what_if| what_if.name() == name);
        what_if.map_or_else(Vec::new, |what_if| self.inner.what_if(what_if))
    }

    /// Returns the setting to change, as `(key, value)`, so that enough spare blocks remain to replace failed blocks;
    /// None if no change is needed.
    fn spared(&self) -> PyResult<Option<(&'static str, String)>> {
        let setting = self.inner.spared().or_raise()?;
        if let Some((key, half)) = &setting
            && self.inner.with(key, half).and_then(|with| with.settings(None)).is_err()
        {
            let remedy = enough(&self.inner, &FaultPlan { programs: 1, ..FaultPlan::default() });
            let problem = "too few spare blocks to replace failed ones";
            return Err(ConfigError::new_err(format!("{problem}; {remedy}")));
        }
        Ok(setting)
    }

    /// True if a run must know the extent of the trace before it starts.
    fn needs_extent(&self) -> bool {
        self.inner.needs_extent()
    }

    /// Returns the number of mapping units per block of the drive. Settings are checked as in [`Self::check`].
    fn pages_per_block(&self, extent: Option<u64>) -> PyResult<u32> {
        self.inner.settings(extent).map(|settings| settings.setup.geometry.pages_per_block).or_raise()
    }

    /// Checks all settings together; `extent` is the first byte past the end of the trace.
    fn check(&self, extent: Option<u64>) -> PyResult<()> {
        self.inner.settings(extent).map(drop).or_raise()
    }
}

/// Returns all presets as `(name, title, TOML text)`.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    ssdlab_config::presets().iter().map(|preset| (preset.name, preset.title(), preset.text)).collect()
}

#[pyfunction]
pub fn json_schema() -> String {
    ssdlab_config::json_schema()
}

/// Returns all options as `(key, help, example, variants)`; `variants` is empty unless the option's value is one of
/// several variants.
#[pyfunction]
pub fn options() -> Vec<(&'static str, &'static str, &'static str, Vec<&'static str>)> {
    let names = |option: &OptionSpec| option.variants().iter().map(|variant| variant.name).collect();
    OPTIONS.iter().map(|option| (option.key, option.help, option.example, names(option))).collect()
}

/// Returns the variants of an option as `(name, help)`; empty unless the option's value is one of several variants.
#[pyfunction]
pub fn variants(key: &str) -> Vec<(&'static str, &'static str)> {
    let variants = OptionSpec::of(key).map_or(&[][..], OptionSpec::variants);
    variants.iter().map(|variant| (variant.name, variant.help)).collect()
}

/// Conditions under which an option exists, as pairs `(key, variant)`: the option `key` must have the value `variant`.
type Conditions = Vec<(&'static str, String)>;

/// Describes an option as `(range, units, default, conditions, used)`. `conditions` lists the required variants of
/// other options, as `(key, variant)`; `used` states all other conditions in words. Returns None for an unknown option.
#[pyfunction]
pub fn explain(key: &str) -> Option<(String, &'static str, String, Conditions, Vec<String>)> {
    let option = OptionSpec::of(key)?;
    let conditions = option.conditions().map(|(choice, variant)| (choice.key, variant.to_string())).collect();
    let default = option.describe_default();
    Some((option.kind.describe(), option.kind.units(), default, conditions, option.used()))
}

/// Describes what replaced a renamed option or option table; returns None for other keys.
#[pyfunction]
pub fn renamed(key: &str) -> Option<String> {
    ssdlab_config::renamed(key)
}

/// Returns the divisibility rules for the values of an option as `(rule, number, other option)`. The number is 0 for
/// rules without a number, and the other option is empty for rules without one.
#[pyfunction]
pub fn spacing(key: &str) -> Vec<(&'static str, u64, &'static str)> {
    let steps = OptionSpec::of(key).map_or(&[][..], |option| option.kind.steps());
    let step = |step: &Step| match *step {
        Step::Multiple(unit) => ("multiple", unit, ""),
        Step::PowerOfTwo => ("power of two", 0, ""),
        Step::MultipleOf(other) => ("multiple of", 0, other),
        Step::DivisorOf(other) => ("divisor of", 0, other),
    };
    steps.iter().map(step).collect()
}

/// Returns the values of an option in those presets that set it, as `(preset, value as TOML, source)`.
#[pyfunction]
pub fn stated(key: &str) -> Vec<(&'static str, String, String)> {
    let stated = OptionSpec::of(key).map(OptionSpec::stated).unwrap_or_default();
    stated.into_iter().map(|stated| (stated.preset, stated.value, stated.source)).collect()
}
