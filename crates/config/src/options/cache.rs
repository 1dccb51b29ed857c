//! The cache of the host. Each replacement policy declares its parameters in its own file; the options follow from there.

use super::{Fallback, KIB, Kind, MEBI, OptionSpec, SECOND, TIB, Variant};
use crate::cache::policies;
use crate::parameters::option;
use ssdlab_core::{Parameter, Unit};

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
    let parameters = policies().flat_map(|info| info.parameters.iter().map(|one| parameter(info.name, one)));
    let sized = policies().filter(|info| info.sizes);
    let sized: Vec<Variant> = sized.map(|info| Variant { name: info.name, help: info.help }).collect();
    let compressed_policy = OptionSpec {
        key: "cache.compressed_policy",
        kind: Kind::Choice(sized.leak()),
        fallback: Fallback::Value("fifo"),
        help: "Which compressed page is dropped first. Compressed pages are of different sizes, which not every policy \
               can tell apart, and each arrives anew: a hit takes it away.",
        example: "lru",
    };
    let codecs = [
        codec(["cache.codec.lz4.ratio", "cache.codec.lz4.compress", "cache.codec.lz4.restore"], ["2.13", "2us", "1us"]),
        codec(
            ["cache.codec.zstd.ratio", "cache.codec.zstd.compress", "cache.codec.zstd.restore"],
            ["2.97", "8us", "3us"],
        ),
    ];
    std::iter::once(policy)
        .chain(parameters)
        .chain(CACHE.iter().copied())
        .chain(codecs.into_iter().flatten())
        .chain([compressed_policy])
        .chain(PAGES.iter().copied())
        .collect()
}

/// What a codec does to pages. The values are those of Harper, "Viability of Time-Memory Trade-Offs in Large Data Sets",
/// Dakota State University 2018, table 4: pages of 8 KiB, eight threads on four cores.
fn codec(keys: [&'static str; 3], values: [&'static str; 3]) -> [OptionSpec; 3] {
    let time = Kind::Nanos { min: 0, max: SECOND };
    let option = |at: usize, kind, help| OptionSpec {
        key: keys[at],
        kind,
        fallback: Fallback::Value(values[at]),
        help,
        example: values[at],
    };
    [
        option(
            0,
            Kind::Float { min: 1.0, max: 1e6 },
            "Raw bytes for each compressed one, of pages that shrink. The default is that of pages of 8 KiB of Harper 2018, \
             table 4.",
        ),
        option(
            1,
            time,
            "Time to compress a page, also in vain. The default is that of pages of 8 KiB of Harper 2018, table 4, on \
             eight threads; one alone takes several times as long.",
        ),
        option(2, time, "Time to restore a page. The default is from the same table."),
    ]
}

/// A parameter as an option, whose help names the unit that its value is written without.
fn parameter(policy: &str, parameter: &Parameter) -> OptionSpec {
    let help = match parameter.unit {
        Unit::Switch => parameter.help,
        Unit::Percent => format!("{} In percent.", parameter.help).leak(),
        unit => format!("{} In {unit}.", parameter.help).leak(),
    };
    option(format!("cache.policy.{policy}.{}", parameter.name), parameter, help)
}

/// What is neither the policy's nor of compressed pages alone.
const CACHE: &[OptionSpec] = &[
    OptionSpec {
        key: "cache.size",
        kind: Kind::Bytes { min: 512, max: TIB },
        fallback: Fallback::Value("64MiB"),
        help: "Memory for its pages.",
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
        help: "Share of the raw pages that may be dirty, in whole percent; above it those dirty longest are written below. \
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
    OptionSpec {
        key: "cache.compressed",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("0%"),
        help: "Share of the memory that holds compressed pages, C_% of Harper 2018; in whole pages. 0% keeps all pages raw.",
        example: "50%",
    },
    OptionSpec {
        key: "cache.codec",
        kind: Kind::Choice(&[
            Variant { name: "lz4", help: "LZ4: quick" },
            Variant { name: "zstd", help: "Zstandard: slower, and shrinks more" },
        ]),
        fallback: Fallback::Value("lz4"),
        help: "What compresses pages, as a model: a ratio and times.",
        example: "zstd",
    },
];

/// How pages shrink.
const PAGES: &[OptionSpec] = &[
    OptionSpec {
        key: "cache.incompressible",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("0%"),
        help: "Share of the pages that do not shrink: they are dropped when they leave the raw pool. Which ones follows from \
               `seed`.",
        example: "20%",
    },
    OptionSpec {
        key: "cache.spread",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("50%"),
        help: "Compressed pages are evenly from this much shorter to this much longer than the ratio says. No source gives \
               a value: the default is a guess.",
        example: "0%",
    },
    OptionSpec {
        key: "cache.max_stored",
        kind: Kind::Percent { min: 1.0, max: 100.0 },
        fallback: Fallback::Value("75%"),
        help: "Compressed pages longer than this share of a page are not worth keeping.",
        example: "50%",
    },
];
