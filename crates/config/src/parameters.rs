//! Parameters of schedulers and policies as options: declared where they are used, named and written here.

use crate::checker::{Checker, Read};
use crate::kind::{Kind, Step};
use crate::table::{Fallback, OptionSpec};
use ssdlab_core::parameter::{Quantity, percent};
use ssdlab_core::{Choice, Registry};
use ssdlab_core::{Parameter, Settings};

/// A parameter as the option `key`.
pub(crate) fn option(key: String, parameter: &Parameter, help: &'static str) -> OptionSpec {
    // A count of a configuration has 63 bits.
    let most = |value: u64| value.min(i64::MAX as u64);
    let in_percent = |share: u64| share as f64 / percent(1) as f64;
    let Parameter { unit, default, min, max, example, .. } = *parameter;
    let kind = match unit.quantity() {
        Quantity::Time(unit_ns) => in_units(Kind::Nanos { min: min * unit_ns, max: max * unit_ns }, unit_ns),
        Quantity::Size(unit_bytes) => {
            in_units(Kind::Bytes { min: min * unit_bytes, max: max * unit_bytes }, unit_bytes)
        }
        Quantity::Number => Kind::Count { min, max: most(max) },
        Quantity::Share => Kind::Percent { min: in_percent(min), max: in_percent(max) },
        Quantity::Switch => Kind::Bool,
        Quantity::Name(names) => Kind::of_names(names.iter().copied()),
    };
    let written = |value| -> &'static str { unit.write(most(value)).leak() };
    let default_text = written(default);
    let example = example.map_or(default_text, written);
    OptionSpec { key: key.leak(), kind, fallback: Fallback::Value(default_text), help, example }
}

/// A quantity that is given in whole units.
fn in_units(kind: Kind, unit: u64) -> Kind {
    if unit == 1 { kind } else { kind.stepped(vec![Step::Multiple(unit)].leak()) }
}

/// The parameters in a table as options below `path`.
pub(crate) fn parameters(path: &str, table: &[Parameter]) -> Vec<OptionSpec> {
    let settings = table.iter().filter(|parameter| !parameter.is_fixed());
    settings.map(|one| option(format!("{path}.{}", one.name), one, one.help)).collect()
}

/// The choice `key` of what a table has, and the parameters of each; the first line is the default, the second the
/// example.
pub(crate) fn choice<R>(key: &'static str, help: &'static str, table: &Registry<R>) -> Vec<OptionSpec> {
    let kind = Kind::of_names(table.iter().map(|info| (info.name, info.help)));
    let choice = OptionSpec { key, kind, fallback: Fallback::Value(table[0].name), help, example: table[1].name };
    let inner = table.iter().flat_map(|info| parameters(&format!("{key}.{}", info.name), info.parameters));
    std::iter::once(choice).chain(inner).collect()
}

impl Checker<'_> {
    /// A parameter in its own unit.
    pub(crate) fn parameter(&mut self, key: &str, parameter: &Parameter) -> Read<u64> {
        let quantity = match parameter.unit.quantity() {
            Quantity::Time(_) => self.nanos(key)?.0,
            Quantity::Size(_) => self.bytes(key)?,
            Quantity::Number => self.count(key)?,
            Quantity::Share => (self.share(key)? * percent(100) as f64).round() as u64,
            Quantity::Switch => u64::from(self.flag(key)?),
            Quantity::Name(names) => {
                self.named(key, |chosen| names.iter().position(|(name, _)| *name == chosen))? as u64
            }
        };
        Ok(parameter.in_units(quantity).unwrap_or_else(|why| {
            self.report(key, why);
            parameter.default
        }))
    }

    /// Values for the parameters of a table, as set below `path`.
    pub(crate) fn parameters(&mut self, path: &str, table: &'static [Parameter]) -> Read<Settings> {
        let value = |one: &Parameter| {
            if one.is_fixed() { Ok(one.default) } else { self.parameter(&format!("{path}.{}", one.name), one) }
        };
        let values = table.iter().map(value).collect::<Read<Vec<u64>>>()?;
        Ok(Settings::with(table, &values))
    }

    /// What `key` chooses of a table, with its parameters.
    pub(crate) fn chosen<R>(&mut self, key: &str, table: &Registry<R>) -> Read<Choice<R>> {
        let info = self.named(key, |name| table.find(name))?;
        Ok(Choice { info, settings: self.parameters(&format!("{key}.{}", info.name), info.parameters)? })
    }
}
