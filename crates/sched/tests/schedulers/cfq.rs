//! Time slices for processes.

use ssdlab_sched::{Bio, Direction, Flags, Priority, PriorityClass};

use crate::bench::{Bench, MS, disk};

#[test]
fn cfq_gives_each_process_its_slice() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100, 300]);
    bench.reads_of(2, [20_000_200, 20_000_400]);
    // Taken in turn they would alternate; the slice of process 1 comes first.
    assert_eq!(bench.order(2), "r100 r300");
    bench.now = MS;
    bench.complete_all();
    // Process 1 has nothing more: the disk idles for it, up to 8 ms, then process 2 is served.
    assert_eq!(bench.next(), "");
    bench.wait(8 * MS - 1);
    assert_eq!(bench.next(), "");
    bench.wait(1);
    assert_eq!(bench.order(2), "r20000200 r20000400");
}

#[test]
fn cfq_serves_a_process_close_by_instead_of_idling() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100]);
    bench.reads_of(3, [20_000_000]);
    bench.reads_of(2, [200]);
    assert_eq!(bench.next(), "r100");
    bench.complete();
    // Process 3 has its turn before 2, but 2 works where 1 did.
    assert_eq!(bench.next(), "r200");
}

#[test]
fn cfq_goes_on_with_a_process_that_comes_back_in_time() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r100");
    bench.complete();
    bench.wait(2 * MS);
    assert_eq!(bench.next(), "");
    bench.reads_of(1, [108]);
    assert_eq!(bench.next(), "r108");
}

#[test]
fn cfq_does_not_idle_on_an_ssd_that_queues_nor_for_noidle() {
    let mut bench = Bench::new("cfq", &[]);
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r100");
    bench.complete();
    assert_eq!(bench.next(), "r50000000");

    let mut bench = Bench::on("cfq", &[], disk());
    bench.insert(Bio { flags: Flags::NOIDLE, ..Bench::bio(100, Direction::Read) });
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r100");
    bench.complete();
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn cfq_limits_requests_at_the_device() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, (0..20).map(|k| 100 * k));
    // Alone, four quanta.
    assert_eq!(bench.order(17).split(' ').filter(|what| !what.is_empty()).count(), 16);
    bench.complete_all();
    // With another process, one.
    bench.reads_of(1, (20..40).map(|k| 100 * k));
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.order(5).split(' ').filter(|what| !what.is_empty()).count(), 4);
}

#[test]
fn cfq_prefers_synchronous_requests() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.writes([100, 200, 300]);
    // One asynchronous request at a time until a slice has passed since the last synchronous one ended.
    assert_eq!(bench.order(2), "w100 ");
    // A read preempts the asynchronous queue, but waits until its write has ended.
    assert!(bench.insert(Bio { pid: 2, ..Bench::bio(900, Direction::Read) }));
    assert_eq!(bench.next(), "");
    bench.complete();
    assert_eq!(bench.next(), "r900");
    // While it is at the device no asynchronous request goes, and afterwards the disk idles for its process.
    assert_eq!(bench.next(), "");
    bench.complete();
    assert_eq!(bench.next(), "");
    bench.wait(8 * MS);
    assert_eq!(bench.order(2), "w200 ");
    // 200 ms later two may be at the device.
    bench.complete();
    bench.wait(200 * MS);
    bench.writes([400, 500]);
    assert_eq!(bench.order(3), "w300 w400 ");
}

#[test]
fn cfq_ends_an_asynchronous_slice_by_requests() {
    let mut bench = Bench::on("cfq", &[("low_latency", 0), ("quantum", 100)], disk());
    bench.writes((0..20).map(|k| 100 * k));
    let higher = Priority { class: PriorityClass::BestEffort, level: 3 };
    bench.insert(Bio { priority: higher, ..Bench::bio(9000, Direction::Write) });
    let order = bench.order(17);
    // 2 * (2 + 2 * (7 - 4)) = 16 of priority 4, then the queue of priority 3.
    assert_eq!(order.split(' ').position(|what| what == "w9000"), Some(16), "{order}");
}

#[test]
fn cfq_goes_back_only_a_little() {
    // 40 000 sectors back are beyond 16 MiB; 1000 back count as 2000, which is nearer than 3000 ahead.
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [50_000]);
    assert_eq!(bench.next(), "r50000");
    bench.reads_of(1, [8_000, 49_008, 53_008]);
    assert_eq!(bench.order(3), "r49008 r53008 r8000");
}

#[test]
fn cfq_takes_an_overdue_request_first_in_a_slice() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100_000]);
    bench.reads_of(2, [50_000_000]);
    bench.reads_of(1, [100]);
    bench.wait(125 * MS);
    // 100 is nearer to the head at sector 0, 100 000 is older and has waited for 125 ms.
    assert_eq!(bench.order(2), "r100000 r100");
}

#[test]
fn cfq_serves_classes_in_order() {
    let mut bench = Bench::on("cfq", &[], disk());
    let of = |class, pid, start| {
        let priority = Priority { class, level: 4 };
        Bio { priority, pid, ..Bench::bio(start, Direction::Read) }
    };
    bench.insert(of(PriorityClass::Idle, 1, 100));
    bench.insert(of(PriorityClass::BestEffort, 2, 20_000_000));
    bench.insert(of(PriorityClass::RealTime, 3, 40_000_000));
    assert_eq!(bench.next(), "r40000000");
    bench.complete();
    bench.wait(8 * MS);
    assert_eq!(bench.next(), "r20000000");
    bench.complete();
    bench.wait(8 * MS);
    assert_eq!(bench.next(), "r100");
}
