//! Goal: a drive that holds bytes and has a write buffer executes the same flash operations as an event-driven drive
//! with this buffer, with and without power-loss protection. Method: like the test without a buffer; the expected
//! buffer is a list of waiting pages.
//!
//! Each request finds the event-driven drive idle. Otherwise, a page being programmed would occupy a slot there, while
//! a drive of bytes programs at once. For the same reason, no write has more pages than the buffer has free slots.

use proptest::prelude::*;
use ssdlab_core::{Lpn, Nanos, PageSize, Pages};
use ssdlab_device::WriteBuffer;
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::{Cause, FlashOp};
use ssdlab_sim::{
    Clock, Collect, DriveOptions, FlushPolicy, Front, Overwrite, Precondition, Replay, Setup, TransferUnit, run,
};
use ssdlab_testkit::drives::on_any_drive;
use ssdlab_testkit::strategies::requests;
use ssdlab_testkit::visit;
use ssdlab_trace::{Op, Request, SliceSource, flag};

use super::{Done, done, recorded, serve, within};

/// Think time. It is longer than any write with the operations that the write causes. It is so short that all requests
/// end within the first second, because a drive of bytes has no clock and cannot report seconds to its FTL.
const IDLE: Nanos = Nanos(4_000_000);

/// Last request of a run, after all pages are programmed.
const LAST: Request = Request { time_ns: 0, offset: 0, bytes: 1, op: Op::Read, flags: 0, stream: 0 };

/// Generates buffers, each in the form of the event-driven drive and of the drive of bytes.
fn buffers() -> impl Strategy<Value = (FlushPolicy, WriteBuffer)> {
    let marks = (1_u32..20).prop_flat_map(|pages| (Just(pages), 1..=pages)).prop_flat_map(|(pages, high)| {
        let watermarks = (0..high).prop_map(move |low| {
            // The half page ensures that rounding down gives `count` again.
            let share = |count: u32| (f64::from(count) + 0.5) / f64::from(pages);
            (FlushPolicy::Watermark { high: share(high), low: share(low) }, (pages, high, low))
        });
        prop_oneof![1 => Just((FlushPolicy::Eager, (pages, 1, 0))), 3 => watermarks]
    });
    (marks, any::<bool>())
        .prop_map(|((flush, (pages, high, low)), protected)| (flush, WriteBuffer { pages, high, low, protected }))
}

/// Shortens writes so that no write stalls: fewer than `high` pages wait when a write arrives. Every fifth write must
/// be durable on completion.
fn stalling_none(requests: Vec<Request>, size: PageSize, buffer: &WriteBuffer) -> Vec<Request> {
    let room = u64::from(buffer.pages - (buffer.high - 1)) * size.bytes();
    let fitted = requests.into_iter().enumerate().map(|(number, request)| match request.op {
        Op::Write => {
            let bytes = u64::from(request.bytes).min(room - request.offset % size.bytes()) as u32;
            Request { bytes, flags: if number % 5 == 0 { flag::FUA } else { 0 }, ..request }
        }
        _ => request,
    });
    fitted.collect()
}

/// Returns the operations that the FTL emits below the buffer, and the number of pages that wait at the end.
struct Emitted<'a> {
    setup: &'a Setup,
    buffer: WriteBuffer,
    requests: &'a [Request],
}

impl Visitor for Emitted<'_> {
    type Output = (Vec<Done>, usize);

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Self::Output {
        let size = PageSize::new(self.setup.geometry.page_bytes);
        let WriteBuffer { high, low, protected, .. } = self.buffer;
        let mut log: Vec<FlashOp> = Vec::new();
        // Waiting pages, oldest first, each with a flag: true if one write covered the whole page.
        let mut waiting: Vec<(u32, bool)> = Vec::new();
        ftl.preload(&mut log);
        for request in self.requests {
            let (offset, end) = (request.offset, request.offset + u64::from(request.bytes));
            let Pages { first, count, head, tail } = size.split(offset, end);
            match request.op {
                Op::Read => {
                    for lpn in (first..first + count).filter(|&lpn| !waiting.contains(&(lpn, true))) {
                        ftl.read(Lpn(lpn), 1, Cause::Host, &mut log);
                    }
                }
                Op::Write => {
                    for lpn in first..first + count {
                        let whole = !(head && lpn == first || tail && lpn + 1 == first + count);
                        match waiting.iter_mut().find(|(page, _)| *page == lpn) {
                            Some((_, was_whole)) => *was_whole |= whole,
                            None => waiting.push((lpn, whole)),
                        }
                    }
                }
                Op::Trim => {
                    let covered = size.covered(offset, end);
                    waiting.retain(|&(lpn, _)| !covered.contains(&lpn.into()));
                    ftl.trim(Lpn(covered.start as u32), (covered.end - covered.start) as u32, &mut log);
                }
                Op::Flush => {}
            }
            let is_flush = request.op == Op::Flush || request.flags & flag::FUA != 0;
            let left = match waiting.len() {
                _ if is_flush && !protected => 0,
                filled if filled >= high as usize => low as usize,
                filled => filled,
            };
            for (lpn, whole) in waiting.drain(..waiting.len() - left) {
                if !whole {
                    ftl.read(Lpn(lpn), 1, Cause::ReadModifyWrite, &mut log);
                }
                ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut log);
            }
        }
        (done(log), waiting.len())
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(600))]

    #[test]
    fn a_buffered_drive_of_bytes_executes_the_operations_of_the_simulation(
        mut setup in on_any_drive(),
        (flush, buffer) in buffers(),
        requests in requests(200),
    ) {
        let Clock::Event(timing, drive) = setup.clock else { panic!("a drive in time") };
        let WriteBuffer { pages, protected, .. } = buffer;
        let in_time = ssdlab_sim::WriteBuffer { pages, flush, protected };
        // Disables pacing, which would stall writes, read-ahead, and separate transfers of pages.
        let options = DriveOptions {
            buffer: Some(in_time),
            front: Front { transfer: TransferUnit::Request, ..drive.front },
            pace: None,
            read_ahead: None,
            collect: Collect::Foreground,
            ..drive
        };
        setup.clock = Clock::Event(timing, options);
        setup.replay = Replay::Closed { depth: 1, per_stream: false, think: IDLE };
        setup.precondition = Precondition { fill: 0.0, overwrite: Overwrite::None };
        let size = PageSize::new(setup.geometry.page_bytes);
        let mut requests = within(&setup, stalling_none(requests, size, &buffer));
        requests.push(LAST);
        let outcome = run(&setup, &mut SliceSource::new(&requests), &mut ()).expect("the data check finds nothing");

        let mut drive = recorded(&setup, Some(buffer));
        requests.iter().for_each(|request| serve(&mut drive, request));

        prop_assert_eq!(*drive.counts(), outcome.summary.flash.0);
        prop_assert_eq!(drive.erase_counts().iter().map(|&erases| u64::from(erases)).sum::<u64>(), outcome.summary.wear.erases);
        prop_assert_eq!(drive.check(), Ok(()));
        let waiting = drive.buffered_pages() as usize;
        let emitted = visit(&setup, Emitted { setup: &setup, buffer, requests: &requests });
        prop_assert_eq!((drive.into_backend().into_done(), waiting), emitted);
    }
}
