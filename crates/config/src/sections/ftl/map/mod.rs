//! Where the map of page mapping is; a file for each map in flash.

mod dftl;
mod segments;

use crate::checker::Reader;
use crate::kind::Choices;
use crate::table::{Fallback, OptionSpec};
use ssdlab_ftl::choice::MapChoice;

pub(super) static MAPS: Choices<Reader<MapChoice>, 3> =
    Choices::new([("ram", "in RAM, all of it", |_| Ok(MapChoice::Ram)), segments::SEGMENTS, dftl::DFTL]);

pub(super) fn options() -> Vec<OptionSpec> {
    [&[MAP], &*segments::options(), dftl::OPTIONS].concat()
}

const MAP: OptionSpec = OptionSpec {
    key: "ftl.page.map",
    kind: MAPS.kind(),
    fallback: Fallback::Value("ram"),
    help: "Where the map is.",
    example: "segments",
};
