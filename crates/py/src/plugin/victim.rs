//! Victim policies written in Python.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ssdlab_core::{Archive, Archived, BlockId};
use ssdlab_ftl::blocks::{PlaneView, Uses};
use ssdlab_ftl::gc::{VICTIMS, VictimPolicy};

use super::{Entry, Registered, Running, leaked, or_unwind};

/// Value of `valid` for a block that is not closed; larger than the number of valid pages in any closed block.
const NOT_CLOSED: i64 = 1 << 31;

/// Maximum number of successive victims that have no invalid page, as a multiple of the number of blocks in the plane.
/// Above this maximum, the run ends with an error about the policy. Without it, page mapping would stop slightly later
/// and report a bug in ssdlab.
const PATIENCE: u64 = 64;

/// Arguments that require the FTL to record data.
const INVALIDATED_AT: &str = "invalidated_at";
const OWNER: &str = "owner";

/// Argument of the method `choose` of a victim policy. Blocks are numbered within their plane.
#[derive(Clone, Copy)]
enum Argument {
    /// Array with one number per block.
    Numbers(Get),
    /// Array with one flag per block: true if the block is a closed block of map pages.
    HoldsMap,
    /// Array with one flag per page of each block: true if the page is valid.
    ValidPages,
    /// Number that may differ from call to call, such as the current time.
    Number(fn(PlaneView<'_>, u64) -> i64),
    PagesPerBlock,
}

impl Argument {
    /// Returns the argument with the given name; `ssdlab.plugin.VictimPolicy` lists all names.
    fn named(name: &str) -> Self {
        match name {
            "valid" => Self::Numbers(
                |plane, block| {
                    if plane.is_closed(block) { plane.valid(block).into() } else { NOT_CLOSED }
                },
            ),
            "closed_at" => Self::Numbers(|plane, block| plane.closed_at(block) as i64),
            INVALIDATED_AT => Self::Numbers(|plane, block| of_block(plane, block, plane.invalidation_times()) as i64),
            "erases" => Self::Numbers(|plane, block| of_block(plane, block, Some(plane.erase_counts())).into()),
            OWNER => Self::Numbers(|plane, block| of_block(plane, block, plane.owners()).into()),
            "holds_map" => Self::HoldsMap,
            "valid_pages" => Self::ValidPages,
            "least_valid" => Self::Number(|plane, _| number(plane, plane.least_valid())),
            "oldest" => Self::Number(|plane, _| number(plane, plane.oldest_first().next())),
            "now" => Self::Number(|_, now| now as i64),
            _ => Self::PagesPerBlock,
        }
    }

    /// Returns the function that computes an element of the array; None unless the argument has one number per block.
    fn numbers(self) -> Option<Get> {
        if let Self::Numbers(get) = self { Some(get) } else { None }
    }

    /// True if the argument is an array.
    fn is_array(self) -> bool {
        matches!(self, Self::Numbers(_) | Self::HoldsMap | Self::ValidPages)
    }
}

/// Returns the element of `values` for a block; `values` has one element per block of the plane. Returns the type's
/// default value if `values` is None.
fn of_block<T: Copy + Default>(plane: PlaneView<'_>, block: BlockId, values: Option<&[T]>) -> T {
    values.map_or_else(T::default, |values| values[(block.0 - plane.blocks().start) as usize])
}

/// Returns the number of a block within its plane. Returns -1 if `block` is None, which cannot be the case while a
/// policy chooses a victim.
fn number(plane: PlaneView<'_>, block: Option<BlockId>) -> i64 {
    block.map_or(-1, |block| (block.0 - plane.blocks().start).into())
}

/// Function that returns a numeric property of a block, such as its number of valid pages.
type Get = fn(PlaneView<'_>, BlockId) -> i64;

/// Arguments of the calls for one plane. The arrays are reused for all calls: before a call, only the elements of
/// changed blocks are updated.
#[derive(Default)]
struct Area {
    /// All arguments that have one number per block, as the rows of a single array. This is faster than one array per
    /// argument, because each access to an array takes time.
    numbers: Option<Py<PyArray1<i64>>>,
    rows: Vec<Get>,
    holds_map: Option<Py<PyArray1<bool>>>,
    valid_pages: Option<Py<PyArray1<bool>>>,
    values: Vec<Value>,
    /// All arguments as a tuple, reused for all calls; None if an argument may differ from call to call.
    unchanging: Option<Py<PyTuple>>,
}

/// Value of an argument.
enum Value {
    Unchanging(Py<PyAny>),
    Number(fn(PlaneView<'_>, u64) -> i64),
}

impl Area {
    fn new(py: Python<'_>, plane: PlaneView<'_>, arguments: &[Argument]) -> PyResult<Self> {
        let (blocks, pages) = (plane.blocks().len(), plane.pages_per_block());
        let rows = arguments.iter().filter_map(|argument| argument.numbers()).collect();
        let mut area = Self { rows, ..Self::default() };
        let numbers = PyArray1::<i64>::zeros(py, area.rows.len() * blocks, false);
        let mut rows = numbers.call_method1("reshape", (area.rows.len(), blocks))?.try_iter()?;
        for argument in arguments {
            let view = match *argument {
                Argument::Number(get) => {
                    area.values.push(Value::Number(get));
                    continue;
                }
                Argument::PagesPerBlock => pages.into_pyobject(py)?.into_any(),
                Argument::Numbers(_) => read_only(rows.next().expect("there is one row per array argument")?)?,
                Argument::HoldsMap => {
                    let array = PyArray1::<bool>::zeros(py, blocks, false);
                    area.holds_map = Some(array.clone().unbind());
                    read_only(array.call_method0("view")?)?
                }
                Argument::ValidPages => {
                    let array = PyArray1::<bool>::zeros(py, blocks * pages as usize, false);
                    area.valid_pages = Some(array.clone().unbind());
                    read_only(array.call_method1("reshape", (blocks, pages))?)?
                }
            };
            area.values.push(Value::Unchanging(view.unbind()));
        }
        area.numbers = (!area.rows.is_empty()).then(|| numbers.unbind());
        if arguments.iter().all(|argument| !matches!(argument, Argument::Number(_))) {
            area.unchanging = Some(area.arguments(py, plane, 0)?.unbind());
        }
        area.update(py, plane, &plane.blocks().collect::<Vec<_>>())?;
        Ok(area)
    }

    /// Updates the elements of the given blocks.
    fn update(&self, py: Python<'_>, plane: PlaneView<'_>, blocks: &[u32]) -> PyResult<()> {
        let (first, pages) = (plane.blocks().start, plane.pages_per_block());
        if let Some(numbers) = &self.numbers {
            let mut numbers = numbers.bind(py).try_readwrite()?;
            let rows = numbers.as_slice_mut()?.chunks_exact_mut(plane.blocks().len());
            for (row, get) in rows.zip(&self.rows) {
                blocks.iter().for_each(|&block| row[(block - first) as usize] = get(plane, BlockId(block)));
            }
        }
        if let Some(holds_map) = &self.holds_map {
            let mut flags = holds_map.bind(py).try_readwrite()?;
            let flags = flags.as_slice_mut()?;
            blocks.iter().for_each(|&block| flags[(block - first) as usize] = plane.holds_map(BlockId(block)));
        }
        if let Some(valid_pages) = &self.valid_pages {
            let mut flags = valid_pages.bind(py).try_readwrite()?;
            let flags = flags.as_slice_mut()?;
            for &block in blocks {
                let row = &mut flags[((block - first) * pages) as usize..][..pages as usize];
                for (first, row) in (0..pages).step_by(64).zip(row.chunks_mut(64)) {
                    let bits = plane.valid_among(BlockId(block), first, row.len() as u32);
                    row.iter_mut().enumerate().for_each(|(page, flag)| *flag = bits >> page & 1 == 1);
                }
            }
        }
        Ok(())
    }

    /// Returns the arguments of a call.
    fn arguments<'py>(&self, py: Python<'py>, plane: PlaneView<'_>, now: u64) -> PyResult<Bound<'py, PyTuple>> {
        if let Some(unchanging) = &self.unchanging {
            return Ok(unchanging.bind(py).clone());
        }
        let value = |value: &Value| match value {
            Value::Unchanging(value) => Ok(value.bind(py).clone()),
            Value::Number(get) => Ok(get(plane, now).into_pyobject(py)?.into_any()),
        };
        PyTuple::new(py, self.values.iter().map(value).collect::<PyResult<Vec<_>>>()?)
    }
}

/// Returns an array that Python code cannot change.
fn read_only(view: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    view.call_method1("setflags", (false,))?;
    Ok(view)
}

pub(super) fn register(entry: &'static Entry) -> Registered {
    let build = leaked(|_: &_, seed| -> Box<dyn VictimPolicy> { Box::new(Victim::new(entry, seed)) });
    VICTIMS.register(entry.info(build))
}

struct Victim {
    running: Running,
    choose: Py<PyAny>,
    arguments: Vec<Argument>,
    /// Arguments by plane, for planes in which the policy has chosen a block.
    areas: BTreeMap<usize, Area>,
    uses: Uses,
    /// Number of successive victims that had no invalid page.
    idle: u64,
}

impl Victim {
    fn new(entry: &Entry, seed: u64) -> Self {
        let (running, choose, names) = or_unwind(|py| {
            let running = Running::start(py, entry, seed)?;
            let (choose, names) = (running.plugin.getattr(py, "choose")?, running.argument_names(py)?);
            Ok((running, choose, names))
        });
        let arguments: Vec<Argument> = names.iter().map(|name| Argument::named(name)).collect();
        let has = |wanted| names.iter().any(|name| name == wanted);
        let changes = arguments.iter().any(|argument| argument.is_array());
        let uses = Uses { invalidation_times: has(INVALIDATED_AT), owners: has(OWNER), changes };
        Self { running, choose, arguments, areas: BTreeMap::new(), uses, idle: 0 }
    }

    fn ask(&mut self, py: Python<'_>, plane: PlaneView<'_>, now: u64) -> PyResult<BlockId> {
        let Self { running, choose, arguments, areas, idle, .. } = self;
        let blocks = plane.blocks();
        let values = || {
            let area = match areas.entry(plane.number()) {
                Occupied(entry) => {
                    let area = entry.into_mut();
                    area.update(py, plane, plane.changes().unwrap_or_default())?;
                    area
                }
                Vacant(entry) => entry.insert(Area::new(py, plane, arguments)?),
            };
            area.arguments(py, plane, now)
        };
        running.ask(py, choose, values, |answer| {
            let number = answer.extract::<u32>().ok().filter(|&number| number < blocks.len() as u32);
            let number = number.ok_or_else(|| {
                format!("which is not the number of a block; return a whole number from 0 to {}", blocks.len() - 1)
            })?;
            let block = BlockId(blocks.start + number);
            if !plane.is_closed(block) {
                return Err(
                    "a block that is not closed; return a closed block, which has valid <= pages_per_block".into()
                );
            }
            let gains = plane.valid(block) < plane.pages_per_block();
            *idle = if gains { 0 } else { *idle + 1 };
            if *idle > PATIENCE * blocks.len() as u64 {
                return Err(
                    "yet another block without an invalid page, so no page becomes free; return a block with an \
                     invalid page"
                        .into(),
                );
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
        Some(or_unwind(|py| self.ask(py, plane, now)))
    }

    fn uses(&self) -> Uses {
        self.uses
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.running.archive(archive)
    }
}
