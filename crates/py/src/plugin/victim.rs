//! Victim policies written in Python.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ssdlab_core::{Archive, Archived, BlockId};
use ssdlab_ftl::blocks::PlaneView;
use ssdlab_ftl::gc::{VICTIMS, VictimInfo, VictimPolicy};

use super::{Entry, Registered, Running, or_unwind};

/// Value of `valid` for a block that is not closed: larger than that of any closed block.
const NOT_CLOSED: i64 = 1 << 31;

/// Maximum number of successive victims without an invalid page, per block of the plane. Above it, the policy counts as
/// stuck. Page mapping itself gives up a little later, but as if it had found a bug.
const PATIENCE: u64 = 64;

/// Function that computes an argument of `choose`. Blocks are numbered within their plane.
#[derive(Clone, Copy)]
enum Argument {
    /// Array with one number per block.
    Array(fn(PlaneView<'_>, &mut [i64])),
    Number(fn(PlaneView<'_>, u64) -> i64),
}

/// All arguments that `choose` may take, by name.
const ARGUMENTS: [(&str, Argument); 7] = [
    (
        "valid",
        Argument::Array(|plane, out| put(out, plane.valid_counts().map(|valid| valid.map_or(NOT_CLOSED, i64::from)))),
    ),
    ("closed_at", Argument::Array(|plane, out| put(out, plane.closing_times().iter().map(|&time| time as i64)))),
    ("erases", Argument::Array(|plane, out| put(out, plane.erase_counts().iter().map(|&erases| erases.into())))),
    ("least_valid", Argument::Number(|plane, _| number(plane, plane.least_valid()))),
    ("oldest", Argument::Number(|plane, _| number(plane, plane.oldest_first().next()))),
    ("now", Argument::Number(|_, now| now as i64)),
    ("pages_per_block", Argument::Number(|plane, _| plane.pages_per_block().into())),
];

fn put(out: &mut [i64], values: impl Iterator<Item = i64>) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = value);
}

/// Returns the number of a block within its plane; -1 for no block, which does not occur when a policy is asked.
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
    arguments: Vec<(Argument, Option<Array>)>,
    /// Number of successive victims without an invalid page.
    idle: u64,
}

/// An array that is filled before each call, and the read-only view of it that the policy gets.
struct Array {
    filled: Py<PyArray1<i64>>,
    view: Py<PyAny>,
}

impl Array {
    fn new(py: Python<'_>, blocks: usize) -> PyResult<Self> {
        let filled = PyArray1::zeros(py, blocks, false);
        let view = filled.call_method0("view")?;
        view.call_method1("setflags", (false,))?;
        Ok(Self { filled: filled.unbind(), view: view.unbind() })
    }
}

impl Victim {
    fn new(entry: &Entry, seed: u64) -> Self {
        let running = Running::new(entry, seed);
        let (choose, names) = or_unwind(Python::attach(|py| {
            let names: Vec<String> = running.inner.getattr(py, "arguments")?.extract(py)?;
            Ok((running.plugin.getattr(py, "choose")?, names))
        }));
        let named = |name: &String| ARGUMENTS.iter().find(|(known, _)| known == name);
        let arguments = names.iter().filter_map(named).map(|&(_, argument)| (argument, None)).collect();
        Self { running, choose, arguments, idle: 0 }
    }

    fn ask(&mut self, py: Python<'_>, plane: PlaneView<'_>, now: u64) -> PyResult<BlockId> {
        let Self { running, choose, arguments, idle } = self;
        let blocks = plane.blocks();
        let mut value = |(argument, array): &mut (Argument, Option<Array>)| match *argument {
            Argument::Number(get) => Ok(get(plane, now).into_pyobject(py)?.into_any()),
            Argument::Array(fill) => {
                let Array { filled, view } = match array {
                    Some(array) => array,
                    None => array.insert(Array::new(py, blocks.len())?),
                };
                fill(plane, filled.bind(py).try_readwrite()?.as_slice_mut()?);
                Ok(view.bind(py).clone())
            }
        };
        let values = || PyTuple::new(py, arguments.iter_mut().map(&mut value).collect::<PyResult<Vec<_>>>()?);
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

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Err(std::io::Error::other("the state of a plug-in written in Python cannot be saved"))
    }
}
