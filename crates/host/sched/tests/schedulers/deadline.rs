//! Dispatch order and limits of the scheduler `deadline`, in small cases derived by hand.

use ssdlab_sched::{Bio, Direction, Flags};

use crate::bench::{Bench, MS, runs};

#[test]
fn deadline_serves_two_batches_of_reads_before_writes() {
    // Two batches of reads go before the waiting writes; the third batch is a batch of writes; then `starved` restarts.
    let mut bench = Bench::new("deadline", &[("fifo_batch", 2)]);
    bench.writes([5000, 6000]);
    bench.reads([100, 200, 300, 400, 500, 600]);
    assert_eq!(bench.order(8), "r100 r200 r300 r400 w5000 w6000 r500 r600");
}

#[test]
fn deadline_counts_starved_only_while_both_directions_wait() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
    bench.reads([100, 200, 300]);
    // No write waits, so these two batches do not count.
    assert_eq!(bench.order(2), "r100 r200");
    bench.writes([5000]);
    bench.reads([400]);
    assert_eq!(bench.order(3), "r300 r400 w5000");
}

#[test]
fn deadline_fixes_the_next_request_at_dispatch() {
    // Request 200 was fixed as next when request 100 was dispatched, so request 150 is too late. A batch does not wrap
    // around: it ends after request 200, and the next batch begins with the oldest request.
    let mut bench = Bench::new("deadline", &[]);
    bench.reads([100, 200]);
    assert_eq!(bench.next(), "r100");
    bench.reads([150]);
    assert_eq!(bench.order(2), "r200 r150");
}

#[test]
fn deadline_checks_deadlines_only_between_batches() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 3)]);
    bench.reads([900, 100, 200]);
    assert_eq!(bench.next(), "r900");
    bench.reads([300, 400, 500]);
    // No request lies beyond sector 900, so a new batch begins with the oldest request.
    assert_eq!(bench.next(), "r100");
    bench.reads([50]);
    bench.wait(501 * MS);
    // All requests are overdue, but the batch of three continues first. Then the oldest request is dispatched, which
    // lies ahead anyway.
    assert_eq!(bench.order(2), "r200 r300");
    assert_eq!(bench.order(3), "r400 r500 r50");
}

#[test]
fn deadline_jumps_back_for_an_overdue_request() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
    bench.reads([500]);
    assert_eq!(bench.next(), "r500");
    bench.reads([100]);
    bench.reads([600]);
    // Expiry is strict: a request at its deadline is not overdue. The request goes first because no next request was
    // fixed.
    bench.wait(500 * MS);
    assert_eq!(bench.next(), "r100");
    bench.reads([50, 700]);
    bench.wait(500 * MS);
    // Request 600 is fixed as next and also overdue; request 50 is not overdue yet.
    assert_eq!(bench.next(), "r600");
    assert_eq!(bench.next(), "r700");
    assert_eq!(bench.next(), "r50");
}

#[test]
fn deadline_begins_with_the_oldest_after_a_change_of_direction() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1), ("writes_starved", 0)]);
    bench.writes([5000]);
    assert_eq!(bench.next(), "w5000");
    bench.reads([100]);
    assert_eq!(bench.next(), "r100");
    // The position of writes, sector 5000, is forgotten: the oldest write goes first, not the next write in sector
    // order.
    bench.writes([1000, 6000]);
    assert_eq!(bench.next(), "w1000");
}

#[test]
fn deadline_dispatches_ascending_batches_of_sixteen() {
    // Two batches of reads precede a batch of writes. The first batch begins with the oldest request, 0.
    let reads: Vec<u64> = (0..40).map(|k| 100 * k).collect();
    let writes: Vec<u64> = (0..20).map(|k| 9000 + 100 * k).collect();
    let mut bench = Bench::new("deadline", &[]);
    bench.writes(writes.iter().copied());
    bench.reads(reads[..1].iter().chain(reads[1..].iter().rev()).copied());
    assert_eq!(bench.order(48), runs(&[('r', &reads[..32]), ('w', &writes[..16])]));
}

#[test]
fn deadline_expiry_is_strict() {
    // After request 500, request 600 is fixed as next. The oldest request, 300, has a deadline of 500 ms and is overdue
    // a nanosecond later.
    let after = |ns| {
        let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
        bench.reads([500, 300, 600]);
        assert_eq!(bench.next(), "r500");
        bench.wait(ns);
        bench.next()
    };
    assert_eq!(after(500 * MS), "r600");
    assert_eq!(after(500 * MS + 1), "r300");
}

#[test]
fn deadline_treats_synchronous_writes_as_writes() {
    // A synchronous write waits for two reads, each in a separate batch.
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
    bench.insert(Bio { flags: Flags::SYNC, ..Bench::bio(100, Direction::Write) });
    bench.reads([500, 600, 700]);
    assert_eq!(bench.order(4), "r500 r600 w100 r700");
}
