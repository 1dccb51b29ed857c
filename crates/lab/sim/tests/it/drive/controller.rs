//! The controller of a drive: its DRAM, and transfers by page.

use super::*;

/// At this rate, a page takes 1,000 ns.
const PAGE_PER_US: u64 = 4_096_000_000;
const US: u64 = 1_000;

fn buffer(pages: u32) -> Option<WriteBuffer> {
    Some(WriteBuffer { pages, flush: FlushPolicy::Eager, protected: true })
}

/// A drive with a DRAM that moves a page in 1,000 ns.
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
        // The write is complete after 1,000 ns. Its page then leaves for the flash, until 2,000 ns. The read finds the
        // page in the buffer, so that the page only leaves the DRAM.
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

/// A drive of one die that moves each page by itself, over a link on which a page takes this time.
fn by_page(link_page_ns: u64, drive: DriveOptions) -> Setup {
    let link_bytes_per_s = Some(PAGE * 1_000_000_000 / link_page_ns);
    let front = Front { link_bytes_per_s, transfer: TransferUnit::Page, ..drive.front };
    open(filled(array(1, 1, 1, 1), DriveOptions { front, ..drive }, 1))
}

/// The die reads a page each 120 ns.
#[test]
fn a_page_leaves_the_drive_when_it_has_left_the_flash() {
    let page = READ + TRANSFER;
    let four = [at(0, Op::Read, 0, 4)];
    assert_eq!(elapsed(&replay(&by_page(US, PLAIN), &four)), page + 4 * US, "the link is slower");
    assert_eq!(elapsed(&replay(&by_page(100, PLAIN), &four)), 4 * page + 100, "the flash is slower");
    assert_eq!(elapsed(&replay(&by_page(US, with_dram(None)), &four)), page + 4 * 2 * US + US, "the DRAM is slower");
    // Half of the first page and half of the last: 6 KiB, in three equal parts.
    let unaligned = Request { offset: 2_048, bytes: 2 * 4_096 + 2_048, ..four[0] };
    assert_eq!(elapsed(&replay(&by_page(US, PLAIN), &[unaligned])), page + 2 * US + US / 2);
}

/// Page 0 is in the buffer until 2,020 ns: it is programmed from 1,000 ns on. Meanwhile page 1 waits for the die.
#[test]
fn a_page_in_the_buffer_leaves_the_drive_at_once() {
    let setup = by_page(US, DriveOptions { buffer: buffer(4), ..PLAIN });
    let requests = [at(0, Op::Write, 0, 1), at(US, Op::Read, 0, 2)];
    let latency = replay(&setup, &requests).summary.latency.and_then(|latency| latency.read).expect("a read");
    assert_eq!(latency.max_ns, TRANSFER + PROGRAM + READ + TRANSFER + US);
}

/// A buffer of two pages. Each page is programmed from its arrival, at 1,000 and 2,000 ns, until 2,020 and 3,040 ns.
#[test]
fn a_page_enters_the_buffer_when_it_has_arrived() {
    let drive = DriveOptions { buffer: buffer(2), ..PLAIN };
    let write = [at(0, Op::Write, 0, 4)];
    let stalled = |outcome: &Outcome| {
        outcome.summary.drive.as_ref().and_then(|drive| drive.buffer).expect("a buffer").writes_stalled
    };
    let outcome = replay(&by_page(US, drive), &write);
    assert_eq!((elapsed(&outcome), stalled(&outcome)), (4 * US, 0));
    // All pages arrive at 4,000 ns; the last enters when the second has been programmed.
    let front = Front { link_bytes_per_s: Some(PAGE_PER_US), ..PLAIN.front };
    let outcome = replay(&open(filled(array(1, 1, 1, 1), DriveOptions { front, ..drive }, 1)), &write);
    assert_eq!((elapsed(&outcome), stalled(&outcome)), (4 * US + 2 * (TRANSFER + PROGRAM), 1));
    // Over a link that takes 100 ns, the pages arrive before the buffer has room for the third and the fourth. The
    // write stalls once.
    let outcome = replay(&by_page(100, drive), &write);
    assert_eq!((elapsed(&outcome), stalled(&outcome)), (100 + 2 * (TRANSFER + PROGRAM), 1));
    let drive = outcome.summary.drive.expect("a drive");
    let ns = |latency: &LatencyByOp| latency.write.expect("a write").max_ns;
    assert_eq!((ns(&drive.waiting), ns(&drive.service)), (100 + 2 * 1_020 - 400, 400));
}
