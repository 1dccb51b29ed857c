//! Random values for the parameters of components.

use proptest::prelude::*;
use ssdlab_core::parameter::{Owner, Quantity};
use ssdlab_core::{Parameter, Settings};

/// Page size of the small drives in bytes; small enough that a map has several pages.
pub(crate) const PAGE_BYTES: u32 = 64;

/// Returns settings in which each parameter has the corresponding value in `values`.
pub(crate) fn settings(parameters: &'static [Parameter], values: &[u64]) -> Settings {
    let owner = Owner { kind: "component", name: "checked", parameter: "parameter" };
    let names = parameters.iter().map(|parameter| parameter.name);
    let changes: Vec<(&str, u64)> = names.zip(values.iter().copied()).collect();
    Settings::new(owner, parameters, &changes).expect("the values are in range")
}

/// A parameter set to its smallest or largest value; `at` is the parameter's position in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub at: usize,
    pub value: u64,
}

/// Iterates over the limits of all parameters: the smallest and the largest value of each.
pub(crate) fn limits(parameters: &'static [Parameter]) -> impl Iterator<Item = Limit> {
    let ends =
        |(at, parameter): (usize, &Parameter)| [parameter.min, parameter.largest()].map(|value| Limit { at, value });
    parameters.iter().enumerate().flat_map(ends)
}

/// Generates values for all parameters: either the defaults or small values. `limit` overrides the value of one
/// parameter.
pub(crate) fn values(parameters: &'static [Parameter], limit: Option<Limit>) -> impl Strategy<Value = Vec<u64>> {
    let defaults: Vec<u64> = parameters.iter().map(|parameter| parameter.default).collect();
    let small: Vec<BoxedStrategy<u64>> = parameters.iter().map(small).collect();
    prop_oneof![2 => small, 1 => Just(defaults)].prop_map(move |mut values| {
        if let Some(Limit { at, value }) = limit {
            values[at] = value;
        }
        values
    })
}

/// Generates small values for a parameter. Sizes are powers of two, up to the page size if the range allows it.
fn small(parameter: &Parameter) -> BoxedStrategy<u64> {
    let Parameter { unit, min, .. } = *parameter;
    let max = parameter.largest();
    let page = u64::from(PAGE_BYTES);
    let top = max.min(if min > page { min.saturating_mul(8) } else { page }).max(1).ilog2();
    let low = min.max(1).ilog2().max(top.saturating_sub(3));
    let sizes = (low..=top).prop_map(move |shift| (1 << shift).clamp(min, max));
    match unit.quantity() {
        Quantity::Share | Quantity::Decimal => (0_u64..5).prop_map(move |part| min + part * (max - min) / 4).boxed(),
        Quantity::Size(1) => sizes.boxed(),
        _ if parameter.is_fixed() => sizes.boxed(),
        _ => (min..=max.min(min.saturating_add(5))).boxed(),
    }
}
