//! The cache of the host. Each replacement policy declares its parameters in its own file; the options follow from
//! there.

use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::parameters::option;
use crate::table::{Fallback, KIB, MEBI, OptionSpec, SECOND, Section, TIB, Use};
use ssdlab_cache::{POLICIES, PageSizes, PolicyInfo, WriteMode};
use ssdlab_core::units::write_bytes;
use ssdlab_core::units::write_percent;
use ssdlab_core::{Parameter, Unit};
use ssdlab_sim::{CacheOptions, Clock, CompressedOptions, MOST_PARAMETERS};

const POLICY: &str = "cache.policy";
const CODEC: &str = "cache.codec";
const BACKGROUND: &str = "cache.dirty_background";

pub(crate) const SECTION: Section = Section {
    name: "cache",
    help: "The cache of the host, above its block layer: what it holds never reaches the drive.",
    used: &[Use::Unless(POLICY, "none")],
    options,
};

static WRITES: Choices<WriteMode, 2> = Choices::new([
    ("back", "they stay in the cache until they have to go below", WriteMode::Back),
    ("through", "they go below at once, and stay in the cache clean", WriteMode::Through),
]);

/// Policies that can decide on requests as they come.
fn policies() -> impl Iterator<Item = &'static PolicyInfo> {
    POLICIES.iter().copied().filter(|info| !info.role.needs_future)
}

/// Every option; called once.
fn options() -> Vec<OptionSpec> {
    let none = ("none", "no cache: every request goes on as it is");
    let known = policies().map(|info| (info.name, info.help));
    let policy = OptionSpec {
        key: POLICY,
        kind: Kind::of_names(std::iter::once(none).chain(known)),
        fallback: Fallback::Value("none"),
        help: "The replacement policy of the cache.",
        example: "arc",
    };
    let parameters = policies().flat_map(|info| info.parameters.iter().map(|one| parameter(info.name, one)));
    let sized = policies().filter(|info| info.role.sizes).map(|info| (info.name, info.help));
    let compressed_policy = OptionSpec {
        key: "cache.compressed_policy",
        kind: Kind::of_names(sized),
        fallback: Fallback::Value("fifo"),
        help: "Which compressed page is dropped first. Compressed pages are of different sizes, which not every policy \
               can tell apart, and each arrives anew: a hit takes it away.",
        example: "lru",
    };
    let codec = OptionSpec {
        key: CODEC,
        kind: Kind::of_names(CODECS.iter().map(|codec| (codec.name, codec.help))),
        fallback: Fallback::Value("lz4"),
        help: "What compresses pages, as a model: a ratio and times.",
        example: "zstd",
    };
    std::iter::once(policy)
        .chain(parameters)
        .chain(CACHE.iter().copied())
        .chain([codec])
        .chain(CODECS.iter().flat_map(Codec::options))
        .chain([compressed_policy])
        .chain(PAGES.iter().copied())
        .collect()
}

/// What a codec does to pages.
struct Codec {
    name: &'static str,
    help: &'static str,
    ratio: &'static str,
    compress: &'static str,
    restore: &'static str,
}

/// The values are those of Harper, "Viability of Time-Memory Trade-Offs in Large Data Sets", Dakota State University
/// 2018, table 4: pages of 8 KiB, eight threads on four cores.
static CODECS: &[Codec] = &[
    Codec { name: "lz4", help: "LZ4: quick", ratio: "2.13", compress: "2us", restore: "1us" },
    Codec { name: "zstd", help: "Zstandard: slower, and shrinks more", ratio: "2.97", compress: "8us", restore: "3us" },
];

impl Codec {
    fn options(&self) -> [OptionSpec; 3] {
        let time = Kind::Nanos { min: 0, max: SECOND };
        let option = |name, kind, value, help| OptionSpec {
            key: format!("{CODEC}.{}.{name}", self.name).leak(),
            kind,
            fallback: Fallback::Value(value),
            help,
            example: value,
        };
        [
            option(
                "ratio",
                Kind::Float { min: 1.0, max: 1e6 },
                self.ratio,
                "Raw bytes for each compressed one, of pages that shrink. The default is that of pages of 8 KiB of Harper 2018, \
                 table 4.",
            ),
            option(
                "compress",
                time,
                self.compress,
                "Time to compress a page, also in vain. The default is that of pages of 8 KiB of Harper 2018, table 4, on \
                 eight threads; one alone takes several times as long.",
            ),
            option("restore", time, self.restore, "Time to restore a page. The default is from the same table."),
        ]
    }
}

/// A parameter as an option, whose help names the unit that its value is written without.
fn parameter(policy: &str, parameter: &Parameter) -> OptionSpec {
    let help = match parameter.unit {
        Unit::Switch => parameter.help,
        Unit::Percent => format!("{} In percent.", parameter.help).leak(),
        unit => format!("{} In {unit}.", parameter.help).leak(),
    };
    option(format!("{POLICY}.{policy}.{}", parameter.name), parameter, help)
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
        kind: WRITES.kind(),
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
        key: BACKGROUND,
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        // Linux: vm.dirty_background_ratio (Documentation/admin-guide/sysctl/vm.rst).
        fallback: Fallback::Value("10%"),
        help: "Share of the raw pages above which those dirty longest are written below while nobody waits, in whole percent; \
               above `cache.dirty` it never acts. Other values than the default need `time = \"event\"`: where requests are \
               served one by one nothing is written ahead of need. The default is that of Linux (`vm.dirty_background_ratio`).",
        example: "100%",
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

impl Checker<'_> {
    /// The cache, if there is one.
    pub(crate) fn cache(&mut self, clock: &Clock) -> Read<Option<CacheOptions>> {
        let name = self.name(POLICY)?;
        let Some(info) = policies().find(|info| info.name == name) else {
            // A written configuration holds every setting: only what differs from none was meant to do something.
            if self.share("cache.compressed")? > 0.0 {
                self.report("cache.compressed", "there is no cache; set cache.policy to \"lru\"".to_owned());
            }
            return Ok(None);
        };
        let mut parameters = [None; MOST_PARAMETERS];
        for (parameter, slot) in info.parameters.iter().zip(&mut parameters) {
            let key = format!("{POLICY}.{name}.{}", parameter.name);
            let value = self.parameter(&key, parameter)?;
            *slot = (!self.is_default(&key)).then_some(value);
        }
        let (size, page_bytes) = (self.bytes("cache.size")?, self.small("cache.page")?);
        if !page_bytes.is_power_of_two() {
            let below = 1_u64 << page_bytes.ilog2();
            let message =
                format!("{} is not a power of two; set it to {}", write_bytes(page_bytes.into()), write_bytes(below));
            self.report("cache.page", message);
        }
        if size < u64::from(page_bytes) {
            let page = write_bytes(page_bytes.into());
            self.report(
                "cache.size",
                format!("{} is smaller than a page of {page}; raise it to {page}", write_bytes(size)),
            );
        }
        let dirty_percent = self.whole_percent("cache.dirty")?;
        let background_percent = self.whole_percent(BACKGROUND)?;
        let usual_percent = CacheOptions::USUAL_BACKGROUND_PERCENT;
        if !matches!(clock, Clock::Event(..)) && background_percent != usual_percent {
            let message = format!(
                "requests are served one by one, and nothing is written between them; set it to {usual_percent}%"
            );
            self.report(BACKGROUND, message);
        }
        let capacity_pages = size / u64::from(page_bytes);
        let compressed = self.compressed(capacity_pages)?;
        Ok(Some(CacheOptions {
            policy: info.name,
            parameters,
            page_bytes,
            capacity_pages,
            compressed,
            writes: self.choice("cache.writes", &WRITES)?,
            dirty_percent,
            background_percent,
            copy: self.nanos("cache.copy")?,
        }))
    }

    /// A share in whole percent.
    fn whole_percent(&mut self, key: &str) -> Read<u32> {
        let percent = 100.0 * self.share(key)?;
        if (percent - percent.round()).abs() > 1e-9 {
            self.report(key, format!("{percent}% is not a whole percentage; set it to {}%", percent.round()));
        }
        // The range of the option ends at 100.
        Ok(percent.round() as u32)
    }

    /// The compressed part of a cache with room for so many pages, if there is one.
    fn compressed(&mut self, capacity_pages: u64) -> Read<Option<CompressedOptions>> {
        const SHARE: &str = "cache.compressed";
        let share = self.share(SHARE)?;
        if share == 0.0 {
            return Ok(None);
        }
        let room_pages = (capacity_pages as f64 * share).round() as u64;
        let of = format!("{} of {capacity_pages} pages", write_percent(100.0 * share));
        if room_pages == 0 {
            self.report(SHARE, format!("{of} is less than a page; set it to 0%"));
        } else if room_pages >= capacity_pages {
            let less = if capacity_pages > 1 { "50%" } else { "0%" };
            self.report(SHARE, format!("{of} leaves no raw page, but pages are used raw; lower it to {less}"));
        }
        let codec = self.name(CODEC)?;
        let ratio_key = format!("{CODEC}.{codec}.ratio");
        let sizes = PageSizes {
            ratio: self.float(&ratio_key)?,
            spread: self.share("cache.spread")?,
            incompressible: self.share("cache.incompressible")?,
            max_stored: self.share("cache.max_stored")?,
        };
        let shortest = (1.0 - sizes.spread) / sizes.ratio;
        if shortest > sizes.max_stored || shortest >= 1.0 {
            let more = ((100.0 * (1.0 - sizes.spread) / sizes.max_stored).floor() + 1.0) / 100.0;
            let message = format!(
                "{} shrinks pages to {} at best, and none above cache.max_stored of {} is kept; raise it to {more}",
                sizes.ratio,
                write_percent((1000.0 * shortest).round() / 10.0),
                write_percent(100.0 * sizes.max_stored)
            );
            self.report(&ratio_key, message);
        }
        Ok(Some(CompressedOptions {
            policy: self.name("cache.compressed_policy")?,
            room_pages,
            sizes,
            compress: self.nanos(&format!("{CODEC}.{codec}.compress"))?,
            restore: self.nanos(&format!("{CODEC}.{codec}.restore"))?,
        }))
    }
}
