//! The write buffer of a drive: room, pacing, trims, flushes and the times of waiting writes.

use super::*;

fn buffered(flush: FlushPolicy, pages: u32, protected: bool) -> Setup {
    let buffer = Some(WriteBuffer { pages, flush, protected });
    filled(array(1, 1, 1, 1), DriveOptions { buffer, ..PLAIN }, 1)
}

#[test]
fn a_write_completes_in_the_buffer_while_there_is_room() {
    let setup = open(buffered(FlushPolicy::Eager, 2, true));
    // Two fit; the third waits until the first has been programmed, the fourth for the second.
    let requests: Vec<Request> = (0..4).map(|page| at(0, Op::Write, page, 1)).collect();
    let summary = replay(&setup, &requests).summary;
    let write = summary.latency.and_then(|latency| latency.write).expect("writes");
    assert_eq!((write.min_ns, write.max_ns), (0, 2 * (TRANSFER + PROGRAM)));
    assert_eq!(summary.drive.and_then(|drive| drive.buffer).expect("a buffer").writes_stalled, 2);
}

/// A token comes every 700 ns; the bucket holds two. Programs take 1,020 ns each, on eight dies.
#[test]
fn paced_writes_wait_for_tokens() {
    let buffer = Some(WriteBuffer { pages: 64, flush: FlushPolicy::Eager, protected: true });
    let pace = Some(Pace::Tokens { interval: Nanos(700), burst: 2 });
    let setup = open(filled(array(8, 1, 1, 1), DriveOptions { buffer, pace, ..PLAIN }, 1));
    let latencies = |requests: &[Request]| {
        let outcome = replay(&setup, requests);
        let write = outcome.summary.latency.and_then(|latency| latency.write).expect("writes");
        (write.min_ns, write.max_ns, write.mean_ns * write.count as f64)
    };
    // Two of five writes pass at once, the others after one, two and three intervals.
    let writes: Vec<Request> = (0..5).map(|page| at(0, Op::Write, page, 1)).collect();
    assert_eq!(latencies(&writes), (0, 2_100, 4_200.0));
    // A write of five pages waits for its last token.
    assert_eq!(latencies(&[at(0, Op::Write, 0, 5)]), (2_100, 2_100, 2_100.0));
    // After a pause of two intervals the bucket is full again, and holds no more than two.
    let late = [writes, (0..3).map(|page| at(10_000, Op::Write, page, 1)).collect()].concat();
    assert_eq!(latencies(&late), (0, 2_100, 4_200.0 + 700.0));
    // A buffer that is full is what writes wait for: one page, programmed in 1,020 ns.
    let buffer = Some(WriteBuffer { pages: 1, flush: FlushPolicy::Eager, protected: true });
    let setup = open(filled(array(1, 1, 1, 1), DriveOptions { buffer, pace, ..PLAIN }, 1));
    let outcome = replay(&setup, &[at(0, Op::Write, 0, 1), at(0, Op::Write, 1, 1), at(0, Op::Write, 2, 1)]);
    assert_eq!(outcome.summary.latency.and_then(|latency| latency.write).expect("writes").max_ns, 2_040);
}

/// What frees the buffer is not always a program.
#[test]
fn a_write_that_waits_for_the_buffer_goes_on_when_a_page_in_it_is_trimmed() {
    // One operation at a time: while the read is under way the page in the buffer stays there.
    let buffer = Some(WriteBuffer { pages: 1, flush: FlushPolicy::Eager, protected: true });
    let setup = open(filled(array(1, 1, 1, 1), DriveOptions { buffer, backlog: 1, ..PLAIN }, 1));
    let requests = [at(0, Op::Read, 9, 1), at(0, Op::Write, 0, 2), at(1, Op::Trim, 0, 1)];
    let outcome = replay(&setup, &requests);
    assert_eq!(outcome.summary.drive.and_then(|drive| drive.buffer).expect("a buffer").pages_trimmed, 1);
}

#[test]
fn a_flush_waits_only_for_a_buffer_that_forgets() {
    for (protected, expected) in [(true, 0), (false, 2 * (TRANSFER + PROGRAM))] {
        let setup = buffered(FlushPolicy::Watermark { high: 1.0, low: 0.5 }, 8, protected);
        let flush = Request { bytes: 0, offset: 0, ..at(0, Op::Flush, 0, 0) };
        let requests = [at(0, Op::Write, 0, 1), at(0, Op::Write, 1, 1), flush];
        let latency = replay(&setup, &requests).summary.latency.expect("timed");
        assert_eq!(latency.flush.map(|flush| flush.max_ns), Some(expected), "protected: {protected}");
        // So does a write that must be safe before it completes.
        let mut fua = at(0, Op::Write, 0, 1);
        fua.flags = flag::FUA;
        let latency = replay(&setup, &[fua]).summary.latency.expect("timed");
        assert_eq!(latency.write.map(|write| write.max_ns), Some(expected / 2), "protected: {protected}");
    }
}

#[test]
fn pages_overwritten_in_the_buffer_are_not_programmed() {
    let setup = buffered(FlushPolicy::Watermark { high: 1.0, low: 0.0 }, 4, true);
    let requests: Vec<Request> = (0..100).map(|_| at(0, Op::Write, 3, 1)).collect();
    let summary = replay(&setup, &requests).summary;
    assert_eq!(summary.host.pages_written, 100);
    assert_eq!(summary.flash.0.programmed(), 0);
    assert_eq!(summary.drive.and_then(|drive| drive.buffer).expect("a buffer").pages_overwritten, 99);
}

/// The wait of a write for room in the buffer is waiting, whatever it waits for afterwards.
#[test]
fn a_write_waits_for_room_in_the_buffer() {
    for flags in [0, flag::FUA] {
        let setup = buffered(FlushPolicy::Eager, 1, true);
        let write = Request { flags, ..at(0, Op::Write, 0, 4) };
        let drive = replay(&setup, &[write]).summary.drive.expect("a drive");
        let time = |latency: &LatencyByOp| latency.write.expect("a write").max_ns;
        assert_eq!((time(&drive.waiting), time(&drive.service)), (3 * (TRANSFER + PROGRAM), 0), "flags {flags}");
    }
}

/// What is under way when the last request completes has been work up to then.
#[test]
fn work_that_is_not_done_at_the_end_counts() {
    let mut setup = open(buffered(FlushPolicy::Eager, 1, true));
    setup.geometry.parallelism = array(2, 1, 1, 1);
    setup = Setup { gantt: Some(Window { from: Nanos(0), length: Nanos(10_000) }), ..setup.clone() };
    // Programmed from 20 on; the read of the other die is over at 520.
    let outcome = replay(&setup, &[at(0, Op::Write, 0, 1), at(400, Op::Read, 1, 1)]);
    let activity = outcome.activity.expect("a drive");
    assert_eq!(activity.dies_busy_ns.iter().map(|bins| bins.iter().sum::<u64>()).collect::<Vec<_>>(), [500, 100]);
    let program = activity.gantt.iter().find(|bar| bar.kind == Kind::Program && !bar.bus).expect("a program");
    assert_eq!((program.begin_ns, program.end_ns), (20, 520));
}
