//! Goal: a drive that holds bytes executes the same flash operations as its simulation. Method: random devices and
//! requests. Compares the counts by cause with a run, and the sequence of operations with the operations that the FTL
//! emits.

mod buffered;

use std::sync::Mutex;

use proptest::prelude::*;
use ssdlab_core::{BlockId, Lpn, PageSize, Pages, Ppn};
use ssdlab_device::{Backend, Content, Drive, Fault, MemoryBackend, Options, Slot, SpareBytes, WriteBuffer};
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::{Cause, FlashOp, Geometry, Source, SpareArea};
use ssdlab_sim::{Overwrite, Precondition, Setup, run};
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_testkit::visit;
use ssdlab_trace::{Op, Request, SliceSource, flag};

/// An operation that reached the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Done {
    Read(Ppn),
    Program(Ppn, SpareArea),
    Erase(BlockId),
}

/// Flash that records its operations.
struct Recording {
    flash: MemoryBackend,
    done: Mutex<Vec<Done>>,
}

impl Recording {
    fn into_done(self) -> Vec<Done> {
        self.done.into_inner().expect("no thread panicked")
    }
}

impl Backend for Recording {
    fn geometry(&self) -> &Geometry {
        self.flash.geometry()
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        self.done.lock().expect("no thread panicked").push(Done::Read(ppn));
        self.flash.read(ppn, page, spare)
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        self.flash.read_spares(first, spares)
    }

    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        let Content::Programmed(written) = Content::decode(ppn, spare) else { panic!("a damaged spare area") };
        self.done.get_mut().expect("no thread panicked").push(Done::Program(ppn, written.oob));
        self.flash.program(ppn, page, spare)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        self.done.get_mut().expect("no thread panicked").push(Done::Erase(block));
        self.flash.erase(block)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.flash.sync()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.flash.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        self.flash.mark_bad(block)
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.flash.read_log(slot, offset, bytes)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.flash.write_log(slot, offset, bytes)
    }
}

/// Returns the operations that the FTL emits for requests, split into pages as in a simulated drive.
struct Emitted<'a> {
    setup: &'a Setup,
    requests: &'a [Request],
}

impl Visitor for Emitted<'_> {
    type Output = Vec<Done>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Vec<Done> {
        let size = PageSize::new(self.setup.geometry.page_bytes);
        let mut log: Vec<FlashOp> = Vec::new();
        ftl.preload(&mut log);
        for request in self.requests {
            let (offset, end) = (request.offset, request.offset + u64::from(request.bytes));
            let Pages { first, count, head, tail } = size.split(offset, end);
            match request.op {
                Op::Read => {
                    ftl.read(Lpn(first), count, Cause::Host, &mut log);
                }
                Op::Write => {
                    if head {
                        ftl.read(Lpn(first), 1, Cause::ReadModifyWrite, &mut log);
                    }
                    if tail {
                        ftl.read(Lpn(first + count - 1), 1, Cause::ReadModifyWrite, &mut log);
                    }
                    ftl.write(Lpn(first), count, WriteContext::default(), &mut log);
                }
                Op::Trim => {
                    let covered = size.covered(offset, end);
                    ftl.trim(Lpn(covered.start as u32), (covered.end - covered.start) as u32, &mut log);
                }
                Op::Flush => {}
            }
        }
        done(log)
    }
}

/// Returns the operations that reach the flash, given the operations that an FTL emits.
fn done(log: Vec<FlashOp>) -> Vec<Done> {
    let mut done = Vec::new();
    for operation in log {
        match operation {
            FlashOp::Read(ppn, _) | FlashOp::ReadPart(ppn, ..) => done.push(Done::Read(ppn)),
            FlashOp::Program(ppn, oob, Source::Host(_) | Source::Map | Source::Padding, _) => {
                done.push(Done::Program(ppn, oob))
            }
            FlashOp::Program(ppn, oob, Source::Copy(from), _) | FlashOp::Copy(from, ppn, oob, _) => {
                done.extend([Done::Read(from), Done::Program(ppn, oob)]);
            }
            FlashOp::Erase(block, _) => done.push(Done::Erase(block)),
            _ => {}
        }
    }
    done
}

fn serve(drive: &mut Drive<Recording>, request: &Request) {
    let bytes = request.bytes as usize;
    let served = match request.op {
        Op::Read => drive.read(request.offset, &mut vec![0; bytes]),
        Op::Write => drive.write(request.offset, &vec![7; bytes], request.flags & flag::FUA != 0),
        Op::Trim => drive.trim(request.offset, request.bytes.into(), false),
        Op::Flush => drive.flush(),
    };
    served.expect("the request does not exceed the drive");
}

/// Returns the requests that do not exceed the device.
fn within(setup: &Setup, requests: Vec<Request>) -> Vec<Request> {
    let capacity = setup.capacity_bytes();
    requests.into_iter().filter(|request| request.offset + u64::from(request.bytes) <= capacity).collect()
}

fn recorded(setup: &Setup, buffer: Option<WriteBuffer>) -> Drive<Recording> {
    let Setup { geometry, logical_pages, ftl, seed, endurance_cycles, .. } = *setup;
    let options =
        Options { logical_pages, ftl, seed, buffer, journal_blocks: 32, spare_for_failures: 0, endurance_cycles };
    let flash = Recording { flash: MemoryBackend::new(geometry), done: Mutex::default() };
    Drive::create(flash, options).expect("a sound drive")
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(1_000))]

    #[test]
    fn a_drive_of_bytes_executes_the_operations_of_the_simulation(mut setup in setups(), requests in requests(200)) {
        setup.precondition = Precondition { fill: 0.0, overwrite: Overwrite::None };
        let requests = within(&setup, requests);
        let outcome = run(&setup, &mut SliceSource::new(&requests), &mut ()).expect("the data check finds nothing");

        let mut drive = recorded(&setup, None);
        requests.iter().for_each(|request| serve(&mut drive, request));

        prop_assert_eq!(*drive.counts(), outcome.summary.flash.0);
        prop_assert_eq!(drive.erase_counts().iter().map(|&erases| u64::from(erases)).sum::<u64>(), outcome.summary.wear.erases);
        prop_assert_eq!(drive.check(), Ok(()));
        let emitted = visit(&setup, Emitted { setup: &setup, requests: &requests });
        prop_assert_eq!(drive.into_backend().into_done(), emitted);
    }
}
