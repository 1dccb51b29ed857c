//! Dispatch order and limits of the scheduler `anticipatory`, in small cases derived by hand.

use ssdlab_sched::{Bio, Direction, Flags};

use crate::bench::{Bench, MS};

#[test]
fn anticipatory_waits_for_the_process_it_served() {
    let mut bench = Bench::new("anticipatory", &[]);
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r100");
    // The other process is far away: the scheduler waits for the completion of 100, then for process 1's next request.
    assert_eq!(bench.next(), "");
    bench.wait(MS);
    bench.complete();
    bench.wait(5 * MS);
    assert_eq!(bench.next(), "");
    // The scheduler idles for 6 ms, also on an SSD.
    bench.wait(MS);
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn anticipatory_does_not_start_waiting_after_the_timeout() {
    for (ns, expected) in [(6 * MS - 1, ""), (6 * MS, "r50000000")] {
        let mut bench = Bench::new("anticipatory", &[]);
        bench.reads_of(1, [100]);
        bench.next();
        bench.complete();
        bench.wait(ns);
        bench.reads_of(2, [50_000_000]);
        assert_eq!(bench.next(), expected);
    }
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
        // The nearest request ahead of the head is dispatched.
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
    // No synchronous request waits, so a batch of writes begins after the read's completion.
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
    // The clock of the first batch runs from the start; a batch of reads lasts 500 ms.
    assert_eq!(bench.next(), "r100");
    bench.wait(501 * MS);
    // The batch has expired while both types of requests wait: writes follow after the read's completion.
    assert_eq!(bench.next(), "");
    bench.complete();
    // A batch of 125 ms holds twelve writes of 10 ms each; then the read follows.
    let order = bench.order(13);
    assert_eq!(order.split(' ').filter(|what| what.starts_with('w')).count(), 12, "{order}");
    bench.complete_all();
    assert_eq!(bench.next(), "r200");
    // The batch took less than a third of its time, so its size is doubled.
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
    // Request 112 500 000 is the oldest. Ages are checked again after 125 ms, and the request must be older than 125
    // ms.
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

#[test]
fn anticipatory_continues_from_an_expired_request() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.reads([50_000, 1_000, 1_100, 51_000]);
    assert_eq!(bench.next(), "r1000");
    bench.wait(126 * MS);
    // Request 50 000 is overdue. From its end, request 51 000 is 992 sectors ahead and request 1 100 is 48 908 sectors
    // behind.
    assert_eq!(bench.order(3), "r50000 r51000 r1100");
}

#[test]
fn anticipatory_checks_ages_once_per_expiry_time() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.reads([900_000, 300, 100, 200, 901_000]);
    assert_eq!(bench.next(), "r100");
    bench.wait(126 * MS);
    // Requests 900 000 and 300 are both overdue, but only one request is checked within 125 ms. From sector 901 008,
    // request 300 is nearer than request 200.
    assert_eq!(bench.order(4), "r900000 r901000 r300 r200");
}

#[test]
fn anticipatory_goes_back_half_a_gibibyte_at_double_cost() {
    let order = |starts: [u64; 2]| {
        let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
        bench.reads([2_000_000]);
        bench.next();
        bench.reads(starts);
        bench.order(2)
    };
    // The head is at sector 2 000 008. A seek of 1 048 576 sectors back costs 2 097 152, less than a seek of 2 999 992
    // sectors ahead.
    assert_eq!(order([5_000_000, 951_432]), "r951432 r5000000");
    // Requests farther back come last.
    assert_eq!(order([5_000_000, 951_424]), "r5000000 r951424");
    // Of two such requests, the one with the lower sector is dispatched.
    assert_eq!(order([900_000, 100]), "r100 r900000");
}

#[test]
fn anticipatory_begins_with_the_oldest_only_on_an_idle_device() {
    let order = |ends_before: bool| {
        let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
        bench.reads([100]);
        bench.next();
        if ends_before {
            bench.complete();
        }
        bench.writes([5000, 1000]);
        if !ends_before {
            // A batch of writes is due, but the read must complete first.
            assert_eq!(bench.next(), "");
            bench.complete();
        }
        bench.order(2)
    };
    assert_eq!(order(true), "w5000 w1000");
    assert_eq!(order(false), "w1000 w5000");
}

#[test]
fn anticipatory_extends_a_batch_of_reads_while_no_write_waits() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.reads([100, 200, 300]);
    assert_eq!(bench.next(), "r100");
    bench.wait(400 * MS);
    // No write waits, so the batch lasts 500 ms from here.
    assert_eq!(bench.next(), "r200");
    bench.writes([9000]);
    bench.wait(400 * MS);
    assert_eq!(bench.next(), "r300");
}

#[test]
fn anticipatory_starts_the_clock_of_reads_with_their_first_completion() {
    let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
    bench.writes([1000]);
    assert_eq!(bench.next(), "w1000");
    bench.complete();
    bench.reads([100, 200]);
    assert_eq!(bench.next(), "r100");
    bench.writes([3000]);
    // The first read completes after 600 ms; the 500 ms of the batch begin only then.
    bench.wait(600 * MS);
    assert_eq!(bench.next(), "r200");
    bench.complete_all();
    bench.wait(500 * MS);
    bench.reads([300]);
    assert_eq!(bench.next(), "r300");
    bench.complete();
    bench.wait(1);
    bench.reads([400]);
    assert_eq!(bench.next(), "w3000");
}

#[test]
fn anticipatory_adapts_the_batch_size_of_writes() {
    // Returns the size of the batch that follows a batch of twelve writes. The first batch took `took` ms of its 125
    // ms, measured to the completion of the following read.
    let next_batch = |took| {
        let mut bench = Bench::new("anticipatory", &[("antic_expire", 0)]);
        bench.writes((0..40).map(|k| 10_000 + 100 * k));
        bench.order(12);
        bench.complete_all();
        bench.reads([100]);
        assert_eq!(bench.next(), "r100");
        bench.wait(took * MS);
        bench.complete();
        bench.next();
        bench.reads([200]);
        1 + bench.order(28).matches('w').count()
    };
    // A batch that takes more than three times its limit halves the next size. A batch over its limit reduces the size
    // by one, a shorter batch increases it by one, and a batch under a third of its limit doubles it.
    assert_eq!([376, 375, 126].map(next_batch), [6, 11, 11]);
    assert_eq!([125, 124, 42, 41].map(next_batch), [12, 13, 13, 24]);
}

#[test]
fn anticipatory_doubles_the_close_distance_with_each_millisecond() {
    let stops = |waited, start| {
        let mut bench = Bench::new("anticipatory", &[]);
        bench.reads_of(1, [1_000_000]);
        bench.reads_of(2, [50_000_000]);
        bench.next();
        bench.complete();
        assert_eq!(bench.next(), "");
        bench.wait(waited * MS);
        bench.insert(Bio { pid: 3, ..Bench::bio(start, Direction::Read) })
    };
    // The head is at sector 1 000 008. Requests up to 8192 sectors ahead or 4096 behind are close at once, and at twice
    // these distances after a millisecond.
    assert_eq!([1_008_200, 1_008_208, 995_912, 995_904].map(|start| stops(0, start)), [true, false, true, false]);
    assert_eq!([1_016_392, 1_016_400, 991_816, 991_808].map(|start| stops(1, start)), [true, false, true, false]);
    // After five milliseconds, the close distance is 8192 << 5 = 262 144 sectors.
    assert_eq!([1_262_152, 1_262_160].map(|start| stops(5, start)), [true, false]);
}

#[test]
fn anticipatory_credits_the_awaited_process_with_close_requests_of_others() {
    let mut bench = Bench::new("anticipatory", &[]);
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.order(2), "r100 ");
    bench.complete();
    bench.wait(5 * MS);
    // After 5 ms, this request counts as close. Process 1 is credited with a seek of 199 892 sectors and a position of
    // 200 008.
    assert!(bench.insert(Bio { pid: 3, ..Bench::bio(200_000, Direction::Read) }));
    assert_eq!(bench.next(), "r200000");
    bench.complete();
    // So this read is a seek of 92 sectors, and the mean becomes (7 * 32 * 199 892 + 256 * 92) / 8 / 60 = 93 332.
    bench.reads_of(1, [200_100]);
    assert_eq!(bench.next(), "r200100");
    bench.complete();
    // A distance of 150 000 sectors exceeds the mean, so process 1 is awaited. Without the credit, the mean would be
    // 199 992.
    assert_eq!(bench.next(), "");
    assert!(!bench.insert(Bio { pid: 5, ..Bench::bio(350_108, Direction::Read) }));
    // A distance of 90 000 is below the mean.
    assert!(bench.insert(Bio { pid: 4, ..Bench::bio(290_108, Direction::Read) }));
    assert_eq!(bench.next(), "r290108");
}

#[test]
fn anticipatory_does_not_wait_after_an_asynchronous_request() {
    let mut bench = Bench::new("anticipatory", &[]);
    bench.writes([100]);
    assert_eq!(bench.next(), "w100");
    bench.complete();
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn anticipatory_lets_the_awaited_process_exceed_limits() {
    let mut bench = Bench::new("anticipatory", &[]);
    let must = |bench: &Bench, pid| bench.scheduler.must_queue(&Bio { pid, ..Bench::bio(0, Direction::Read) });
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r100");
    assert!(!must(&bench, 1));
    assert_eq!(bench.next(), "");
    assert_eq!((must(&bench, 1), must(&bench, 2)), (true, false));
}

#[test]
fn anticipatory_finds_front_merges_only_with_synchronous_writes() {
    let mut bench = Bench::new("anticipatory", &[]);
    bench.reads([100]);
    bench.insert(Bio { flags: Flags::SYNC, ..Bench::bio(200, Direction::Write) });
    bench.writes([300]);
    let found = |start, direction| bench.scheduler.front_merge(&Bench::bio(start, direction)).is_some();
    let before = [found(92, Direction::Read), found(192, Direction::Write), found(292, Direction::Write)];
    assert_eq!(before, [false, true, false]);
}
