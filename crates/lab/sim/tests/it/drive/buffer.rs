//! The write buffer of a drive: free slots, pacing, trims, flushes and the times of waiting writes.

use super::*;

fn buffered(flush: FlushPolicy, pages: u32, protected: bool) -> Setup {
    let buffer = Some(WriteBuffer { pages, flush, protected });
    filled(array(1, 1, 1, 1), DriveOptions { buffer, ..PLAIN }, 1)
}

#[test]
fn a_write_completes_in_the_buffer_while_slots_are_free() {
    let setup = open(buffered(FlushPolicy::Eager, 2, true));
    // Two writes fit. The third write waits until the first page is programmed, the fourth until the second page is
    // programmed.
    let requests: Vec<Request> = (0..4).map(|page| at(0, Op::Write, page, 1)).collect();
    let summary = replay(&setup, &requests).summary;
    let write = summary.latency.and_then(|latency| latency.write).expect("writes");
    assert_eq!((write.min_ns, write.max_ns), (0, 2 * (TRANSFER + PROGRAM)));
    assert_eq!(summary.drive.and_then(|drive| drive.buffer).expect("a buffer").writes_stalled, 2);
}

/// A new token comes every 700 ns; the bucket holds two tokens. Programs take 1,020 ns each, on eight dies.
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
    // Two of five writes get a token at once, the others after one, two and three intervals.
    let writes: Vec<Request> = (0..5).map(|page| at(0, Op::Write, page, 1)).collect();
    assert_eq!(latencies(&writes), (0, 2_100, 4_200.0));
    // A write of five pages waits for its last token.
    assert_eq!(latencies(&[at(0, Op::Write, 0, 5)]), (2_100, 2_100, 2_100.0));
    // After a pause of two intervals, the bucket is full again and holds only two tokens.
    let late = [writes, (0..3).map(|page| at(10_000, Op::Write, page, 1)).collect()].concat();
    assert_eq!(latencies(&late), (0, 2_100, 4_200.0 + 700.0));
    // In a buffer of one page, writes wait for free slots, not for tokens: a program takes 1,020 ns.
    let buffer = Some(WriteBuffer { pages: 1, flush: FlushPolicy::Eager, protected: true });
    let setup = open(filled(array(1, 1, 1, 1), DriveOptions { buffer, pace, ..PLAIN }, 1));
    let outcome = replay(&setup, &[at(0, Op::Write, 0, 1), at(0, Op::Write, 1, 1), at(0, Op::Write, 2, 1)]);
    assert_eq!(outcome.summary.latency.and_then(|latency| latency.write).expect("writes").max_ns, 2_040);
}

/// A trim frees a slot, too.
#[test]
fn a_waiting_write_continues_when_a_buffered_page_is_trimmed() {
    // The drive runs one flash operation at a time, so the buffered page is not programmed during the read.
    let buffer = Some(WriteBuffer { pages: 1, flush: FlushPolicy::Eager, protected: true });
    let setup = open(filled(array(1, 1, 1, 1), DriveOptions { buffer, backlog: 1, ..PLAIN }, 1));
    let requests = [at(0, Op::Read, 9, 1), at(0, Op::Write, 0, 2), at(1, Op::Trim, 0, 1)];
    let outcome = replay(&setup, &requests);
    assert_eq!(outcome.summary.drive.and_then(|drive| drive.buffer).expect("a buffer").pages_trimmed, 1);
}

#[test]
fn a_flush_waits_only_for_a_volatile_buffer() {
    for (protected, expected) in [(true, 0), (false, 2 * (TRANSFER + PROGRAM))] {
        let setup = buffered(FlushPolicy::Watermark { high: 1.0, low: 0.5 }, 8, protected);
        let flush = Request { bytes: 0, offset: 0, ..at(0, Op::Flush, 0, 0) };
        let requests = [at(0, Op::Write, 0, 1), at(0, Op::Write, 1, 1), flush];
        let latency = replay(&setup, &requests).summary.latency.expect("timed");
        assert_eq!(latency.flush.map(|flush| flush.max_ns), Some(expected), "protected: {protected}");
        // A write with forced unit access (FUA) waits, too.
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

/// The time of a write until it gets slots in the buffer counts as waiting, with and without FUA.
#[test]
fn time_until_a_write_gets_slots_counts_as_waiting() {
    for flags in [0, flag::FUA] {
        let setup = buffered(FlushPolicy::Eager, 1, true);
        let write = Request { flags, ..at(0, Op::Write, 0, 4) };
        let drive = replay(&setup, &[write]).summary.drive.expect("a drive");
        let time = |latency: &LatencyByOp| latency.write.expect("a write").max_ns;
        assert_eq!((time(&drive.waiting), time(&drive.service)), (3 * (TRANSFER + PROGRAM), 0), "flags {flags}");
    }
}

/// A program that is running when the last request completes counts as busy time up to then.
#[test]
fn unfinished_operations_count_as_busy_until_the_end() {
    let mut setup = open(buffered(FlushPolicy::Eager, 1, true));
    setup.geometry.parallelism = array(2, 1, 1, 1);
    setup = Setup { gantt: Some(Window { from: Nanos(0), length: Nanos(10_000) }), ..setup.clone() };
    // The program starts at 20 ns; the read on the other die ends at 520 ns.
    let outcome = replay(&setup, &[at(0, Op::Write, 0, 1), at(400, Op::Read, 1, 1)]);
    let activity = outcome.activity.expect("a drive");
    assert_eq!(activity.dies_busy_ns.iter().map(|bins| bins.iter().sum::<u64>()).collect::<Vec<_>>(), [500, 100]);
    let program = activity.gantt.iter().find(|bar| bar.kind == Kind::Program && !bar.bus).expect("a program");
    assert_eq!((program.begin_ns, program.end_ns), (20, 520));
}
