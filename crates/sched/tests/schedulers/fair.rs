//! Fair shares of device time: FlashFQ and FIOS.

use ssdlab_sched::{Bio, Direction, Priority};

use crate::bench::{Bench, MS};

/// Costs of one millisecond for each request, whatever it is.
const MILLISECOND_EACH: [(&str, u64); 4] =
    [("read_base_us", 1000), ("read_sector_ns", 0), ("write_base_us", 1000), ("write_sector_ns", 0)];

fn with_costs<'a>(changes: &[(&'a str, u64)]) -> Vec<(&'a str, u64)> {
    [changes, &MILLISECOND_EACH].concat()
}

#[test]
fn flashfq_shares_device_time_by_weight() {
    let mut bench = Bench::new("flashfq", &with_costs(&[]));
    for (pid, level) in [(1, 0), (2, 4)] {
        for k in 0..30 {
            let priority = Priority { level, ..Priority::default() };
            let start = u64::from(pid) * 1000 + k;
            bench.insert(Bio { pid, priority, ..Bench::bio(start, Direction::Read) });
        }
    }
    // Weights 8 and 4: two of the first for each of the second.
    let order = bench.order(15);
    assert_eq!(order.split(' ').filter(|what| what.starts_with("r1")).count(), 10, "{order}");
}

#[test]
fn flashfq_throttles_who_runs_ahead_of_the_slowest() {
    // Weight 4: a request takes a quarter of a millisecond of virtual time. Process 1 has come to a quarter; process 2
    // may go from 0 to five quarters.
    let mut bench = Bench::new("flashfq", &with_costs(&[("throttle_ms", 1)]));
    bench.reads_of(1, [0]);
    bench.reads_of(2, (0..10).map(|k| 100 + k));
    assert_eq!(bench.order(8), "r0 r100 r101 r102 r103 r104 r105 ");
    // The slow one ends, but may come back.
    bench.complete();
    assert_eq!(bench.next(), "");
    bench.wait(2 * MS);
    assert_eq!(bench.next(), "r106");
}

#[test]
fn fios_prefers_reads_but_within_slices() {
    let mut bench = Bench::new("fios", &with_costs(&[("slice_ms", 3)]));
    bench.insert(Bio { pid: 2, ..Bench::bio(5000, Direction::Write) });
    bench.reads_of(1, (0..5).map(|k| 100 * k));
    // The write waits for reads that can be issued or are at the device; after three of them the slice is used up.
    assert_eq!(bench.order(4), "r0 r100 r200 ");
    bench.complete_all();
    assert_eq!(bench.next(), "w5000");
    // Nobody with time left has anything waiting: the next epoch.
    assert_eq!(bench.order(2), "r300 r400");
}

#[test]
fn fios_awaits_a_process_before_it_ends_an_epoch() {
    let mut bench = Bench::new("fios", &with_costs(&[("slice_ms", 2)]));
    bench.reads_of(1, [0]);
    bench.reads_of(2, [5000, 5100, 5200]);
    assert_eq!(bench.order(3), "r0 r5000 r5100");
    bench.complete();
    // Process 1 has time left and may come back: process 2 gets its next slice only when it does not.
    assert_eq!(bench.next(), "");
    bench.wait(2 * MS);
    assert_eq!(bench.next(), "r5200");
}
