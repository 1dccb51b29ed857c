//! Parameters of schedulers and policies as options: declared where they are used, named and written here.

use crate::checker::{Checker, Read};
use crate::kind::Kind;
use crate::table::{Fallback, OptionSpec};
use ssdlab_core::Parameter;
use ssdlab_core::parameter::Quantity;

/// A parameter as the option `key`.
pub(crate) fn option(key: String, parameter: &Parameter, help: &'static str) -> OptionSpec {
    // A count of a configuration has 63 bits.
    let most = |value: u64| value.min(i64::MAX as u64);
    let Parameter { unit, default, min, max, .. } = *parameter;
    let kind = match unit.quantity() {
        Quantity::Time(unit_ns) => Kind::Nanos { min: min * unit_ns, max: max * unit_ns },
        Quantity::Size(unit_bytes) => Kind::Bytes { min: min * unit_bytes, max: max * unit_bytes },
        Quantity::Number => Kind::Count { min, max: most(max) },
        Quantity::Switch => Kind::Bool,
    };
    let default: &'static str = unit.write(most(default)).leak();
    OptionSpec { key: key.leak(), kind, fallback: Fallback::Value(default), help, example: default }
}

impl Checker<'_> {
    /// A parameter in its own unit.
    pub(crate) fn parameter(&mut self, key: &str, parameter: &Parameter) -> Read<u64> {
        let quantity = match parameter.unit.quantity() {
            Quantity::Time(_) => self.nanos(key)?.0,
            Quantity::Size(_) => self.bytes(key)?,
            Quantity::Number => self.count(key)?,
            Quantity::Switch => u64::from(self.flag(key)?),
        };
        Ok(parameter.in_units(quantity).unwrap_or_else(|why| {
            self.report(key, why);
            parameter.default
        }))
    }
}
