//! The controller of a drive: DRAM, transfers by page, map in host memory, read-ahead, credits and throttling.

use super::*;
use ssdlab_sim::ControllerCounters;

/// Rate in bytes per second at which a page takes 1,000 ns.
const PAGE_PER_US: u64 = 4_096_000_000;
const US: u64 = 1_000;

fn buffer(pages: u32) -> Option<WriteBuffer> {
    Some(WriteBuffer { pages, flush: FlushPolicy::Eager, protected: true })
}

/// Returns options of a drive whose DRAM moves a page in 1,000 ns.
fn with_dram(buffer: Option<WriteBuffer>) -> DriveOptions {
    DriveOptions { front: Front { dram_bytes_per_s: Some(PAGE_PER_US), ..PLAIN.front }, buffer, ..PLAIN }
}

#[test]
fn data_passes_the_dram_in_and_out() {
    let read = at(0, Op::Read, 0, 1);
    let write = at(0, Op::Write, 0, 1);
    for (what, drive, requests, expected) in [
        ("read", with_dram(None), vec![read], READ + TRANSFER + 2 * US),
        ("two pages", with_dram(None), vec![at(0, Op::Read, 0, 2)], READ + TRANSFER + 4 * US),
        ("write", with_dram(None), vec![write], 2 * US + TRANSFER + PROGRAM),
        ("write into the buffer", with_dram(buffer(8)), vec![write], US),
        // The write is complete after 1,000 ns. Its page then moves to the flash until 2,000 ns. The read finds the
        // page in the buffer, so the page passes the DRAM once.
        ("read from the buffer", with_dram(buffer(8)), vec![write, read], 3 * US),
        ("trim", with_dram(None), vec![at(0, Op::Trim, 0, 1)], 0),
    ] {
        assert_eq!(elapsed(&replay(&filled(array(2, 1, 1, 1), drive, 1), &requests)), expected, "{what}");
    }
}

#[test]
fn the_dram_limits_bandwidth() {
    let reading: Vec<Request> = (0..2_000).map(|page| at(0, Op::Read, page % 64, 1)).collect();
    let outcome = replay(&filled(array(16, 16, 1, 1), with_dram(None), 64), &reading);
    assert_eq!(elapsed(&outcome), READ + TRANSFER + 2_000 * 2 * US);
    // The last page leaves the DRAM after its write is complete.
    let writing: Vec<Request> = (0..100).map(|page| at(0, Op::Write, page % 64, 1)).collect();
    let outcome = replay(&filled(array(16, 16, 1, 1), with_dram(buffer(64)), 1), &writing);
    assert_eq!(elapsed(&outcome), 100 * 2 * US - US);
}

/// Returns a drive with one die that transfers each page separately, over a link on which a page takes `link_page_ns`.
fn by_page(link_page_ns: u64, drive: DriveOptions) -> Setup {
    let link_bytes_per_s = Some(PAGE * 1_000_000_000 / link_page_ns);
    let front = Front { link_bytes_per_s, transfer: TransferUnit::Page, ..drive.front };
    open(filled(array(1, 1, 1, 1), DriveOptions { front, ..drive }, 1))
}

/// The die reads a page every 120 ns.
#[test]
fn a_page_leaves_the_drive_once_it_has_left_the_flash() {
    let page = READ + TRANSFER;
    let four = [at(0, Op::Read, 0, 4)];
    assert_eq!(elapsed(&replay(&by_page(US, PLAIN), &four)), page + 4 * US, "the link is slower");
    assert_eq!(elapsed(&replay(&by_page(100, PLAIN), &four)), 4 * page + 100, "the flash is slower");
    assert_eq!(elapsed(&replay(&by_page(US, with_dram(None)), &four)), page + 4 * 2 * US + US, "the DRAM is slower");
    // Half of the first page and all of the second: 6 KiB, in two equal parts.
    let unaligned = Request { offset: 2_048, bytes: 2_048 + 4_096, ..four[0] };
    assert_eq!(elapsed(&replay(&by_page(US, PLAIN), &[unaligned])), page + US + US / 2);
}

/// Page 0 is programmed from 1,000 ns on, and is in the buffer until 2,020 ns. Meanwhile, page 1 waits for the die.
#[test]
fn a_page_in_the_buffer_leaves_the_drive_at_once() {
    let setup = by_page(US, DriveOptions { buffer: buffer(4), ..PLAIN });
    let requests = [at(0, Op::Write, 0, 1), at(US, Op::Read, 0, 2)];
    let latency = replay(&setup, &requests).summary.latency.and_then(|latency| latency.read).expect("a read");
    assert_eq!(latency.max_ns, TRANSFER + PROGRAM + READ + TRANSFER + US);
}

/// A buffer of two pages. Each page is programmed from its arrival, at 1,000 and 2,000 ns, until 2,020 and 3,040 ns.
#[test]
fn a_page_enters_the_buffer_once_it_has_arrived() {
    let drive = DriveOptions { buffer: buffer(2), ..PLAIN };
    let write = [at(0, Op::Write, 0, 4)];
    let stalled = |outcome: &Outcome| {
        outcome.summary.drive.as_ref().and_then(|drive| drive.buffer).expect("a buffer").writes_stalled
    };
    let outcome = replay(&by_page(US, drive), &write);
    assert_eq!((elapsed(&outcome), stalled(&outcome)), (4 * US, 0));
    // All pages arrive at 4,000 ns; the last page enters the buffer when the second page has been programmed.
    let front = Front { link_bytes_per_s: Some(PAGE_PER_US), ..PLAIN.front };
    let outcome = replay(&open(filled(array(1, 1, 1, 1), DriveOptions { front, ..drive }, 1)), &write);
    assert_eq!((elapsed(&outcome), stalled(&outcome)), (4 * US + 2 * (TRANSFER + PROGRAM), 1));
    // Over a link that takes 100 ns per page, the pages arrive before the buffer has slots for the third and fourth
    // page. The write stalls once.
    let outcome = replay(&by_page(100, drive), &write);
    assert_eq!((elapsed(&outcome), stalled(&outcome)), (100 + 2 * (TRANSFER + PROGRAM), 1));
    let drive = outcome.summary.drive.expect("a drive");
    let ns = |latency: &LatencyByOp| latency.write.expect("a write").max_ns;
    assert_eq!((ns(&drive.waiting), ns(&drive.service)), (100 + 2 * 1_020 - 400, 400));
}

fn controller_of(outcome: &Outcome) -> ControllerCounters {
    outcome.summary.drive.as_ref().and_then(|drive| drive.controller).expect("a feature with counters")
}

/// The FTL's map cache holds all entries. The controller's own memory holds one line of four entries.
#[test]
fn map_entries_in_host_memory_delay_a_request() {
    let host_memory = Some(HostMemory { own_entries: 4, fetched_entries: 4, latency: Nanos(50) });
    let mut setup = drive_setup(array(1, 1, 1, 1), 12, 8, 1);
    setup.geometry.blocks = 24;
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.defaults());
    setup.precondition.fill = 1.0;
    setup.clock = Clock::Event(TIMING, DriveOptions { host_memory, ..PLAIN });
    for (requests, expected, fetches) in [
        // Page 1 is in the line of page 0; page 4 takes the line's place.
        ([0, 1, 4, 0].map(|page| at(0, Op::Read, page, 1)).to_vec(), 4 * (READ + TRANSFER) + 3 * 50, 3),
        // A request is delayed once, however many lines it fetches.
        (vec![at(0, Op::Read, 0, 9)], 9 * (READ + TRANSFER) + 50, 3),
        (vec![at(0, Op::Write, 0, 1)], TRANSFER + PROGRAM + 50, 1),
    ] {
        let outcome = replay(&setup, &requests);
        assert_eq!((elapsed(&outcome), controller_of(&outcome).host_memory_fetches), (expected, fetches));
    }
    // Programs from the write buffer also look up entries, but no request waits for them.
    setup.clock = Clock::Event(TIMING, DriveOptions { host_memory, buffer: buffer(8), ..PLAIN });
    let outcome = replay(&setup, &[at(0, Op::Write, 0, 1)]);
    assert_eq!((elapsed(&outcome), controller_of(&outcome).host_memory_fetches), (0, 1));
}

/// Returns a drive with read-ahead after two reads of a stream. The host thinks for `think` ns between requests.
fn reading_ahead(parallelism: Parallelism, pages: u32, cache_pages: u32, think: u64) -> Setup {
    let read_ahead = Some(ReadAhead { requests: 2, pages, cache_pages });
    let replay = Replay::Closed { depth: 1, per_stream: false, think: Nanos(think) };
    Setup { replay, ..filled(parallelism, DriveOptions { read_ahead, ..PLAIN }, 1) }
}

#[test]
fn reads_of_a_stream_find_their_pages_in_the_read_cache() {
    let counts = |outcome: &Outcome| {
        let ControllerCounters { read_ahead_pages, read_ahead_hits, read_ahead_wasted, .. } = controller_of(outcome);
        (read_ahead_pages, read_ahead_hits, read_ahead_wasted)
    };
    let five: Vec<Request> = (0..5).map(|page| at(0, Op::Read, page, 1)).collect();
    // Pages 0 and 1 come from the flash. Then pages 2 and 3 are read, and a page after each further read.
    let outcome = replay(&reading_ahead(array(1, 1, 1, 1), 2, 4, 10_000), &five);
    assert_eq!((elapsed(&outcome), counts(&outcome)), (2 * (READ + TRANSFER) + 4 * 10_000, (5, 3, 0)));
    // Without pauses on four dies, pages 1, 2 and 3 are read at the same time. Page 4 is read while the host waits.
    let outcome = replay(&reading_ahead(array(4, 1, 1, 1), 2, 4, 0), &five);
    assert_eq!((elapsed(&outcome), counts(&outcome)), (3 * (READ + TRANSFER), (5, 3, 0)));
    // A page that is written leaves the read cache.
    let mut changed = five[..3].to_vec();
    changed.insert(2, at(0, Op::Write, 2, 1));
    let outcome = replay(&reading_ahead(array(1, 1, 1, 1), 2, 4, 10_000), &changed);
    let expected = 3 * (READ + TRANSFER) + TRANSFER + PROGRAM + 3 * 10_000;
    assert_eq!((elapsed(&outcome), counts(&outcome)), (expected, (3, 0, 1)));
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(200))]

    /// A slow twin of the read cache for a host that pauses, so that every page is read before the next request.
    #[test]
    fn read_ahead_counts_equal_those_of_a_twin(
        pages in 1_u32..5, more in 0_u32..4, requests in prop::collection::vec((0_u8..12, 0_u64..3, 0_u64..20, 1_u32..4), 1..60)
    ) {
        let cache_pages = pages + more;
        let setup = reading_ahead(array(2, 1, 1, 1), pages, cache_pages, 1_000_000);
        let last = u64::from(setup.logical_pages);
        let (mut streams, mut mapped) = (vec![0_u64; 3], vec![true; last as usize]);
        let mut followed: Vec<(u64, u32)> = Vec::new();
        let mut slots: Vec<Option<(u64, bool)>> = vec![None; cache_pages as usize];
        let (mut turn, mut counts) = (0, [0_u64; 3]);
        let mut all = Vec::new();
        for (kind, stream, page, count) in requests {
            let page = if kind > 2 { streams[stream as usize] } else { page };
            let page = page.min(last - u64::from(count));
            let op = [Op::Write, Op::Trim].get(usize::from(kind)).copied().unwrap_or(Op::Read);
            all.push(at(0, op, page, count));
            let touched = page..page + u64::from(count);
            if op != Op::Read {
                for slot in slots.iter_mut().filter(|slot| slot.is_some_and(|(cached, _)| touched.contains(&cached))) {
                    counts[2] += u64::from(slot.take().is_some_and(|(_, used)| !used));
                }
                touched.for_each(|page| mapped[page as usize] = op == Op::Write);
                continue;
            }
            streams[stream as usize] = touched.end;
            for slot in slots.iter_mut().flatten().filter(|(cached, _)| touched.contains(cached)) {
                *slot = (slot.0, true);
                counts[1] += 1;
            }
            let before = followed.iter().position(|&(next, _)| next == page).map(|at| followed.remove(at));
            let length = before.map_or(1, |(_, length)| length + 1);
            followed.push((touched.end, length));
            if followed.len() > 16 {
                followed.remove(0);
            }
            for ahead in touched.end..(touched.end + u64::from(pages)).min(last) {
                let is_cached = slots.iter().flatten().any(|&(cached, _)| cached == ahead);
                if length >= 2 && !is_cached && mapped[ahead as usize] {
                    counts[0] += 1;
                    counts[2] += u64::from(slots[turn].is_some_and(|(_, used)| !used));
                    slots[turn] = Some((ahead, false));
                    turn = (turn + 1) % slots.len();
                }
            }
        }
        let found = controller_of(&replay(&setup, &all));
        prop_assert_eq!([found.read_ahead_pages, found.read_ahead_hits, found.read_ahead_wasted], counts);
    }
}

/// Four writes make all pages of the first block invalid. Collection erases the block behind their programs, from
/// 4,080 to 14,080 ns. Meanwhile a page needs a credit.
#[test]
fn writes_wait_for_credits_from_collection() {
    let collect = Collect::Background { goal: CollectGoal { blocks: 3, step: 4 } };
    let mut requests: Vec<Request> = (0..4).map(|page| at(0, Op::Write, page, 1)).collect();
    requests.extend([at(100, Op::Write, 5, 1), at(200, Op::Write, 6, 1)]);
    let latencies = |pace| {
        let drive = DriveOptions { buffer: buffer(16), collect, pace, ..PLAIN };
        let outcome = replay(&open(filled(array(1, 1, 1, 1), drive, 1)), &requests);
        let write = outcome.summary.latency.and_then(|latency| latency.write).expect("writes");
        (write.max_ns, (write.mean_ns * write.count as f64).round() as u64)
    };
    let erased_ns = 4 * (TRANSFER + PROGRAM) + 10_000;
    assert_eq!(latencies(None), (0, 0));
    let both = erased_ns - 100 + erased_ns - 200;
    assert_eq!(latencies(Some(Pace::Credits { initial: 0 })), (erased_ns - 100, both));
    // The first four pages need no credit, but take one.
    assert_eq!(latencies(Some(Pace::Credits { initial: 4 })), (erased_ns - 100, both));
    assert_eq!(latencies(Some(Pace::Credits { initial: 5 })), (erased_ns - 200, erased_ns - 200));
    assert_eq!(latencies(Some(Pace::Credits { initial: 6 })), (0, 0));
}

/// Each read heats the drive by 4,096 B x 500 nJ x 1 K/W / 1 ms = 2.048 K; the third exceeds 45 degrees. After a pause
/// of 2 ms the drive is below 43 degrees.
#[test]
fn a_hot_drive_slows_requests_down() {
    let thermal = Some(Thermal {
        ambient: 40.0,
        threshold: 45.0,
        release: 43.0,
        resistance: 1.0,
        time_constant: Nanos(1_000_000),
        read_energy: 500.0,
        write_energy: 0.0,
        factor: 2.0,
    });
    let setup = open(filled(array(1, 1, 1, 1), DriveOptions { thermal, ..PLAIN }, 1));
    let reads = [0, 1_000, 2_000, 3_000, 2_003_000].map(|arrival| at(arrival, Op::Read, 0, 1));
    let outcome = replay(&setup, &reads);
    let read = outcome.summary.latency.as_ref().and_then(|latency| latency.read).expect("reads");
    assert_eq!((read.min_ns, read.max_ns, read.mean_ns), (120, 240, (3 * 120 + 2 * 240) as f64 / 5.0));
    let ControllerCounters { throttles, throttled_requests, highest_temperature, .. } = controller_of(&outcome);
    // 2.048 K x (1 + q + q^2 + q^3) with q = exp(-0.001) = 8.180 K.
    assert_eq!((throttles, throttled_requests, highest_temperature), (1, 2, 48_180));
}
