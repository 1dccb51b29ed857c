//! Budgets for processes.

use ssdlab_sched::{Bio, Direction, Priority, PriorityClass};

use crate::bench::{Bench, MS, disk};

#[test]
fn bfq_lite_shares_sectors_by_weight() {
    // Two processes that always have something to do, of weights 80 and 40, in budgets of eight requests.
    let mut bench = Bench::new("bfq-lite", &[("max_budget", 64), ("slice_idle", 0)]);
    let of = |pid: u32, k: u64| {
        let priority = Priority { class: PriorityClass::BestEffort, level: if pid == 1 { 0 } else { 4 } };
        Bio { pid, priority, ..Bench::bio(u64::from(pid) * 10_000_000 + 100 * k, Direction::Read) }
    };
    for k in 0..400 {
        bench.insert(of(1, k));
        bench.insert(of(2, k));
    }
    let order = bench.order(300);
    let first = order.split(' ').filter(|what| what.starts_with("r1")).count();
    assert!((192..=208).contains(&first), "{first} of 300 were of the process with twice the weight");
    // In turns of eight.
    assert!(order.split(' ').take(8).all(|what| what.starts_with("r1")), "{order}");
}

#[test]
fn bfq_lite_idles_for_a_process_on_a_disk() {
    let mut bench = Bench::on("bfq-lite", &[], disk());
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.order(2), "r100 ");
    bench.complete();
    bench.wait(8 * MS - 1);
    assert_eq!(bench.next(), "");
    bench.wait(1);
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn bfq_lite_ends_a_turn_by_time_and_charges_asynchronous_service_thrice() {
    let mut bench = Bench::new("bfq-lite", &[("max_budget", 48), ("slice_idle", 0)]);
    bench.writes((0..10).map(|k| 100 * k));
    bench.reads_of(2, (0..20).map(|k| 10_000_000 + 100 * k));
    // A budget of 48 sectors: two writes of eight, or six reads.
    assert_eq!(bench.order(2), "w0 w100");
    assert!(bench.order(6).split(' ').all(|what| what.starts_with('r')));

    let mut bench = Bench::new("bfq-lite", &[("slice_idle", 0)]);
    bench.reads_of(1, [100, 200, 300]);
    bench.reads_of(2, [10_000_000]);
    assert_eq!(bench.next(), "r100");
    bench.wait(124 * MS);
    assert_eq!(bench.next(), "r200");
    bench.wait(MS);
    assert_eq!(bench.next(), "r10000000");
}
