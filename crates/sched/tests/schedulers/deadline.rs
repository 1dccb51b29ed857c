//! Deadline of Linux 2.6.32.

use ssdlab_sched::{Bio, Direction, Flags};

use crate::bench::{Bench, MS, runs};

#[test]
fn deadline_passes_two_batches_of_reads() {
    // Two batches of reads pass the waiting write, the third choice is the write; then `starved` counts anew.
    let mut bench = Bench::new("deadline", &[("fifo_batch", 2)]);
    bench.writes([5000, 6000]);
    bench.reads([100, 200, 300, 400, 500, 600]);
    assert_eq!(bench.order(8), "r100 r200 r300 r400 w5000 w6000 r500 r600");
}

#[test]
fn deadline_counts_starved_only_while_both_wait() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
    bench.reads([100, 200, 300]);
    // No write waits: these two batches count for nothing.
    assert_eq!(bench.order(2), "r100 r200");
    bench.writes([5000]);
    bench.reads([400]);
    assert_eq!(bench.order(3), "r300 r400 w5000");
}

#[test]
fn deadline_remembers_whom_to_continue_with() {
    // 200 was remembered when 100 went; 150 comes too late for its place, and there is no wrap: after 200 the batch
    // ends and the next one begins with the oldest.
    let mut bench = Bench::new("deadline", &[]);
    bench.reads([100, 200]);
    assert_eq!(bench.next(), "r100");
    bench.reads([150]);
    assert_eq!(bench.order(2), "r200 r150");
}

#[test]
fn deadline_looks_at_deadlines_between_batches_only() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 3)]);
    bench.reads([900, 100, 200]);
    assert_eq!(bench.next(), "r900");
    bench.reads([300, 400, 500]);
    // The end of the device: a new batch begins with the oldest.
    assert_eq!(bench.next(), "r100");
    bench.reads([50]);
    bench.wait(501 * MS);
    // 200 to 500 and 50 are overdue, but the batch of three goes on first; then the oldest, which lies ahead anyway.
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
    // The expiry is strict: at its very deadline a request is not overdue, but there is nothing remembered either.
    bench.wait(500 * MS);
    assert_eq!(bench.next(), "r100");
    bench.reads([50, 700]);
    bench.wait(500 * MS);
    // 600 is remembered and 500 ms over its deadline; 50 is not overdue yet.
    assert_eq!(bench.next(), "r600");
    assert_eq!(bench.next(), "r700");
    assert_eq!(bench.next(), "r50");
}

#[test]
fn deadline_begins_at_the_oldest_after_a_change_of_direction() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1), ("writes_starved", 0)]);
    bench.writes([5000]);
    assert_eq!(bench.next(), "w5000");
    bench.reads([100]);
    assert_eq!(bench.next(), "r100");
    // The position of writes, 5000, is forgotten: the oldest goes first, not the one that follows it.
    bench.writes([1000, 6000]);
    assert_eq!(bench.next(), "w1000");
}

#[test]
fn deadline_has_batches_of_sixteen_in_ascending_order() {
    // Two batches of reads, one of writes, ascending with gaps; the first one begins with the oldest, 0.
    let reads: Vec<u64> = (0..40).map(|k| 100 * k).collect();
    let writes: Vec<u64> = (0..20).map(|k| 9000 + 100 * k).collect();
    let mut bench = Bench::new("deadline", &[]);
    bench.writes(writes.iter().copied());
    bench.reads(reads[..1].iter().chain(reads[1..].iter().rev()).copied());
    assert_eq!(bench.order(48), runs(&[('r', &reads[..32]), ('w', &writes[..16])]));
}

#[test]
fn deadline_is_strict_about_deadlines() {
    // After 500, 600 is remembered; 300 is the oldest and due at 500 ms: not yet overdue then, but a nanosecond later.
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
fn deadline_goes_by_direction_not_by_who_waits() {
    // A synchronous write is a write: it waits for two reads, each a batch of its own.
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
    bench.insert(Bio { flags: Flags::SYNC, ..Bench::bio(100, Direction::Write) });
    bench.reads([500, 600, 700]);
    assert_eq!(bench.order(4), "r500 r600 w100 r700");
}
