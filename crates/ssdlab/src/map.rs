//! Map models determine which map pages are read and written to look up or update the map entry of a page.
//!
//! A [`MapModel`] is a cost model: it determines which map pages a controller would have to read and write for a page.
//! Page mapping keeps its own complete map, and therefore a faulty model cannot lose data.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/map.rs"))]
//! ```

use ssdlab_ftl::choice::MAPS;
pub use ssdlab_ftl::map::{CachedEntries, Lookup, MapInfo, MapModel, MapRules};
pub use ssdlab_ftl::page::{PageFtl, PageOptions};
pub use ssdlab_ftl::{DynFtl, Problem, Shape};

use crate::NameTaken;

/// Adds a map model to ssdlab; fails if another map model has the same name.
pub fn register(info: &'static MapInfo) -> Result<(), NameTaken> {
    MAPS.register(info)
}
