//! Dispatch order of the schedulers `flashfq` and `fios`, in small cases derived by hand.

use ssdlab_sched::{Bio, Direction, Priority};

use crate::bench::{Bench, MS};

/// Parameters that set the cost of every request to one millisecond.
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
    // Weights 8 and 4: two requests of the first process for each of the second.
    let order = bench.order(15);
    assert_eq!(order.split(' ').filter(|what| what.starts_with("r1")).count(), 10, "{order}");
}

#[test]
fn flashfq_throttles_a_process_ahead_of_the_slowest() {
    // Weight 4: a request takes 0.25 ms of virtual time. Process 1 is at 0.25 ms; process 2 may advance from 0 to 1.25
    // ms.
    let mut bench = Bench::new("flashfq", &with_costs(&[("throttle_ms", 1)]));
    bench.reads_of(1, [0]);
    bench.reads_of(2, (0..10).map(|k| 100 + k));
    assert_eq!(bench.order(8), "r0 r100 r101 r102 r103 r104 r105 ");
    // The slow process has no request left but is anticipated.
    bench.complete();
    assert_eq!(bench.next(), "");
    bench.wait(2 * MS);
    assert_eq!(bench.next(), "r106");
}

#[test]
fn fios_prefers_reads_within_slices() {
    let mut bench = Bench::new("fios", &with_costs(&[("slice_ms", 3)]));
    bench.insert(Bio { pid: 2, ..Bench::bio(5000, Direction::Write) });
    bench.reads_of(1, (0..5).map(|k| 100 * k));
    // The write waits while reads can be issued or are at the device; three reads use up the slice.
    assert_eq!(bench.order(4), "r0 r100 r200 ");
    bench.complete_all();
    assert_eq!(bench.next(), "w5000");
    // No process with time left has a request waiting, so the next epoch begins.
    assert_eq!(bench.order(2), "r300 r400");
}

#[test]
fn fios_awaits_a_process_before_it_ends_an_epoch() {
    let mut bench = Bench::new("fios", &with_costs(&[("slice_ms", 2)]));
    bench.reads_of(1, [0]);
    bench.reads_of(2, [5000, 5100, 5200]);
    assert_eq!(bench.order(3), "r0 r5000 r5100");
    bench.complete();
    // Process 1 has time left and is anticipated; process 2 gets its next slice only afterwards.
    assert_eq!(bench.next(), "");
    bench.wait(2 * MS);
    assert_eq!(bench.next(), "r5200");
}
