//! Python binding that measures the costs of map caches of many sizes on a trace.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_advice::{MapSizes, SegmentAdvice};
use ssdlab_trace::Packing;

use crate::address_space::AddressSpace;
use crate::columns::array;
use crate::config::Config;
use crate::errors::{ConfigError, OrRaise, detached};
use crate::quantity::size;
use crate::requests::Requests;

/// Processes the requests of a trace and computes the costs of map caches of several sizes.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct MapAdvisor {
    inner: ssdlab_advice::MapAdvisor,
    sizes: MapSizes,
    page_bytes: u32,
    logical_pages: u32,
    packing: Option<Packing>,
}

/// Parses a size such as `"4KiB"` and returns bytes; fails for 4 GiB or more, because no page is that large.
fn small(text: &str) -> PyResult<u32> {
    u32::try_from(size(text)?)
        .map_err(|_| ConfigError::new_err(format!("{text} is too large for a page; use less than 4GiB")))
}

fn ascending<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

#[pymethods]
impl MapAdvisor {
    /// Starts a pass over a trace for the device of `config`. Sizes are strings such as `"64KiB"`. By default, uses the
    /// sizes from the map-cache document (slides) that suit the page size. `space` is the address space of the trace,
    /// if `config.needs_extent()`.
    #[new]
    #[pyo3(signature = (config, entry, caches=None, segments=None, space=None))]
    fn new(
        config: &Config,
        entry: &str,
        caches: Option<Vec<String>>,
        segments: Option<Vec<String>>,
        space: Option<&AddressSpace>,
    ) -> PyResult<Self> {
        let space = space.map(AddressSpace::known);
        let settings = config.inner.settings(space.as_ref().map(|space| space.end_bytes)).or_raise()?;
        let (setup, page_bytes) = (&settings.setup, settings.setup.geometry.page_bytes);
        let mut sizes = MapSizes::usual(page_bytes, small(entry)?);
        if let Some(segments) = segments {
            sizes.segment_bytes = ascending(segments.iter().map(|text| small(text)).collect::<PyResult<_>>()?);
            sizes.cache_bytes = MapSizes::usual_caches(&sizes.segment_bytes);
        }
        if let Some(caches) = caches {
            sizes.cache_bytes = ascending(caches.iter().map(|text| size(text)).collect::<PyResult<_>>()?);
        }
        let inner = ssdlab_advice::MapAdvisor::new(setup, &sizes).or_raise()?;
        let packing = space.and_then(|space| space.packing);
        Ok(Self { inner, sizes, page_bytes, logical_pages: setup.logical_pages, packing })
    }

    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        let add = || match &self.packing {
            Some(packing) => {
                let packed: Result<Vec<_>, _> =
                    requests.inner.iter().filter_map(|request| packing.pack(request).transpose()).collect();
                self.inner.add(&packed?)
            }
            None => self.inner.add(&requests.inner),
        };
        detached(py, None, add)?.or_raise()
    }

    /// Returns the size of a page in bytes, the size of a map entry in bytes, and the number of pages of the device.
    fn device(&self) -> (u32, u32, u32) {
        (self.page_bytes, self.sizes.entry_bytes, self.logical_pages)
    }

    fn caches(&self) -> Vec<u64> {
        self.sizes.cache_bytes.clone()
    }

    /// Returns the results by name. `requests` is the number of requests. `host_ns` and `host_read_ns` are the total
    /// times of all requests and of all reads if the whole map were in RAM. `segments` has an entry for each segment
    /// size, in ascending order. An entry holds scalars, the arrays `write_backs` and `busy_ns` with one element per
    /// cache, and columns with one row for each number of cached segments.
    fn advice<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let advice = detached(py, None, || self.inner.advice())?;
        let dict = PyDict::new(py);
        dict.set_item("requests", advice.requests)?;
        dict.set_item("host_ns", advice.host_ns)?;
        dict.set_item("host_read_ns", advice.host_read_ns)?;
        let segments = advice.segments.into_iter().map(|segment| columns(py, segment)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item("segments", segments)?;
        Ok(dict)
    }
}

fn columns(py: Python<'_>, found: SegmentAdvice) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("segment_bytes", found.segment_bytes)?;
    dict.set_item("count", found.count)?;
    dict.set_item("read_look_ups", found.look_ups.reads)?;
    dict.set_item("change_look_ups", found.look_ups.changes)?;
    dict.set_item("first_reads", found.first.reads)?;
    dict.set_item("first_changes", found.first.changes)?;
    dict.set_item("least_busy_ns", found.least_busy_ns)?;
    dict.set_item("read_hits", array(py, found.read_hits)?)?;
    dict.set_item("change_hits", array(py, found.change_hits)?)?;
    dict.set_item("write_backs", array(py, found.write_backs)?)?;
    dict.set_item("busy_ns", array(py, found.busy_ns)?)?;
    dict.set_item("most_busy_ns", array(py, found.most_busy_ns)?)?;
    dict.set_item("read_busy_ns", array(py, found.read_busy_ns)?)?;
    Ok(dict)
}
