//! Placement policies written in Python.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ssdlab::placement::{self, ByPage, Placement, PlacementRules, WriteContext};
use ssdlab_core::{Archive, Archived, Lpn, Settings};

use super::{Entry, Registered, Running, leaked, or_unwind};

pub(super) fn register(entry: &'static Entry) -> Registered {
    let open_blocks = leaked(|_: &Settings| or_unwind(|py| entry.attribute(py, "open_blocks")));
    let build = leaked(|_: &Settings, logical_pages: u32| -> Box<dyn Placement> {
        Box::new(PythonPlacement::new(entry, logical_pages))
    });
    let role = PlacementRules { own_gc_block: false, by_page: Some(ByPage { open_blocks, build }) };
    placement::register(entry.info(role))
}

/// Function that returns an argument of the method `written`, given the logical page, the context of the write and the
/// number of pages that the host has written.
type Argument = for<'py> fn(&PythonPlacement, Python<'py>, u32, WriteContext, u64) -> PyResult<Bound<'py, PyAny>>;

/// Returns the argument with the given name; `ssdlab.plugin.Placement` lists all names.
fn argument(name: &str) -> Argument {
    match name {
        "lpn" => |_, py, lpn, _, _| lpn.into_bound_py_any(py),
        "now" => |_, py, _, _, now| now.into_bound_py_any(py),
        // Number of pages that the host has written since it last wrote this page; None if it never wrote the page.
        AGE => |placement, py, lpn, _, now| {
            let last = placement.last_written[lpn as usize];
            (last > 0).then(|| now + 1 - last).into_bound_py_any(py)
        },
        // True if the page follows the page that the host wrote last.
        "sequential" => |placement, py, lpn, _, _| (lpn == placement.following).into_bound_py_any(py),
        "request_pages" => |_, py, _, context, _| context.request_pages.max(1).into_bound_py_any(py),
        "stream" => |_, py, _, context, _| context.stream.into_bound_py_any(py),
        _ => |_, py, _, context, _| context.sync.into_bound_py_any(py),
    }
}

/// Name of the argument that requires the times of the last writes.
const AGE: &str = "age";

struct PythonPlacement {
    running: Running,
    written: Py<PyAny>,
    relocated: Py<PyAny>,
    arguments: Vec<Argument>,
    open_blocks: u8,
    /// For each page, the total number of page writes by the host up to the last write of this page; 0 for unwritten
    /// pages. Empty unless the argument [`AGE`] is requested.
    last_written: Vec<u64>,
    /// Logical page that follows the one that the host wrote last.
    following: u32,
}

impl PythonPlacement {
    fn new(entry: &Entry, logical_pages: u32) -> Self {
        or_unwind(|py| {
            let running = Running::start(py, entry, 0)?;
            let names = running.argument_names(py)?;
            let arguments = names.iter().map(|name| argument(name)).collect();
            let aged = if names.iter().any(|name| name == AGE) { logical_pages as usize } else { 0 };
            let (written, relocated) =
                (running.plugin.getattr(py, "written")?, running.plugin.getattr(py, "relocated")?);
            let open_blocks = entry.attribute(py, "open_blocks")?;
            Ok(Self { running, written, relocated, arguments, open_blocks, last_written: vec![0; aged], following: 0 })
        })
    }

    fn written(&self, py: Python<'_>, lpn: u32, context: WriteContext, now: u64) -> PyResult<u8> {
        let value = |argument: &Argument| argument(self, py, lpn, context, now);
        let values = || PyTuple::new(py, self.arguments.iter().map(value).collect::<PyResult<Vec<_>>>()?);
        self.running.ask(py, &self.written, values, |answer| self.open_block(answer))
    }

    /// Converts a returned value to the number of an open block.
    fn open_block(&self, answer: &Bound<'_, PyAny>) -> Result<u8, String> {
        let number = answer.extract::<u8>().ok().filter(|&number| number < self.open_blocks);
        number.ok_or_else(|| {
            let last = self.open_blocks - 1;
            format!("which is not the number of an open block; return a whole number from 0 to {last}")
        })
    }
}

impl Placement for PythonPlacement {
    fn written(&mut self, lpn: Lpn, context: WriteContext, now: u64) -> u8 {
        let number = or_unwind(|py| Self::written(self, py, lpn.0, context, now));
        if let Some(last) = self.last_written.get_mut(lpn.index()) {
            *last = now + 1;
        }
        self.following = lpn.0 + 1;
        number
    }

    fn relocated(&mut self, lpn: Lpn, now: u64) -> u8 {
        or_unwind(|py| self.running.ask(py, &self.relocated, || Ok((lpn.0, now)), |answer| self.open_block(answer)))
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { running, written: _, relocated: _, arguments: _, open_blocks: _, last_written, following } = self;
        running.archive(archive)?;
        archive.array(last_written)?;
        archive.value(following)
    }
}
