//! Waiting for the process that was served.

use ssdlab_sched::{Bio, Direction, Flags};

use crate::bench::{Bench, MS};

#[test]
fn anticipatory_waits_for_the_process_it_served() {
    let mut bench = Bench::new("anticipatory", &[]);
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r100");
    // The other process lies far away: first the end of 100 is awaited, then what process 1 does next.
    assert_eq!(bench.next(), "");
    bench.wait(MS);
    bench.complete();
    bench.wait(5 * MS);
    assert_eq!(bench.next(), "");
    // It does nothing for 6 ms, on an SSD too.
    bench.wait(MS);
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn anticipatory_stops_waiting_for_the_awaited_or_a_close_request() {
    for (pid, start, stops) in [(1, 90_000_000, true), (3, 4_000, true), (3, 90_000_000, false)] {
        let mut bench = Bench::new("anticipatory", &[]);
        bench.reads_of(1, [100]);
        bench.reads_of(2, [50_000_000]);
        bench.next();
        bench.complete();
        assert_eq!(bench.next(), "");
        assert_eq!(bench.insert(Bio { pid, ..Bench::bio(start, Direction::Read) }), stops);
        // The nearest one ahead of the head goes.
        let expected = if start < 50_000_000 { format!("r{start}") } else { "r50000000".to_owned() };
        assert_eq!(bench.next(), if stops { expected } else { String::new() });
    }
}

#[test]
fn anticipatory_gives_up_on_processes_that_think_long() {
    let mut bench = Bench::new("anticipatory", &[]);
    for k in 0..10 {
        bench.reads_of(1, [100 * k]);
        bench.next();
        bench.complete();
        bench.wait(15 * MS);
    }
    bench.reads_of(1, [2000]);
    assert_eq!(bench.next(), "r2000");
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn anticipatory_drains_the_device_between_kinds() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.reads([100]);
    assert_eq!(bench.next(), "r100");
    bench.writes([5000, 5100]);
    // No synchronous request waits, so a batch of writes begins, when the read has ended.
    assert_eq!(bench.next(), "");
    bench.complete();
    assert_eq!(bench.order(2), "w5000 w5100");
    bench.reads([200]);
    assert_eq!(bench.next(), "");
    bench.complete();
    assert_eq!(bench.next(), "");
    bench.complete();
    assert_eq!(bench.next(), "r200");
}

#[test]
fn anticipatory_ends_batches_by_time_and_writes_by_count() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.writes((0..40).map(|k| 10_000 + 100 * k));
    bench.reads([100, 200]);
    // The clock runs from the start: the first batch of reads lasts 500 ms.
    assert_eq!(bench.next(), "r100");
    bench.wait(501 * MS);
    // Over, with both kinds waiting: writes, after the read has ended.
    assert_eq!(bench.next(), "");
    bench.complete();
    // 125 ms at ten each: twelve writes, then the read.
    let order = bench.order(13);
    assert_eq!(order.split(' ').filter(|what| what.starts_with('w')).count(), 12, "{order}");
    bench.complete_all();
    assert_eq!(bench.next(), "r200");
    // The batch took less than a third of its time: it is doubled.
    bench.complete();
    assert_eq!(bench.next().len(), 6);
    bench.reads([300]);
    let order = bench.order(30);
    assert_eq!(order.split(' ').filter(|what| what.starts_with('w')).count(), 23, "{order}");
}

#[test]
fn anticipatory_takes_an_overdue_request_first() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.reads([900_000_000 / 8, 100, 200]);
    assert_eq!(bench.next(), "r100");
    // 112 500 000 is the oldest; ages are looked at again after 125 ms, and it must be older than that.
    bench.wait(126 * MS);
    assert_eq!(bench.order(2), "r112500000 r200");
}

#[test]
fn anticipatory_keeps_synchronous_writes_with_reads() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.reads([300]);
    bench.insert(Bio { flags: Flags::SYNC, ..Bench::bio(200, Direction::Write) });
    bench.writes([100]);
    assert_eq!(bench.order(3), "w200 r300 ");
    bench.complete_all();
    assert_eq!(bench.next(), "w100");
}
