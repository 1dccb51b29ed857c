//! Reads the settings of read-ahead.

use crate::checker::Reader;
use crate::kind::Choices;
use crate::table::{KIB, MEBI, OptionSpec, bytes, count, option};
use ssdlab_core::units::write_bytes;
use ssdlab_sim::ReadAhead;

const SIZE: &str = "drive.read_ahead.sequential.size";

pub(super) static POLICIES: Choices<Reader<Option<ReadAhead>>, 2> = Choices::new([
    ("none", "never", |_| Ok(None)),
    (
        "sequential",
        "after `requests` reads that each start where the previous read ended, the next `pages` pages are read",
        |checker| {
            let pages = checker.small("drive.read_ahead.sequential.pages")?;
            let (bytes, page_bytes) = (checker.bytes(SIZE)?, checker.bytes("device.unit")?);
            let least = u64::from(pages) * page_bytes;
            if bytes < least {
                let [size, least] = [bytes, least].map(write_bytes);
                checker.report(SIZE, format!("{size} is less than {pages} pages; raise it to {least}"));
            }
            // The cast is safe for every size in range: the smallest pages have 512 bytes.
            let cache_pages = u32::try_from(bytes / page_bytes).unwrap_or(u32::MAX);
            Ok(Some(ReadAhead { requests: checker.small("drive.read_ahead.sequential.requests")?, pages, cache_pages }))
        },
    ),
]);

// The defaults are our choice.
pub(super) const OPTIONS: &[OptionSpec] = &[
    option("drive.read_ahead", POLICIES.kind()).default("none").example("sequential").help(
        "Read-ahead: when the drive prefetches pages from flash. Prefetched pages go to a read cache that is separate \
         from the write buffer. The drive tracks up to 16 sequential streams.",
    ),
    count("drive.read_ahead.sequential.requests", 1..=1_000)
        .default("2")
        .example("4")
        .help("Number of consecutive reads after which a stream counts as sequential."),
    count("drive.read_ahead.sequential.pages", 1..=KIB)
        .default("32")
        .example("64")
        .help("Number of pages (`device.unit`) to read in advance."),
    bytes(SIZE, 512..=KIB * MEBI)
        .default("1MiB")
        .example("4MiB")
        .help("Size of the read cache; rounded down to whole pages. The oldest page is evicted first."),
];
