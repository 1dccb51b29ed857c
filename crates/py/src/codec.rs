//! Page compressors.

use std::sync::Mutex;

use pyo3::prelude::*;
use ssdlab_codec::CodecSpec;

use crate::errors::{ConfigError, SimulationError, detached};
use crate::source::exclusive;

/// A page compressor with contexts of its own.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Codec {
    spec: CodecSpec,
    inner: Mutex<Box<dyn ssdlab_codec::Codec>>,
}

/// Pages that were compressed, to be restored.
#[pyclass(module = "ssdlab._ssdlab", frozen)]
pub struct CompressedPages {
    page_bytes: usize,
    /// `None` for each page that did not shrink enough.
    pages: Vec<Option<Vec<u8>>>,
}

#[pymethods]
impl Codec {
    #[new]
    fn new(spec: &str) -> PyResult<Self> {
        let spec: CodecSpec = spec.parse().map_err(|error| ConfigError::new_err(format!("{error}")))?;
        let inner = spec.build().map_err(|error| SimulationError::new_err(format!("{spec}: {error}")))?;
        Ok(Self { spec, inner: Mutex::new(inner) })
    }

    /// The specification in full.
    fn spec(&self) -> String {
        self.spec.to_string()
    }

    /// Ratio, compression and restoring in microseconds of a codec that only says so; None of a real one.
    fn modelled(&mut self) -> Option<(f64, f64, f64)> {
        exclusive(&mut self.inner).modelled().map(|costs| (costs.ratio, costs.compress_us, costs.decompress_us))
    }

    /// Compresses each page of `data` to at most `most_bytes`; what is less than a page at the end is left out.
    fn compress(
        &mut self,
        py: Python<'_>,
        data: &[u8],
        page_bytes: usize,
        most_bytes: usize,
    ) -> PyResult<CompressedPages> {
        let inner = exclusive(&mut self.inner);
        let pages = detached(py, None, || {
            let mut out = vec![0; most_bytes];
            let pages = data.chunks_exact(page_bytes);
            pages.map(|page| inner.compress(page, &mut out).map(|length| out[..length].to_vec())).collect()
        })?;
        Ok(CompressedPages { page_bytes, pages })
    }

    /// Restores every page that shrank.
    fn restore(&mut self, py: Python<'_>, compressed: &CompressedPages) -> PyResult<()> {
        let inner = exclusive(&mut self.inner);
        detached(py, None, || {
            let mut page = vec![0; compressed.page_bytes];
            compressed.pages.iter().flatten().try_for_each(|bytes| inner.decompress(bytes, &mut page))
        })?
        .map_err(|error| SimulationError::new_err(error.to_string()))
    }
}

#[pymethods]
impl CompressedPages {
    /// Bytes of each page; None for those that did not shrink enough.
    fn lengths(&self) -> Vec<Option<usize>> {
        self.pages.iter().map(|page| page.as_ref().map(Vec::len)).collect()
    }
}
