//! Victim policies written in Python.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ssdlab_core::{Archive, Archived, BlockId};
use ssdlab_ftl::blocks::PlaneView;
use ssdlab_ftl::gc::{VICTIMS, VictimInfo, VictimPolicy};

use super::{Entry, Registered, Running, or_unwind};

/// Value of `valid` for a block that is not closed; larger than the number of valid pages in any closed block.
const NOT_CLOSED: i64 = 1 << 31;

/// Maximum number of successive victims without an invalid page, per block of the plane. Above it, the run ends with
/// an error about the policy. Page mapping itself would stop slightly later, and report a bug in ssdlab.
const PATIENCE: u64 = 64;

/// An argument of `choose`. Blocks are numbered within their plane.
enum Argument {
    /// Array with one number per block, and the function that fills it.
    Numbers(fn(PlaneView<'_>, &mut [i64]), Option<Array<i64>>),
    Number(fn(PlaneView<'_>, u64) -> i64),
    /// Array with one flag per page of each block: true if the page is valid.
    ValidPages(Option<Array<bool>>),
}

/// Name of the argument for which the FTL must record invalidation times.
const INVALIDATED_AT: &str = "invalidated_at";

impl Argument {
    /// Returns the argument with the given name; `ssdlab.plugin.VictimPolicy` lists all names.
    fn named(name: &str) -> Self {
        let array = |fill| Self::Numbers(fill, None);
        match name {
            "valid" => array(|plane, out| {
                put(out, plane.valid_counts().map(|valid| valid.map_or(NOT_CLOSED, i64::from)));
            }),
            "closed_at" => array(|plane, out| put(out, plane.closing_times().iter().map(|&time| time as i64))),
            INVALIDATED_AT => array(|plane, out| {
                put(out, plane.invalidation_times().into_iter().flatten().map(|&time| time as i64));
            }),
            "erases" => array(|plane, out| put(out, plane.erase_counts().iter().map(|&erases| erases.into()))),
            "valid_pages" => Self::ValidPages(None),
            "least_valid" => Self::Number(|plane, _| number(plane, plane.least_valid())),
            "oldest" => Self::Number(|plane, _| number(plane, plane.oldest_first().next())),
            "now" => Self::Number(|_, now| now as i64),
            _ => Self::Number(|plane, _| plane.pages_per_block().into()),
        }
    }

    fn value<'py>(&mut self, py: Python<'py>, plane: PlaneView<'_>, now: u64) -> PyResult<Bound<'py, PyAny>> {
        let blocks = plane.blocks().len();
        match self {
            Self::Number(get) => Ok(get(plane, now).into_pyobject(py)?.into_any()),
            Self::Numbers(fill, array) => Array::of(array, py, &[blocks])?.filled(py, |out| fill(plane, out)),
            Self::ValidPages(array) => {
                let array = Array::of(array, py, &[blocks, plane.pages_per_block() as usize])?;
                array.filled(py, |out| put_valid_pages(plane, out))
            }
        }
    }
}

fn put(out: &mut [i64], values: impl Iterator<Item = i64>) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = value);
}

/// Fills in a flag per page of each block of the plane.
fn put_valid_pages(plane: PlaneView<'_>, out: &mut [bool]) {
    let pages = plane.pages_per_block();
    for (block, out) in plane.blocks().zip(out.chunks_exact_mut(pages as usize)) {
        for (first, out) in (0..pages).step_by(64).zip(out.chunks_mut(64)) {
            let bits = plane.valid_among(BlockId(block), first, out.len() as u32);
            out.iter_mut().enumerate().for_each(|(page, out)| *out = bits >> page & 1 == 1);
        }
    }
}

/// Returns the number of a block within its plane; -1 for no block, which never occurs while a policy chooses.
fn number(plane: PlaneView<'_>, block: Option<BlockId>) -> i64 {
    block.map_or(-1, |block| (block.0 - plane.blocks().start).into())
}

pub(super) fn register(entry: Entry) -> Registered {
    let (name, help) = (entry.name, entry.help);
    let role = Box::leak(Box::new(move |_: &_, seed| -> Box<dyn VictimPolicy> { Box::new(Victim::new(&entry, seed)) }));
    VICTIMS.register(Box::leak(Box::new(VictimInfo { name, help, source: "", parameters: &[], role })))
}

struct Victim {
    running: Running,
    choose: Py<PyAny>,
    arguments: Vec<Argument>,
    uses_invalidation_times: bool,
    /// Number of successive victims without an invalid page.
    idle: u64,
}

/// An array that is filled before each call, and a read-only view of the array for the policy.
struct Array<T> {
    numbers: Py<PyArray1<T>>,
    view: Py<PyAny>,
}

impl<T: Element> Array<T> {
    /// Returns the array; the first call creates it with the given dimensions.
    fn of<'a>(array: &'a mut Option<Self>, py: Python<'_>, dimensions: &[usize]) -> PyResult<&'a Self> {
        if array.is_none() {
            let numbers = PyArray1::<T>::zeros(py, dimensions.iter().product::<usize>(), false);
            let view = numbers.call_method1("reshape", (dimensions,))?;
            view.call_method1("setflags", (false,))?;
            *array = Some(Self { numbers: numbers.unbind(), view: view.unbind() });
        }
        Ok(array.as_ref().expect("created above"))
    }

    /// Fills the array and returns the view.
    fn filled<'py>(&self, py: Python<'py>, fill: impl FnOnce(&mut [T])) -> PyResult<Bound<'py, PyAny>> {
        fill(self.numbers.bind(py).try_readwrite()?.as_slice_mut()?);
        Ok(self.view.bind(py).clone())
    }
}

impl Victim {
    fn new(entry: &Entry, seed: u64) -> Self {
        let running = Running::new(entry, seed);
        let (choose, names) = or_unwind(Python::attach(|py| {
            let names: Vec<String> = running.inner.getattr(py, "arguments")?.extract(py)?;
            Ok((running.plugin.getattr(py, "choose")?, names))
        }));
        let arguments = names.iter().map(|name| Argument::named(name)).collect();
        let uses_invalidation_times = names.iter().any(|name| name == INVALIDATED_AT);
        Self { running, choose, arguments, uses_invalidation_times, idle: 0 }
    }

    fn ask(&mut self, py: Python<'_>, plane: PlaneView<'_>, now: u64) -> PyResult<BlockId> {
        let Self { running, choose, arguments, idle, .. } = self;
        let blocks = plane.blocks();
        let value = |argument: &mut Argument| argument.value(py, plane, now);
        let values = || PyTuple::new(py, arguments.iter_mut().map(value).collect::<PyResult<Vec<_>>>()?);
        running.ask(py, choose, values, |answer| {
            let number = answer.extract::<u32>().ok().filter(|&number| number < blocks.len() as u32);
            let number = number.ok_or_else(|| {
                format!("which is not the number of a block; return a whole number from 0 to {}", blocks.len() - 1)
            })?;
            let block = BlockId(blocks.start + number);
            if !plane.is_closed(block) {
                return Err("a block that is not closed; return a block whose number of valid pages is at most \
                            pages_per_block"
                    .into());
            }
            let gains = plane.valid(block) < plane.pages_per_block();
            *idle = if gains { 0 } else { *idle + 1 };
            if *idle > PATIENCE * blocks.len() as u64 {
                return Err("again a block whose pages are all valid, which frees no page; return a block with an \
                            invalid page"
                    .into());
            }
            Ok(block)
        })
    }
}

impl VictimPolicy for Victim {
    fn choose(&mut self, plane: PlaneView<'_>, now: u64) -> Option<BlockId> {
        if plane.closed() == 0 {
            return None;
        }
        Some(or_unwind(Python::attach(|py| self.ask(py, plane, now))))
    }

    fn uses_invalidation_times(&self) -> bool {
        self.uses_invalidation_times
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.running.archive(archive)
    }
}
