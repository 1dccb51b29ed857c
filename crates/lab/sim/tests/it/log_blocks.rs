//! Goal: log-block FTLs meet their closed forms and all FTLs hold the same data. Method: uniform and mixed writes
//! against formulas; the same random requests through every FTL, comparing the contents of every logical page.

use proptest::prelude::*;
use ssdlab_core::parameter::percent;
use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::log::{bast, fast, faster, sbfast};
use ssdlab_ftl::{Ftl, FtlChoice, WriteContext};
use ssdlab_nand::{Cause, FlashSink, Geometry, ProgramOrder, Source, SpareArea};
use ssdlab_sim::{Overwrite, Precondition, Setup, Summary, run};
use ssdlab_testkit::strategies::requests;
use ssdlab_testkit::{small_setup, visit};
use ssdlab_trace::{Arrival, Generator, Op, Pattern, Request, Workload};

const PAGE_BYTES: u32 = 4096;

/// Returns a filled device with `data_blocks` data blocks of 64 pages.
fn filled(data_blocks: u32, log_blocks: u32, ftl: FtlChoice) -> Setup {
    let setup = small_setup(data_blocks + log_blocks + ftl.reserve_blocks(), 64, 0);
    Setup {
        geometry: Geometry { order: ProgramOrder::Any, ..setup.geometry },
        logical_pages: data_blocks * 64,
        ftl,
        precondition: Precondition { fill: 1.0, overwrite: Overwrite::None },
        ..setup
    }
}

fn replay(setup: &Setup, pattern: &str, changes: &[(&str, u64)], warmup: u64, measured: u64) -> Summary {
    let setup = Setup { warmup_requests: warmup, ..setup.clone() };
    let workload = Workload {
        pattern: Pattern::named(pattern, changes).expect("in range"),
        arrival: Arrival::Closed,
        queues: Vec::new(),
        requests: warmup + measured,
        reads: 0.0,
        sizes: vec![(PAGE_BYTES, 1.0)],
        align_bytes: PAGE_BYTES,
        span_bytes: setup.capacity_bytes(),
        seed: 11,
    };
    let mut source = Generator::new(&workload).expect("the workload is valid");
    run(&setup, &mut source, &mut ()).expect("runs").summary
}

/// For uniform writes over A blocks and a random log of D = B R pages, each write causes 1 / (1 + D/A) merges, and each
/// merge copies a block.
#[test]
fn fast_merges_as_often_as_the_closed_form() {
    let data_blocks = 4096;
    for random_blocks in [16, 64, 256] {
        let setup = filled(data_blocks, random_blocks, FtlChoice::Log(fast::INFO.with(&[0]), random_blocks));
        let summary = replay(&setup, "uniform", &[], 100_000, 400_000);
        let log = summary.log.expect("a log-block FTL");
        let expected = 1.0 / (1.0 + f64::from(64 * random_blocks) / f64::from(data_blocks));
        let off = log.full_merges_per_page.expect("written") / expected - 1.0;
        assert!(off.abs() < 0.01, "{random_blocks} blocks: {:+.2} %", off * 100.0);
        assert_eq!(log.merges.full.copies, 64 * log.merges.full.count, "a filled device has no holes");
        assert_eq!(log.utilisation_mean, Some(1.0));
    }
}

/// Sub-streams of L pages start at random pages, sub-blocks have S pages, and sequential log blocks suffice. The closed
/// forms are: hit ratio min(1, L/S), error capture 1/S, hit quality (L+1) / 2L for L < S and 1 - (S-1) / 2L otherwise.
/// Tolerances are four standard deviations.
#[test]
fn sbfast_captures_as_the_closed_forms() {
    for (sub_block_pages, length) in [(4_u32, 4_u32), (16, 4), (16, 64), (64, 16), (64, 128)] {
        let choice = sbfast::INFO.set(&[("slb", 4), ("sub_block", sub_block_pages.into())]).expect("in range");
        let [block, sub_block] = [64, sub_block_pages].map(|pages| u64::from(pages * PAGE_BYTES));
        let streams = [("streams", 1), ("length", length.into()), ("block", block), ("sub_block", sub_block)];
        // With many blocks, random pages seldom fall into a block that a stream is writing.
        let setup = filled(16_384, 44, FtlChoice::Log(choice, 44));
        let log = replay(&setup, "streams", &streams, 0, 60_000).log.expect("a log-block FTL");
        let capture = log.capture.expect("the FTL has sequential log blocks");
        let (s, l) = (f64::from(sub_block_pages), f64::from(length));
        let close = |name: &str, ours: Option<f64>, expected: f64, of: u64| {
            let deviation = (expected * (1.0 - expected) / of as f64).sqrt().max(1e-3);
            let ours = ours.expect("there are sequential and random pages");
            assert!((ours - expected).abs() < 4.0 * deviation, "{name}, S={s} L={l}: {ours:.4}, not {expected:.4}");
        };
        close("hit ratio", capture.hit_ratio, (l / s).min(1.0), capture.sub_streams);
        close("error capture", capture.error_capture, 1.0 / s, capture.random_pages);
        let quality = if l < s { (l + 1.0) / (2.0 * l) } else { 1.0 - (s - 1.0) / (2.0 * l) };
        close("hit quality", capture.hit_quality, quality, capture.sub_streams);
    }
}

/// Flash as a table of payloads. The payload of a host page is the number of its write.
#[derive(Default)]
struct Payloads {
    pages: Vec<u64>,
    writes: u64,
}

impl FlashSink for Payloads {
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    fn program(&mut self, ppn: Ppn, _oob: SpareArea, source: Source, _cause: Cause) {
        if self.pages.len() <= ppn.index() {
            self.pages.resize(ppn.index() + 1, 0);
        }
        self.pages[ppn.index()] = match source {
            Source::Host(page) => self.writes + u64::from(page),
            Source::Copy(from) => self.pages[from.index()],
            Source::Map | Source::Padding => u64::MAX,
        };
    }

    fn erase(&mut self, _block: BlockId, _cause: Cause) {}
}

/// Returns the payload of every logical page after the requests.
struct Contents<'a> {
    requests: &'a [Request],
    logical_pages: u32,
}

impl Visitor for Contents<'_> {
    type Output = Vec<Option<u64>>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Self::Output {
        let mut flash = Payloads::default();
        for request in self.requests {
            let lpn = Lpn((request.offset / 512) as u32 % self.logical_pages);
            let count = (request.bytes / 512).min(self.logical_pages - lpn.0);
            match request.op {
                Op::Write => ftl.write(lpn, count, WriteContext::default(), &mut flash),
                Op::Trim => ftl.trim(lpn, count, &mut flash),
                _ => {}
            }
            flash.writes += u64::from(count);
        }
        (0..self.logical_pages).map(|lpn| ftl.lookup(Lpn(lpn)).map(|ppn| flash.pages[ppn.index()])).collect()
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(1_000))]

    #[test]
    fn every_ftl_holds_the_same_data(requests in requests(200), ascending in any::<bool>()) {
        let setup = small_setup(20, 6, 2);
        let order = if ascending { ProgramOrder::Ascending } else { ProgramOrder::Any };
        let setup = Setup { logical_pages: 50, geometry: Geometry { order, ..setup.geometry }, ..setup.clone() };
        let log_blocks = 6;
        let faster = faster::INFO.set(&[("isolation", percent(33))]).expect("2 of 6");
        let sbfast = sbfast::INFO.set(&[("slb", 3), ("sub_block", 2)]).expect("in range");
        let choices = [
            setup.ftl,
            FtlChoice::Log(bast::INFO.defaults(), log_blocks),
            FtlChoice::Log(fast::INFO.defaults(), log_blocks),
            FtlChoice::Log(faster, log_blocks),
            FtlChoice::Log(sbfast, log_blocks),
        ];
        let contents = choices.map(|ftl| {
            visit(&Setup { ftl, ..setup.clone() }, Contents { requests: &requests, logical_pages: setup.logical_pages })
        });
        for other in &contents[1..] {
            prop_assert_eq!(&contents[0], other);
        }
    }
}
