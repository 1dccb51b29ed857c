//! The cache of the host. Each replacement policy declares its parameters in its own file; the options follow from there.

use super::{Fallback, KIB, Kind, MEBI, OptionSpec, SECOND, TIB, Variant};
use crate::cache::{is_switch, policies};
use ssdlab_cache::Parameter;

/// Every option; called once.
pub(super) fn options() -> Vec<OptionSpec> {
    let none = Variant { name: "none", help: "no cache: every request goes on as it is" };
    let known = policies().map(|info| Variant { name: info.name, help: info.help });
    let variants: Vec<Variant> = std::iter::once(none).chain(known).collect();
    let policy = OptionSpec {
        key: "cache.policy",
        kind: Kind::Choice(variants.leak()),
        fallback: Fallback::Value("none"),
        help: "The replacement policy of the cache.",
        example: "arc",
    };
    let parameters = policies().flat_map(|info| info.parameters.iter().map(|one| option(info.name, one)));
    std::iter::once(policy).chain(parameters).chain(CACHE.iter().copied()).collect()
}

/// A parameter as an option.
fn option(policy: &str, parameter: &'static Parameter) -> OptionSpec {
    let Parameter { name, unit, default, min, max, help } = *parameter;
    let (kind, default, help): (_, &'static str, &'static str) = if is_switch(parameter) {
        (Kind::Bool, if default == 0 { "false" } else { "true" }, help)
    } else {
        let help = format!("{} In {}.", help, if unit == "%" { "percent" } else { unit });
        // A count of a configuration has 63 bits.
        let most = i64::MAX as u64;
        (Kind::Count { min, max: max.min(most) }, default.min(most).to_string().leak(), help.leak())
    };
    OptionSpec {
        key: format!("cache.policy.{policy}.{name}").leak(),
        kind,
        fallback: Fallback::Value(default),
        help,
        example: default,
    }
}

/// What is not the policy's.
const CACHE: &[OptionSpec] = &[
    OptionSpec {
        key: "cache.size",
        kind: Kind::Bytes { min: 512, max: TIB },
        fallback: Fallback::Value("64MiB"),
        help: "Bytes of pages that it holds.",
        example: "1GiB",
    },
    OptionSpec {
        key: "cache.page",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("4KiB"),
        help: "Size of a page, a power of two.",
        example: "8KiB",
    },
    OptionSpec {
        key: "cache.writes",
        kind: Kind::Choice(&[
            Variant { name: "back", help: "they stay in the cache until they have to go below" },
            Variant { name: "through", help: "they go below at once, and stay in the cache clean" },
        ]),
        fallback: Fallback::Value("back"),
        help: "What happens to writes.",
        example: "through",
    },
    OptionSpec {
        key: "cache.dirty",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        // Linux: vm.dirty_ratio (Documentation/admin-guide/sysctl/vm.rst).
        fallback: Fallback::Value("20%"),
        help: "Share of the pages that may be dirty, in whole percent; above it those dirty longest are written below. \
               The default is that of Linux (`vm.dirty_ratio`).",
        example: "40%",
    },
    OptionSpec {
        key: "cache.copy",
        kind: Kind::Nanos { min: 0, max: SECOND },
        fallback: Fallback::Value("1us"),
        help: "Time to copy a page from or to the cache. The default is 4 KiB at 4 GB/s, the 250 us for 1 MB of memory \
               of Dean, \"Designs, lessons and advice from building large distributed systems\", LADIS 2009.",
        example: "500ns",
    },
];
