//! Settings of the host's cache. Each replacement policy declares a table of its parameters in its own file; the
//! options are derived from these tables.

use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::parameters;
use crate::table::{KIB, MEBI, OptionSpec, SECOND, Section, TIB, Use, bytes, float, nanos, option, percent};
use ssdlab_cache::{POLICIES, PageSizes, PolicyInfo, WriteMode};
use ssdlab_core::units::{write_bytes, write_percent};
use ssdlab_core::{Parameter, Unit};
use ssdlab_sim::{CacheOptions, Clock, CompressedOptions};

const POLICY: &str = "cache.policy";
const CODEC: &str = "cache.codec";
const COMPRESSED: &str = "cache.compressed";
const BACKGROUND: &str = "cache.dirty_background";

pub(crate) const SECTION: Section = Section {
    name: "cache",
    help: "Host page cache, above the block layer. Cache hits do not reach the drive.",
    used: &[Use::Unless(POLICY, "none")],
    options,
};

static WRITES: Choices<WriteMode, 2> = Choices::new([
    ("back", "written pages stay in the cache until they are written back", WriteMode::Back),
    ("through", "writes are forwarded at once; their pages stay in the cache as clean pages", WriteMode::Through),
]);

/// Returns the policies that do not need to know future requests.
fn policies() -> impl Iterator<Item = &'static PolicyInfo> {
    POLICIES.iter().copied().filter(|info| !info.role.needs_future)
}

/// Returns all options of the cache. The options are never freed, so this function must be called rarely.
fn options() -> Vec<OptionSpec> {
    let none = ("none", "no cache: every request goes to the layer below");
    let policy = Kind::of_names(std::iter::once(none).chain(policies().map(|info| (info.name, info.help))));
    let sized = policies().filter(|info| info.role.sizes).map(|info| (info.name, info.help));
    let codec = Kind::of_names(CODECS.iter().map(|codec| (codec.name, codec.help)));
    let mut options =
        vec![option(POLICY, policy).default("none").example("arc").help("Replacement policy of the cache.")];
    options.extend(policies().flat_map(|info| info.parameters.iter().map(|entry| parameter(info.name, entry))));
    options.extend(CACHE);
    options.push(
        option(CODEC, codec)
            .default("lz4")
            .example("zstd")
            .help("Page compressor, modelled by its compression ratio and its compression and decompression times."),
    );
    options.extend(CODECS.iter().flat_map(Codec::options));
    options.push(option("cache.compressed_policy", Kind::of_names(sized)).default("fifo").example("lru").help(
        "Replacement policy of compressed pages; it must support items of different sizes. A hit removes the page \
         from the compressed pool.",
    ));
    options.extend(PAGES);
    options
}

/// A compressor model: its name and help text, and the defaults of its settings.
struct Codec {
    name: &'static str,
    help: &'static str,
    ratio: &'static str,
    compress: &'static str,
    restore: &'static str,
}

/// Compressors with the values of Harper, "Viability of Time-Memory Trade-Offs in Large Data Sets", Dakota State
/// University 2018, table 4: pages of 8 KiB, eight threads on four cores.
static CODECS: &[Codec] = &[
    Codec { name: "lz4", help: "LZ4: fast", ratio: "2.13", compress: "2us", restore: "1us" },
    Codec { name: "zstd", help: "Zstandard: slower, better ratio", ratio: "2.97", compress: "8us", restore: "3us" },
];

impl Codec {
    fn options(&self) -> [OptionSpec; 3] {
        let key = |name| -> &'static str { format!("{CODEC}.{}.{name}", self.name).leak() };
        let time = Kind::Nanos { min: 0, max: SECOND };
        [
            float(key("ratio"), 1.0..=1e6).default(self.ratio).example(self.ratio).help(
                "Compression ratio of compressible pages, in raw bytes per compressed byte. The default is for pages \
                 of 8 KiB (Harper 2018, table 4).",
            ),
            option(key("compress"), time).default(self.compress).example(self.compress).help(
                "Time to compress a page, even if the result is discarded. The default is for pages of 8 KiB on eight \
                 threads (Harper 2018, table 4); a single thread takes several times as long.",
            ),
            option(key("restore"), time)
                .default(self.restore)
                .example(self.restore)
                .help("Time to decompress a page. The default has the same source as the default of `compress`."),
        ]
    }
}

/// Returns a policy's parameter as an option. The help text names the unit, because the option's values are plain
/// numbers.
fn parameter(policy: &str, parameter: &Parameter) -> OptionSpec {
    let help = match parameter.unit {
        Unit::Switch => parameter.help,
        Unit::Percent => format!("{} In percent.", parameter.help).leak(),
        unit => format!("{} In {unit}.", parameter.help).leak(),
    };
    parameters::of_parameter(format!("{POLICY}.{policy}.{}", parameter.name), parameter, help)
}

const CACHE: &[OptionSpec] = &[
    bytes("cache.size", 512..=TIB).default("64MiB").example("1GiB").help("Memory for cached pages."),
    bytes("cache.page", 512..=KIB * MEBI).default("4KiB").example("8KiB").help("Page size, a power of two."),
    option("cache.writes", WRITES.kind()).default("back").example("through").help("Write policy."),
    percent("cache.dirty", 0.0..=100.0)
        // Linux: vm.dirty_ratio (Documentation/admin-guide/sysctl/vm.rst).
        .default("20%")
        .example("40%")
        .help(
            "Maximum dirty share of the raw pages, in whole percent; above it, the pages that have been dirty longest \
             are written back. Default from Linux (`vm.dirty_ratio`).",
        ),
    percent(BACKGROUND, 0.0..=100.0)
        // Linux: vm.dirty_background_ratio (Documentation/admin-guide/sysctl/vm.rst).
        .default("10%")
        .example("100%")
        .help(
            "Dirty share of the raw pages above which background write-back runs, in whole percent; the pages that \
             have been dirty longest go first. It has no effect above `cache.dirty`. Values other than the default \
             need `time = \"event\"`. Default from Linux (`vm.dirty_background_ratio`).",
        ),
    nanos("cache.copy", 0..=SECOND).default("1us").example("500ns").help(
        "Time to copy a page to or from the cache. The default is 4 KiB at 4 GB/s: 250 us for 1 MB of memory in Dean, \
         \"Designs, lessons and advice from building large distributed systems\", LADIS 2009.",
    ),
    percent(COMPRESSED, 0.0..=100.0).default("0%").example("50%").help(
        "Share of the cache memory that holds compressed pages (C_% of Harper 2018); rounded to whole pages. At 0%, no \
         page is compressed.",
    ),
];

/// Options that determine the compressed sizes of pages.
const PAGES: &[OptionSpec] = &[
    percent("cache.incompressible", 0.0..=100.0)
        .default("0%")
        .example("20%")
        .help("Share of incompressible pages, selected by `seed`; they are dropped when they leave the raw pool."),
    percent("cache.spread", 0.0..=100.0).default("50%").example("0%").help(
        "Spread of the compressed sizes. They are uniformly distributed within plus or minus this share of their mean, \
         which follows from the compression ratio. The default is an assumption.",
    ),
    percent("cache.max_stored", 1.0..=100.0)
        .default("75%")
        .example("50%")
        .help("Maximum compressed size of a page, as a share of the page size; larger pages are dropped."),
];

impl Checker<'_> {
    /// Reads the settings of the cache. Returns `None` if the configuration has no cache.
    pub(crate) fn cache(&mut self, clock: &Clock) -> Read<Option<CacheOptions>> {
        let name = self.name(POLICY)?;
        let Some(policy) = policies().find(|info| info.name == name) else {
            // A complete configuration contains every setting. So a setting without effect is reported only if its
            // value was changed.
            if self.share(COMPRESSED)? > 0.0 {
                self.report(COMPRESSED, "needs a cache; set cache.policy to \"lru\"");
            }
            return Ok(None);
        };
        let mut parameters = Vec::new();
        for parameter in policy.parameters {
            let key = format!("{POLICY}.{name}.{}", parameter.name);
            let value = self.parameter(&key, parameter)?;
            if !self.is_default(&key) {
                parameters.push((parameter.name.into(), value));
            }
        }
        let (size, page_bytes) = (self.bytes("cache.size")?, self.small("cache.page")?);
        self.check_power_of_two("cache.page", page_bytes);
        if size < u64::from(page_bytes) {
            let page = write_bytes(page_bytes.into());
            self.report("cache.size", format!("{} is less than a page; raise it to {page}", write_bytes(size)));
        }
        let dirty_percent = self.whole_percent("cache.dirty")?;
        let background_percent = self.whole_percent(BACKGROUND)?;
        let usual_percent = CacheOptions::USUAL_BACKGROUND_PERCENT;
        if !matches!(clock, Clock::Event(..)) && background_percent != usual_percent {
            self.report(
                BACKGROUND,
                format!("a value other than the default needs time = \"event\"; set it to {usual_percent}%"),
            );
        }
        let capacity_pages = size / u64::from(page_bytes);
        let compressed = self.compressed(capacity_pages)?;
        Ok(Some(CacheOptions {
            policy,
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

    /// Reads the option `key`, which must be a whole number of percent.
    fn whole_percent(&mut self, key: &str) -> Read<u32> {
        let percent = 100.0 * self.share(key)?;
        if (percent - percent.round()).abs() > 1e-9 {
            self.report(key, format!("{percent}% is not a whole percentage; set it to {}%", percent.round()));
        }
        // The cast is safe, because the range of the option ends at 100.
        Ok(percent.round() as u32)
    }

    /// Reads the settings of the compressed pool in a cache of `capacity_pages`; `None` if there is no compressed pool.
    fn compressed(&mut self, capacity_pages: u64) -> Read<Option<CompressedOptions>> {
        let share = self.share(COMPRESSED)?;
        if share == 0.0 {
            return Ok(None);
        }
        let room_pages = (capacity_pages as f64 * share).round() as u64;
        let part = format!("{} of {capacity_pages} pages", write_percent(100.0 * share));
        if room_pages == 0 {
            self.report(COMPRESSED, format!("{part} is less than one page; set it to 0%"));
        } else if room_pages >= capacity_pages {
            let less = if capacity_pages > 1 { "50%" } else { "0%" };
            self.report(COMPRESSED, format!("{part} leaves no raw page; lower it to {less}"));
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
                "pages compress to {} at best, above cache.max_stored = {}; raise it to {more}",
                write_percent((1000.0 * shortest).round() / 10.0),
                write_percent(100.0 * sizes.max_stored)
            );
            self.report(&ratio_key, message);
        }
        Ok(Some(CompressedOptions {
            policy: self.named("cache.compressed_policy", |name| POLICIES.find(name))?,
            room_pages,
            sizes,
            compress: self.nanos(&format!("{CODEC}.{codec}.compress"))?,
            restore: self.nanos(&format!("{CODEC}.{codec}.restore"))?,
        }))
    }
}
