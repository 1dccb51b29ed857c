//! The cache of segments.

use crate::checker::{Checker, Read, Reader};
use crate::kind::Kind;
use crate::table::{Fallback, MEBI, OptionSpec, TIB};
use ssdlab_core::units::write_bytes;
use ssdlab_ftl::choice::MapChoice;
use ssdlab_ftl::map::SegmentOptions;
use ssdlab_ftl::map::cache::POLICIES;

pub(super) const SEGMENTS: (&str, &str, Reader<MapChoice>) =
    ("segments", "in flash, a cache of segments of it in RAM", |checker| {
        Ok(MapChoice::Segments(checker.segment_options()?))
    });

pub(super) fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec {
            key: "ftl.page.map.segments.cache",
            kind: Kind::Bytes { min: 1, max: TIB },
            fallback: Fallback::Value("64KiB"),
            help: "RAM for segments.",
            example: "512KiB",
        },
        OptionSpec {
            key: "ftl.page.map.segments.segment",
            kind: Kind::Bytes { min: 4, max: MEBI },
            fallback: Fallback::Value("2KiB"),
            help: "Segment: what is loaded at once; a power of two, at most a page.",
            example: "8KiB",
        },
        OptionSpec {
            key: "ftl.page.map.segments.entry",
            kind: Kind::Bytes { min: 1, max: 64 },
            fallback: Fallback::Value("4B"),
            help: "Entry of the map; a power of two.",
            example: "8B",
        },
        OptionSpec {
            key: "ftl.page.map.segments.policy",
            kind: Kind::of_names(POLICIES.iter().map(|info| (info.name, info.help))),
            fallback: Fallback::Value("lru"),
            help: "Which cached segment gives way to a new one.",
            example: "clock",
        },
        OptionSpec {
            key: "ftl.page.map.segments.preload",
            kind: Kind::Bool,
            fallback: Fallback::Value("false"),
            help: "Fill the cache from the start of the map before the first request.",
            example: "true",
        },
    ]
}

impl Checker<'_> {
    fn segment_options(&mut self) -> Read<SegmentOptions> {
        const CACHE: &str = "ftl.page.map.segments.cache";
        const SEGMENT: &str = "ftl.page.map.segments.segment";
        const ENTRY: &str = "ftl.page.map.segments.entry";
        let page_bytes = self.small("nand.page_size")?;
        let mut options = SegmentOptions {
            cache_bytes: self.bytes(CACHE)?,
            segment_bytes: self.small(SEGMENT)?,
            entry_bytes: self.small(ENTRY)?,
            policy: self.named("ftl.page.map.segments.policy", |name| {
                POLICIES.iter().find(|info| info.name == name).map(|info| info.choice)
            })?,
            preload: self.flag("ftl.page.map.segments.preload")?,
        };
        let written = |bytes: u32| write_bytes(u64::from(bytes));
        for (key, bytes) in [(SEGMENT, &mut options.segment_bytes), (ENTRY, &mut options.entry_bytes)] {
            if !bytes.is_power_of_two() {
                let above = bytes.next_power_of_two();
                let nearest = format!("{} and {}", written(above / 2), written(above));
                self.report(key, format!("{} is not a power of two; the nearest are {nearest}", written(*bytes)));
                // What follows from it is not reported as well.
                *bytes = above.min(page_bytes);
            }
        }
        if options.segment_bytes > page_bytes {
            let message =
                format!("{} exceeds a page of {}; lower it", written(options.segment_bytes), written(page_bytes));
            self.report(SEGMENT, message);
            options.segment_bytes = page_bytes;
        }
        if options.entry_bytes > options.segment_bytes {
            let message = format!(
                "{} exceeds a segment of {}; lower it",
                written(options.entry_bytes),
                written(options.segment_bytes)
            );
            self.report(ENTRY, message);
            options.entry_bytes = options.segment_bytes;
        }
        if !options.cache_bytes.is_multiple_of(u64::from(options.segment_bytes)) || options.cache_bytes == 0 {
            let message = format!(
                "{} is not a multiple of segments of {}, at least one",
                write_bytes(options.cache_bytes),
                written(options.segment_bytes)
            );
            self.report(CACHE, message);
        }
        Ok(options)
    }
}
