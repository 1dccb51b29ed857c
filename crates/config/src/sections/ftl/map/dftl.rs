//! DFTL.

use crate::checker::{Checker, Read, Reader};
use crate::kind::Kind;
use crate::table::{Fallback, OptionSpec, U32};
use ssdlab_ftl::choice::MapChoice;
use ssdlab_ftl::map::DftlOptions;

pub(super) const DFTL: (&str, &str, Reader<MapChoice>) =
    ("dftl", "DFTL: in flash, single entries of it in RAM", |checker| Ok(MapChoice::Dftl(checker.dftl_options()?)));

/// Bytes of an entry in a translation page, as in the paper.
const DFTL_ENTRY_BYTES: u32 = 4;

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "ftl.page.map.dftl.cmt",
        kind: Kind::Count { min: 1, max: U32 },
        // 64 KB of 8 bytes each, as in the authors' simulator.
        fallback: Fallback::Value("8192"),
        help: "Entries of the cached mapping table, 8 bytes of RAM each.",
        example: "65536",
    },
    OptionSpec {
        key: "ftl.page.map.dftl.protected",
        kind: Kind::Percent { min: 0.0, max: 99.0 },
        // 6,552 of 8,192 in the authors' simulator.
        fallback: Fallback::Value("80%"),
        help: "Share of the entries that are protected at most: used again since they came in.",
        example: "50%",
    },
    OptionSpec {
        key: "ftl.page.map.dftl.batch",
        kind: Kind::Bool,
        fallback: Fallback::Value("true"),
        help: "Write all changed entries of a translation page back together.",
        example: "false",
    },
];

impl Checker<'_> {
    fn dftl_options(&mut self) -> Read<DftlOptions> {
        const CMT: &str = "ftl.page.map.dftl.cmt";
        let entries = self.small(CMT)?;
        let share = self.share("ftl.page.map.dftl.protected")?;
        let protected = (f64::from(entries) * share).round() as u32;
        Ok(DftlOptions {
            entries,
            protected: protected.min(entries - 1),
            batch: self.flag("ftl.page.map.dftl.batch")?,
            entry_bytes: DFTL_ENTRY_BYTES,
        })
    }
}
