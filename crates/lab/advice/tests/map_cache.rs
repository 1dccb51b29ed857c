//! Compares advice with simulated map caches of every size, for random requests of any alignment. The device starts
//! empty, so the map cache is empty, too.

use proptest::prelude::*;
use ssdlab_advice::{MapAdvisor, MapSizes};
use ssdlab_core::Nanos;
use ssdlab_ftl::gc;
use ssdlab_ftl::map::{self, MapChoice};
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{FtlChoice, placement};
use ssdlab_nand::{Geometry, PageTimes, Timing};
use ssdlab_sim::{Clock, Fit, Overwrite, Precondition, Setup, run};
use ssdlab_testkit::{small_setup, strategies};
use ssdlab_trace::{Op, Request, SliceSource};

const ENTRY_BYTES: u32 = 64;
const PAGE_BYTES: u32 = 512;

fn timing(partial_read: bool) -> Timing {
    Timing {
        read: PageTimes::uniform(Nanos(70_060)),
        program: PageTimes::uniform(Nanos(1_575_000)),
        erase: Nanos(3_000_000),
        slc: None,
        transfer_per_kib: Nanos(5_515),
        copyback: false,
        partial_read,
    }
}

fn device(fit: Fit, partial_read: bool, fill: f64, map: MapChoice) -> Setup {
    let small = small_setup(40, 30, 8);
    let options = PageOptions::new(gc::greedy::INFO.defaults(), &placement::own::INFO);
    Setup {
        geometry: Geometry { page_bytes: PAGE_BYTES, blocks: 80, ..small.geometry },
        logical_pages: 240,
        ftl: FtlChoice::Page(options, map),
        clock: Clock::Serial(timing(partial_read)),
        precondition: Precondition { fill, overwrite: Overwrite::None },
        fit,
        check: true,
        ..small
    }
}

fn segments(segment_bytes: u32, count: u64) -> MapChoice {
    let segment = u64::from(segment_bytes);
    let changes = [("cache", segment * count), ("segment", segment), ("entry", ENTRY_BYTES.into())];
    map::segments::INFO.set(&changes).expect("the parameters are in range")
}

fn sizes() -> MapSizes {
    MapSizes { entry_bytes: ENTRY_BYTES, segment_bytes: vec![64, 128, 512], cache_bytes: vec![512, 1024, 1536, 4096] }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(256))]

    #[test]
    fn misses_match_the_simulation(requests in strategies::requests(60), scale in any::<bool>(), extent in 1_u64..99) {
        let fit = if scale { Fit::Scale { extent_bytes: 65_536 + extent * 4096 } } else { Fit::Wrap };
        let mut advisor = MapAdvisor::new(&device(fit, false, 0.0, segments(512, 1)), &sizes()).unwrap();
        requests.chunks(7).for_each(|batch| advisor.add(batch).unwrap());
        let advice = advisor.advice();
        prop_assert_eq!(advice.requests, requests.len() as u64);
        for predicted in &advice.segments {
            for (cache_bytes, write_backs) in sizes().cache_bytes.into_iter().zip(&predicted.write_backs) {
                let count = cache_bytes / u64::from(predicted.segment_bytes);
                let setup = device(fit, false, 0.0, segments(predicted.segment_bytes, count));
                let summary = run(&setup, &mut SliceSource::new(&requests), &mut ()).unwrap().summary;
                let map = summary.map.unwrap();
                let at = (count as usize).min(predicted.read_hits.len()) - 1;
                let (look_ups, change_hits) = (predicted.look_ups, predicted.change_hits[at]);
                prop_assert_eq!((look_ups.reads, predicted.read_hits[at]), (map.reads.count, map.reads.hits));
                prop_assert_eq!((look_ups.changes, change_hits), (map.changes.count, map.changes.hits));
                // Without garbage collection, every programmed map page is a write-back.
                prop_assert_eq!(map.pages_programmed, *write_backs);
            }
        }
    }
}

fn request(op: Op, offset: u64, bytes: u32) -> Request {
    Request { time_ns: 0, offset, bytes, op, flags: 0, stream: 0 }
}

/// Compares times with the simulation on a full device. Reads cause no garbage collection. After preconditioning, the
/// cache holds only segments that no request uses.
#[test]
fn times_match_the_simulation() {
    let page = u64::from(PAGE_BYTES);
    // Read one page of each of six map pages, then the first page again, in part and across pages.
    let mut requests: Vec<Request> = (0..6).map(|at| request(Op::Read, at * 8 * page + 100, 300)).collect();
    requests.extend([request(Op::Read, 100, 2000), request(Op::Read, 0, 512), request(Op::Flush, 0, 0)]);
    for partial_read in [false, true] {
        for segment_bytes in [64, 512] {
            let setup = device(Fit::Error, partial_read, 1.0, segments(segment_bytes, 3));
            let mut advisor = MapAdvisor::new(&setup, &sizes()).unwrap();
            advisor.add(&requests).unwrap();
            let advice = advisor.advice();
            let predicted = advice.segments.iter().find(|advice| advice.segment_bytes == segment_bytes).unwrap();
            let measure = |setup: &Setup| {
                let summary = run(setup, &mut SliceSource::new(&requests), &mut ()).unwrap().summary;
                (summary.time.unwrap().busy_ns, summary.map.map_or(0, |map| map.pages_programmed))
            };
            let (busy_ns, written_back) = measure(&setup);
            // The simulation also writes back the three dirty segments left by preconditioning, one at a time.
            let program_ns = 1_575_000 + timing(partial_read).transfer(PAGE_BYTES).0;
            let read_ns = 70_060 + timing(partial_read).transfer(PAGE_BYTES).0;
            let write_back_ns = program_ns + if segment_bytes == PAGE_BYTES { 0 } else { read_ns };
            assert_eq!(predicted.most_busy_ns[2] + written_back * write_back_ns, busy_ns);
            assert_eq!(predicted.most_busy_ns[2], predicted.read_busy_ns[2]);
            let FtlChoice::Page(options, _) = setup.ftl else { unreachable!("the device above") };
            let whole = Setup { ftl: FtlChoice::Page(options, map::ram::INFO.defaults()), ..setup };
            assert_eq!(advice.host_ns, measure(&whole).0);
            assert_eq!(predicted.least_busy_ns, predicted.busy_ns[3]);
        }
    }
}

#[test]
fn write_time_includes_programs_reads_and_write_backs() {
    let setup = device(Fit::Error, false, 0.0, segments(64, 1));
    let sizes = MapSizes { segment_bytes: vec![64], cache_bytes: vec![128, 192], ..sizes() };
    let mut advisor = MapAdvisor::new(&setup, &sizes).unwrap();
    // Write three pages in three segments of one entry each, the last page in part; then trim the first page.
    advisor.add(&[request(Op::Write, 0, 1500), request(Op::Trim, 0, 1000)]).unwrap();
    let advice = advisor.advice();
    let transfer_ns = timing(false).transfer(PAGE_BYTES).0;
    let (read_ns, program_ns) = (70_060 + transfer_ns, 1_575_000 + transfer_ns);
    assert_eq!((advice.host_ns, advice.host_read_ns), (read_ns + 3 * program_ns, 0));
    let predicted = &advice.segments[0];
    let (look_ups, first) = (predicted.look_ups, predicted.first);
    assert_eq!((look_ups.reads, look_ups.changes, first.reads, first.changes), (1, 4, 1, 2));
    // The look-ups are 2 (read), 0, 1, 2, 0. A cache of one segment always misses and writes back segments 0, 1 and 2.
    // A cache of two segments always misses, too, but segments 0 and 1 share a map page and are written back together,
    // and segment 2 is still cached.
    let load_ns = 70_060 + timing(false).transfer(64).0;
    assert_eq!((predicted.read_hits[0], predicted.change_hits[0]), (0, 0));
    assert_eq!(predicted.most_busy_ns[0], advice.host_ns + 5 * load_ns + 3 * (read_ns + program_ns));
    assert_eq!((predicted.change_hits[1], &predicted.write_backs[..]), (0, &[1, 0][..]));
    assert_eq!(predicted.most_busy_ns[1], advice.host_ns + 5 * load_ns + 2 * (read_ns + program_ns));
    assert_eq!(predicted.busy_ns[0], advice.host_ns + 5 * load_ns + read_ns + program_ns);
    assert_eq!((predicted.change_hits[2], predicted.busy_ns[1]), (2, predicted.most_busy_ns[2]));
}

#[test]
fn unsupported_setups_sizes_and_requests_are_rejected() {
    let setup = device(Fit::Error, false, 0.0, segments(64, 1));
    let mut advisor = MapAdvisor::new(&setup, &sizes()).unwrap();
    let error = advisor.add(&[request(Op::Read, 0, 1), request(Op::Read, 240 * 512, 1)]).unwrap_err();
    let beyond = "request 2: a read of 1B at byte 122880 ends 1B past the end of the device (120KiB)";
    assert!(error.to_string().starts_with(beyond), "{error}");
    let counting = Setup { clock: Clock::Count, ..setup.clone() };
    assert!(MapAdvisor::new(&counting, &sizes()).err().unwrap().to_string().contains("needs simulated time"));
    let odd = MapSizes { cache_bytes: vec![600], ..sizes() };
    assert!(MapAdvisor::new(&setup, &odd).err().unwrap().to_string().contains("not a multiple"));
}
