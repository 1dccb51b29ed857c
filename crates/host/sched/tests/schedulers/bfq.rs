//! Dispatch order and limits of the scheduler `bfq`, in small cases derived by hand.

use ssdlab_sched::{Bio, Direction, Flags, Priority, PriorityClass};

use crate::bench::{Bench, MS, disk};

/// Returns a read of a process at a priority level.
fn read(pid: u32, level: u8, start: u64) -> Bio {
    let priority = Priority { class: PriorityClass::BestEffort, level };
    Bio { pid, priority, ..Bench::bio(start, Direction::Read) }
}

#[test]
fn bfq_shares_sectors_by_weight() {
    // Two backlogged processes of weights 80 and 40, one request of 256 KiB at a time.
    let fair = [("max_budget", 4096), ("low_latency", 0), ("slice_idle", 0), ("timeout_sync", 3_600_000)];
    let mut bench = Bench::new("bfq", &fair);
    for k in 0..600 {
        for (pid, level) in [(1, 0), (2, 4)] {
            bench.insert(Bio { sectors: 512, ..read(pid, level, u64::from(pid) * 10_000_000 + 512 * k) });
        }
    }
    let mut heavier = 0;
    for _ in 0..600 {
        heavier += u32::from(bench.next().starts_with("r10"));
        bench.wait(10_000);
        bench.complete();
    }
    assert!((375..=425).contains(&heavier), "{heavier} of 600 went to the process with twice the weight");
}

#[test]
fn bfq_idles_for_a_process_on_a_disk() {
    let mut bench = Bench::on("bfq", &[("low_latency", 0)], disk());
    bench.insert(read(1, 0, 100));
    bench.insert(read(2, 4, 50_000_000));
    // A higher weight takes effect only with idling.
    assert_eq!(bench.order(2), "r100 ");
    bench.complete();
    bench.wait(8 * MS - 1);
    assert_eq!(bench.next(), "");
    bench.wait(1);
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn bfq_does_not_idle_without_slice_idle() {
    let mut bench = Bench::on("bfq", &[("low_latency", 0), ("slice_idle", 0)], disk());
    bench.insert(read(1, 0, 100));
    bench.insert(read(2, 4, 50_000_000));
    assert_eq!(bench.order(2), "r100 r50000000");
}

#[test]
fn bfq_gives_the_device_one_request_at_a_time_if_strict() {
    let mut bench = Bench::new("bfq", &[("strict_guarantees", 1)]);
    bench.reads_of(1, [100, 200]);
    assert_eq!(bench.order(2), "r100 ");
    bench.complete();
    assert_eq!(bench.next(), "r200");
}

#[test]
fn bfq_ends_a_turn_by_time() {
    let mut bench = Bench::on("bfq", &[("low_latency", 0)], disk());
    bench.insert(read(1, 4, 100));
    bench.insert(read(1, 4, 200));
    bench.insert(read(1, 4, 300));
    bench.insert(read(2, 4, 10_000_000));
    assert_eq!(bench.next(), "r100");
    // 125 ms are 31 jiffies of 4 ms.
    bench.wait(124 * MS - 1);
    assert_eq!(bench.next(), "r200");
    bench.wait(1);
    assert_eq!(bench.next(), "r10000000");
}

#[test]
fn bfq_charges_asynchronous_service_threefold() {
    // Requests of 512 sectors, with an initial budget of 10,922.
    let writes_before_read = |flags: Flags| {
        let mut bench = Bench::on("bfq", &[("low_latency", 0), ("slice_idle", 0)], disk());
        for k in 0..40 {
            bench.insert(Bio { flags, sectors: 512, ..Bench::bio(512 * k, Direction::Write) });
        }
        bench.insert(read(2, 4, 10_000_000));
        (0..40).take_while(|_| bench.next().starts_with('w')).count()
    };
    assert_eq!((writes_before_read(Flags::SYNC), writes_before_read(Flags::NONE)), (21, 7));
}
