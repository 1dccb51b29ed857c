//! Finds the extent of a trace, or the set of pages that it uses; some settings depend on these.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ssdlab_trace::{Op, Packing, UsedPages};

use crate::config::Config;
use crate::errors::detached;
use crate::requests::Requests;

/// Extent of a trace, found in one pass; with `host.fit = "compact"` also the pages that the trace uses.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct AddressSpace {
    inner: Mutex<Seen>,
}

/// Addresses in the part of the trace read so far.
enum Seen {
    /// First byte past the last address of the requests so far.
    Extent(u64),
    /// Pages that the requests so far have touched.
    Pages(UsedPages),
}

/// Address space of a whole trace.
pub struct Space {
    /// First byte past the last address of the trace; with a packing, past the last compacted address.
    pub end_bytes: u64,
    /// Map from the trace's addresses to compacted addresses; None unless `host.fit = "compact"`.
    pub packing: Option<Packing>,
}

impl AddressSpace {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the address space after the whole trace has been added.
    pub fn known(&self) -> Space {
        match &*self.seen() {
            Seen::Extent(bytes) => Space { end_bytes: *bytes, packing: None },
            Seen::Pages(used) => {
                let packing = used.clone().pack();
                Space { end_bytes: packing.end_bytes(), packing: Some(packing) }
            }
        }
    }
}

#[pymethods]
impl AddressSpace {
    /// Starts a pass over a trace. `config` determines whether addresses are compacted.
    #[new]
    fn new(config: &Config) -> Self {
        let page_bytes = config.inner.packed_page_bytes();
        let seen = page_bytes.map_or(Seen::Extent(0), |bytes| Seen::Pages(UsedPages::new(bytes)));
        Self { inner: Mutex::new(seen) }
    }

    /// True if addresses are compacted (`host.fit = "compact"`) and the trace uses no pages.
    fn is_empty(&self) -> bool {
        match &*self.seen() {
            Seen::Extent(_) => false,
            Seen::Pages(used) => used.is_empty(),
        }
    }

    /// Updates the end of the address space, or the set of used pages, with the next requests of the trace.
    fn add(&self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        detached(py, None, || match &mut *self.seen() {
            Seen::Extent(bytes) => {
                let addressed = requests.inner.iter().filter(|request| request.op != Op::Flush);
                let ends = addressed.map(|request| request.offset.saturating_add(request.bytes.into()));
                *bytes = ends.fold(*bytes, u64::max);
            }
            Seen::Pages(used) => used.add(&requests.inner),
        })
    }
}
