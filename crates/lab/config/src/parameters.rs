//! Options for the parameters of registered policies, schedulers and other registry entries.

use crate::checker::{Checker, Read};
use crate::kind::{Kind, Step};
use crate::table::{OptionSpec, option};
use ssdlab_core::parameter::{Quantity, decimal, percent};
use ssdlab_core::{Choice, Info, Parameter, Registry, Settings};

/// Returns the option that has the given key and sets the given parameter.
pub(crate) fn of_parameter(key: String, parameter: &Parameter, help: &'static str) -> OptionSpec {
    // Counts in a configuration are limited to 63 bits.
    let limited = |value: u64| value.min(i64::MAX as u64);
    let in_percent = |share: u64| share as f64 / percent(1) as f64;
    let one = decimal(1.0) as f64;
    let Parameter { unit, default, min, max, example, .. } = *parameter;
    let kind = match unit.quantity() {
        Quantity::Time(unit_ns) => in_units(Kind::Nanos { min: min * unit_ns, max: max * unit_ns }, unit_ns),
        Quantity::Size(unit_bytes) => {
            in_units(Kind::Bytes { min: min * unit_bytes, max: max * unit_bytes }, unit_bytes)
        }
        Quantity::Number => Kind::Count { min, max: limited(max) },
        Quantity::Share => Kind::Percent { min: in_percent(min), max: in_percent(max) },
        Quantity::Decimal => Kind::Float { min: min as f64 / one, max: max as f64 / one },
        Quantity::Switch => Kind::Bool,
        Quantity::Name(names) => Kind::of_names(names.get()),
    };
    let text = |value| -> &'static str { unit.write(limited(value)).leak() };
    option(key.leak(), kind).default(text(default)).example(text(example.unwrap_or(default))).help(help)
}

/// Restricts the type `kind` of an option to multiples of `unit`.
fn in_units(kind: Kind, unit: u64) -> Kind {
    if unit == 1 { kind } else { kind.stepped(vec![Step::Multiple(unit)].leak()) }
}

/// Returns one option per parameter of a table, except for fixed parameters. The option keys are below `path`.
pub(crate) fn of_table(path: &str, table: &[Parameter]) -> impl Iterator<Item = OptionSpec> {
    let settings = table.iter().filter(|parameter| !parameter.is_fixed());
    settings.map(move |parameter| of_parameter(format!("{path}.{}", parameter.name), parameter, parameter.help))
}

/// Returns options for the parameters of all registry entries. Their keys are below `key`, the option that chooses an
/// entry.
pub(crate) fn of_members<R>(key: &str, members: &[&'static Info<R>]) -> Vec<OptionSpec> {
    members
        .iter()
        .flat_map(|info| of_table(&format!("{key}.{}", info.name), info.parameters).collect::<Vec<_>>())
        .collect()
}

/// Returns the option `key`, which chooses an entry of a registry, and the options for the parameters of the entries.
/// The first entry is the default, and the second is the example.
pub(crate) fn choice<R>(key: &'static str, help: &'static str, registry: &Registry<R>) -> Vec<OptionSpec> {
    let kind = Kind::of_names(registry.iter().map(|info| (info.name, info.help)));
    let mut options = vec![option(key, kind).default(registry[0].name).example(registry[1].name).help(help)];
    options.extend(of_members(key, registry));
    options
}

impl Checker<'_> {
    /// Reads the value of a parameter, converted to the unit that its declaration uses.
    pub(crate) fn parameter(&mut self, key: &str, parameter: &Parameter) -> Read<u64> {
        let quantity = match parameter.unit.quantity() {
            Quantity::Time(_) => self.nanos(key)?.0,
            Quantity::Size(_) => self.bytes(key)?,
            Quantity::Number => self.count(key)?,
            Quantity::Share => (self.share(key)? * percent(100) as f64).round() as u64,
            Quantity::Decimal => decimal(self.float(key)?),
            Quantity::Switch => u64::from(self.flag(key)?),
            Quantity::Name(names) => {
                self.named(key, |chosen| names.get().iter().position(|(name, _)| *name == chosen))? as u64
            }
        };
        Ok(parameter.in_units(quantity).unwrap_or_else(|why| {
            self.report(key, why);
            parameter.default
        }))
    }

    /// Reads the values of all parameters of a table from the options below `path`.
    pub(crate) fn parameters(&mut self, path: &str, table: &'static [Parameter]) -> Read<Settings> {
        let value = |parameter: &Parameter| match parameter.is_fixed() {
            true => Ok(parameter.default),
            false => self.parameter(&format!("{path}.{}", parameter.name), parameter),
        };
        let values = table.iter().map(value).collect::<Read<Vec<u64>>>()?;
        Ok(Settings::with(table, &values))
    }

    /// Reads the registry entry that the option `key` chooses, and the parameters of that entry.
    pub(crate) fn chosen<R>(&mut self, key: &str, registry: &Registry<R>) -> Read<Choice<R>> {
        let info = self.named(key, |name| registry.find(name))?;
        Ok(Choice { info, settings: self.parameters(&format!("{key}.{}", info.name), info.parameters)? })
    }
}
