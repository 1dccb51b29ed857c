//! FTLs written in Python. They call the operations of a [`Flash`], which checks each operation immediately. When the
//! FTL's call ends, the operations go to the simulated flash in order.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ssdlab_core::{Archive, Archived, BlockId, Lpn, Ppn};
use ssdlab_ftl::choice::LOG_FTLS;
use ssdlab_ftl::log::LogRules;
use ssdlab_ftl::{DynFtl, Ftl, Shape, WriteContext};
use ssdlab_nand::{Cause, FlashSink, Role, Source, SpareArea};

use super::{Entry, Registered, Running, leaked, or_unwind};

pub(super) fn register(entry: &'static Entry, reserve_blocks: u32) -> Registered {
    let build = |shape: Shape, _, _: &_| -> Result<Box<dyn DynFtl>, String> {
        if shape.program_unit > 1 {
            return Err(format!("{} programs single pages; set device.unit to the size of a flash page", entry.name));
        }
        Ok(Box::new(PythonFtl::new(entry, shape)))
    };
    let role = LogRules {
        reserve_blocks,
        has_log: false,
        least_log_blocks: |_| 0,
        check: |_, _| Ok(()),
        build: Some(leaked(build)),
    };
    LOG_FTLS.register(entry.info(role))
}

/// The flash operations of an FTL in Python. Breaking a rule of the flash, or losing data, raises an exception.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Flash {
    /// Number of blocks.
    #[pyo3(get)]
    blocks: u32,
    #[pyo3(get)]
    pages_per_block: u32,
    state: Mutex<State>,
}

/// Contents of a flash page: a version of a logical page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Held {
    lpn: u32,
    version: u32,
}

enum Operation {
    Read(u32),
    Program(u32, u32),
    Copy(u32, u32, u32),
    Erase(u32),
}

struct State {
    pages: Vec<Option<Held>>,
    /// Number of programmed pages of each block.
    programmed: Vec<u32>,
    /// Newest version number of each logical page; 0 if the page was never written or has been trimmed.
    newest: Vec<u32>,
    /// For each logical page, the number of versions so far.
    versions: Vec<u32>,
    /// For each logical page: one flash page that holds its newest version, and the number of flash pages that hold it.
    places: Vec<(u32, u32)>,
    /// Logical page that the host is writing.
    writing: Option<u32>,
    /// Operations of the current call.
    operations: Vec<Operation>,
}

fn broken(message: impl Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

#[pymethods]
impl Flash {
    /// Reads a page, which must be programmed.
    fn read(&self, page: u32) -> PyResult<()> {
        let mut state = self.locked();
        state.held(page)?;
        state.operations.push(Operation::Read(page));
        Ok(())
    }

    /// Programs a flash page with the data of the logical page that the host is writing.
    fn program(&self, page: u32, lpn: u32) -> PyResult<()> {
        let mut state = self.locked();
        if state.writing != Some(lpn) {
            return Err(broken(format!(
                "program of page {page}: the host is not writing logical page {lpn}; use copy to move a page"
            )));
        }
        self.take(&mut state, page)?;
        // Only the first program of a host write creates a version; further programs store more copies of it.
        let is_new = !state.operations.iter().any(|operation| matches!(operation, Operation::Program(..)));
        let at = lpn as usize;
        if is_new {
            state.versions[at] += 1;
            state.newest[at] = state.versions[at];
            state.places[at] = (page, 0);
        }
        let version = state.newest[at];
        state.pages[page as usize] = Some(Held { lpn, version });
        state.places[at] = (page, state.places[at].1 + 1);
        state.operations.push(Operation::Program(page, lpn));
        Ok(())
    }

    /// Copies a programmed page to an erased page.
    fn copy(&self, source: u32, target: u32) -> PyResult<()> {
        let mut state = self.locked();
        let held = state.held(source)?;
        self.take(&mut state, target)?;
        state.pages[target as usize] = Some(held);
        if state.is_newest(held) {
            let at = held.lpn as usize;
            state.places[at] = (target, state.places[at].1 + 1);
        }
        state.operations.push(Operation::Copy(source, target, held.lpn));
        Ok(())
    }

    /// Erases a block. Fails if a page of the block is the only copy of a logical page.
    fn erase(&self, block: u32) -> PyResult<()> {
        let mut state = self.locked();
        if block >= self.blocks {
            return Err(broken(format!("erase of block {block}: the flash has blocks 0 to {}", self.blocks - 1)));
        }
        let pages = block * self.pages_per_block..(block + 1) * self.pages_per_block;
        for page in pages.clone() {
            let Some(held) = state.pages[page as usize].take() else { continue };
            if !state.is_newest(held) {
                continue;
            }
            let at = held.lpn as usize;
            state.places[at].1 -= 1;
            if state.places[at].1 == 0 && state.writing != Some(held.lpn) {
                return Err(broken(format!(
                    "erase of block {block}: page {page} is the only copy of logical page {}; copy it first",
                    held.lpn
                )));
            }
            if pages.contains(&state.places[at].0) {
                let others = state.pages.iter().position(|&other| other == Some(held));
                state.places[at].0 = others.map_or(u32::MAX, |page| page as u32);
            }
        }
        state.programmed[block as usize] = 0;
        state.operations.push(Operation::Erase(block));
        Ok(())
    }
}

impl Flash {
    fn new(shape: Shape) -> Self {
        let (pages, logical) = ((shape.blocks * shape.pages_per_block) as usize, shape.logical_pages as usize);
        let state = State {
            pages: vec![None; pages],
            programmed: vec![0; shape.blocks as usize],
            newest: vec![0; logical],
            versions: vec![0; logical],
            places: vec![(u32::MAX, 0); logical],
            writing: None,
            operations: Vec::new(),
        };
        Self { blocks: shape.blocks, pages_per_block: shape.pages_per_block, state: Mutex::new(state) }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a page as programmed. Fails unless it is the next page of its block.
    fn take(&self, state: &mut State, page: u32) -> PyResult<()> {
        let pages = state.pages.len();
        if page as usize >= pages {
            return Err(broken(format!("program of page {page}: the flash has pages 0 to {}", pages - 1)));
        }
        let block = page / self.pages_per_block;
        let programmed = state.programmed[block as usize];
        let next = block * self.pages_per_block + programmed;
        if page != next {
            let continues = match programmed == self.pages_per_block {
                true => format!("block {block} is full; erase it first"),
                false => format!("the next page of block {block} is {next}"),
            };
            return Err(broken(format!("program of page {page}: {continues}")));
        }
        state.programmed[block as usize] += 1;
        Ok(())
    }
}

impl State {
    fn held(&self, page: u32) -> PyResult<Held> {
        let held = self.pages.get(page as usize).copied().flatten();
        held.ok_or_else(|| broken(format!("read of page {page}: the page is not programmed")))
    }

    fn is_newest(&self, held: Held) -> bool {
        self.newest[held.lpn as usize] == held.version
    }

    /// Saves or loads the state between two calls.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { pages, programmed, newest, versions, places, writing: _, operations: _ } = self;
        let mut lpns: Vec<u32> = pages.iter().map(|held| held.map_or(u32::MAX, |held| held.lpn)).collect();
        let mut held_versions: Vec<u32> = pages.iter().map(|held| held.map_or(0, |held| held.version)).collect();
        let (mut pages_of_newest, mut copies): (Vec<u32>, Vec<u32>) = places.iter().copied().unzip();
        for numbers in [&mut lpns, &mut held_versions, &mut pages_of_newest, &mut copies, programmed, newest, versions]
        {
            archive.array(numbers)?;
        }
        let held = |(lpn, version)| (lpn != u32::MAX).then_some(Held { lpn, version });
        *pages = lpns.into_iter().zip(held_versions).map(held).collect();
        *places = pages_of_newest.into_iter().zip(copies).collect();
        Ok(())
    }

    /// Returns the flash page with the newest version of a logical page.
    fn place(&self, lpn: u32) -> Option<u32> {
        let at = lpn as usize;
        (self.newest[at] > 0).then_some(self.places[at].0)
    }
}

struct PythonFtl {
    running: Running,
    flash: Py<Flash>,
    write: Py<PyAny>,
    read: Py<PyAny>,
    trim: Py<PyAny>,
    sequence: u64,
    erases: Vec<u32>,
}

impl PythonFtl {
    fn new(entry: &Entry, shape: Shape) -> Self {
        or_unwind(|py| {
            let running = Running::start(py, entry, 0)?;
            let flash = Py::new(py, Flash::new(shape))?;
            running.plugin.setattr(py, "flash", &flash)?;
            running.plugin.setattr(py, "logical_pages", shape.logical_pages)?;
            running.ask(py, &running.plugin.getattr(py, "start")?, || Ok(()), |_| Ok(()))?;
            let method = |name| running.plugin.getattr(py, name);
            let (write, read, trim) = (method("write")?, method("read")?, method("trim")?);
            Ok(Self { running, flash, write, read, trim, sequence: 0, erases: vec![0; shape.blocks as usize] })
        })
    }

    /// Calls a method of the FTL for a logical page, then examines the state of the flash with `check`. An error of
    /// `check` is a message for the user.
    fn call(
        &self,
        py: Python<'_>,
        method: &Py<PyAny>,
        lpn: u32,
        check: impl FnOnce(&State) -> Result<(), String>,
    ) -> PyResult<()> {
        self.running.ask(py, method, || Ok((lpn,)), |_| check(&self.flash.get().locked()))
    }

    /// Sends the operations of the last call to the flash. `page` is the number of the page within the host's request.
    fn emit(&mut self, page: u32, read: Cause, sink: &mut (impl FlashSink + ?Sized)) {
        let mut state = self.flash.get().locked();
        for operation in state.operations.drain(..) {
            self.sequence += 1;
            let spare = |lpn| SpareArea { lpn: Lpn(lpn), sequence: self.sequence, role: Role::Data };
            match operation {
                Operation::Read(page) => sink.read(Ppn(page), read),
                Operation::Program(to, lpn) => sink.program(Ppn(to), spare(lpn), Source::Host(page), Cause::Host),
                Operation::Copy(from, to, lpn) => sink.copy(Ppn(from), Ppn(to), spare(lpn), Cause::Gc),
                Operation::Erase(block) => {
                    sink.barrier();
                    sink.erase(BlockId(block), Cause::Gc);
                    self.erases[block as usize] += 1;
                }
            }
        }
    }
}

impl Ftl for PythonFtl {
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        or_unwind(|py| {
            for page in 0..count {
                let lpn = lpn.0 + page;
                self.flash.get().locked().writing = Some(lpn);
                let is_program = |operation: &Operation| matches!(operation, Operation::Program(..));
                let programmed = |state: &State| match state.operations.iter().any(is_program) {
                    true => Ok(()),
                    false => Err(format!("without programming logical page {lpn}; call self.flash.program")),
                };
                self.call(py, &self.write, lpn, programmed)?;
                self.flash.get().locked().writing = None;
                self.emit(page, Cause::Gc, sink);
            }
            Ok(())
        });
    }

    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let mut unmapped = 0;
        or_unwind(|py| {
            for lpn in lpn.0..lpn.0 + count {
                self.call(py, &self.read, lpn, |state| {
                    let Some(place) = state.place(lpn) else {
                        unmapped += 1;
                        return match state.operations.first() {
                            Some(Operation::Read(page)) => {
                                Err(format!("read flash page {page} for logical page {lpn}, which holds no data"))
                            }
                            _ => Ok(()),
                        };
                    };
                    let version = state.pages[place as usize];
                    let is_it = |operation: &Operation| match operation {
                        Operation::Read(page) => state.pages[*page as usize] == version,
                        _ => false,
                    };
                    if state.operations.iter().any(is_it) {
                        return Ok(());
                    }
                    Err(format!("without reading flash page {place}, which holds logical page {lpn}"))
                })?;
                self.emit(0, cause, sink);
            }
            Ok(())
        });
        unmapped
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S) {
        or_unwind(|py| {
            for lpn in lpn.0..lpn.0 + count {
                self.flash.get().locked().newest[lpn as usize] = 0;
                self.call(py, &self.trim, lpn, |_| Ok(()))?;
                self.emit(0, Cause::Gc, sink);
            }
            Ok(())
        });
        // A trim also consumes a sequence number, so the next program gets a higher number.
        self.sequence += 1;
        sink.trimmed(lpn, count, self.sequence);
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.flash.get().locked().place(lpn.0).map(Ppn)
    }

    fn free_blocks(&self) -> u32 {
        self.flash.get().locked().programmed.iter().filter(|&&pages| pages == 0).count() as u32
    }

    fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { running, flash, write: _, read: _, trim: _, sequence, erases } = self;
        flash.get().locked().archive(archive)?;
        running.archive(archive)?;
        archive.value(sequence)?;
        archive.array(erases)
    }
}
