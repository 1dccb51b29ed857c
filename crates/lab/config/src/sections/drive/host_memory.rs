//! Reads the settings of the host memory buffer (HMB).

use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::table::{KIB, MEBI, OptionSpec, SECOND, count, nanos, option};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::map::ram;
use ssdlab_sim::HostMemory;

const ENTRIES: &str = "drive.hmb.map_cache.entries";
const FETCH: &str = "drive.hmb.map_cache.fetch";

static USES: Choices<Reader<Option<HostMemory>>, 2> = Choices::new([
    ("none", "no host memory buffer: the FTL's map cache is in the controller's own memory", |_| Ok(None)),
    (
        "map_cache",
        "host memory holds the FTL's map cache; the controller's own memory holds the `entries` most recently used \
         entries",
        |checker| {
            let (own_entries, fetched_entries) = (checker.small(ENTRIES)?, checker.small(FETCH)?);
            if fetched_entries > own_entries {
                let message = format!(
                    "{fetched_entries} entries exceed the {own_entries} entries of the controller's own memory"
                );
                checker.report(FETCH, format!("{message}; lower it to {own_entries}"));
            }
            let latency = checker.nanos("drive.hmb.map_cache.latency")?;
            Ok(Some(HostMemory { own_entries, fetched_entries, latency }))
        },
    ),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("drive.hmb", USES.kind()).default("none").example("map_cache").help(
        "Use of the host memory buffer (HMB), where controllers without DRAM keep map entries; needs a map in flash.",
    ),
    // This default is our choice: 64 KiB of entries of 8 bytes.
    count(ENTRIES, 1..=16 * MEBI)
        .default("8192")
        .example("16384")
        .help("Number of map entries in the controller's own memory."),
    // One fetch is a memory read of 64 bytes: 16 entries of 4 bytes.
    count(FETCH, 1..=64 * KIB)
        .default("16")
        .example("1024")
        .help("Number of consecutive map entries that the controller fetches together; at most `entries`."),
    // A read of host memory over PCIe takes about 1 to 3 us.
    nanos("drive.hmb.map_cache.latency", 0..=SECOND)
        .default("2us")
        .example("1us")
        .help("Delay of a request that fetches map entries from host memory; does not occupy a processor."),
];

impl Checker<'_> {
    pub(super) fn host_memory(&mut self, ftl: &FtlChoice) -> Read<Option<HostMemory>> {
        let memory = self.variant("drive.hmb", &USES)?;
        let has_map_in_flash = matches!(ftl, FtlChoice::Page(_, map) if !map.is(&ram::INFO));
        if memory.is_some() && !has_map_in_flash {
            self.report(
                "drive.hmb",
                "the host memory buffer needs a map in flash (ftl.page.map); set drive.hmb to \"none\"",
            );
        }
        Ok(memory)
    }
}
