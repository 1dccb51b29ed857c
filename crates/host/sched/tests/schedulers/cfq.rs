//! Dispatch order and limits of the scheduler `cfq`, in small cases derived by hand.

use ssdlab_sched::{Bio, Direction, Flags, Priority, PriorityClass};

use crate::bench::{Bench, MS, disk};

#[test]
fn cfq_gives_each_process_its_slice() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100, 300]);
    bench.reads_of(2, [20_000_200, 20_000_400]);
    // The processes do not alternate: the slice of process 1 comes first.
    assert_eq!(bench.order(2), "r100 r300");
    bench.now = MS;
    bench.complete_all();
    // Process 1 has no more requests: the disk idles for it up to 8 ms, then process 2 is served.
    assert_eq!(bench.next(), "");
    bench.wait(8 * MS - 1);
    assert_eq!(bench.next(), "");
    bench.wait(1);
    assert_eq!(bench.order(2), "r20000200 r20000400");
}

#[test]
fn cfq_serves_a_close_process_instead_of_idling() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100]);
    bench.reads_of(3, [20_000_000]);
    bench.reads_of(2, [200]);
    assert_eq!(bench.next(), "r100");
    bench.complete();
    // Process 3 is due before process 2, but the request of process 2 is close to process 1.
    assert_eq!(bench.next(), "r200");
}

#[test]
fn cfq_continues_with_a_process_that_returns_in_time() {
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
fn cfq_does_not_idle_on_an_ssd_with_a_command_queue_nor_for_noidle() {
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
    // Without other processes, a queue may have four quanta of requests at the device.
    assert_eq!(bench.order(17).split(' ').filter(|what| !what.is_empty()).count(), 16);
    bench.complete_all();
    // With another process, a queue may have one quantum of requests at the device.
    bench.reads_of(1, (20..40).map(|k| 100 * k));
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.order(5).split(' ').filter(|what| !what.is_empty()).count(), 4);
}

#[test]
fn cfq_prefers_synchronous_requests() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.writes([100, 200, 300]);
    // Only one asynchronous request may be at the device until a slice has passed since the last synchronous
    // completion.
    assert_eq!(bench.order(2), "w100 ");
    // A read preempts the asynchronous queue, but waits for the completion of its write.
    assert!(bench.insert(Bio { pid: 2, ..Bench::bio(900, Direction::Read) }));
    assert_eq!(bench.next(), "");
    bench.complete();
    assert_eq!(bench.next(), "r900");
    // While the read is at the device, no asynchronous request is dispatched; afterwards the disk idles for the read's
    // process.
    assert_eq!(bench.next(), "");
    bench.complete();
    assert_eq!(bench.next(), "");
    bench.wait(8 * MS);
    assert_eq!(bench.order(2), "w200 ");
    // After 200 ms, two asynchronous requests may be at the device.
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
    // 2 * (2 + 2 * (7 - 4)) = 16 requests of priority 4, then the queue of priority 3.
    assert_eq!(order.split(' ').position(|what| what == "w9000"), Some(16), "{order}");
}

#[test]
fn cfq_limits_and_penalizes_backward_seeks() {
    // A seek of 42 008 sectors back exceeds 16 MiB. A seek of 1000 sectors back costs 2000, less than a seek of 3000
    // sectors ahead.
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
    // Request 100 is nearer to the head at sector 0, but request 100 000 is older and has waited for 125 ms.
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

fn of(pid: u32, class: PriorityClass, level: u8, start: u64) -> Bio {
    Bio { pid, priority: Priority { class, level }, ..Bench::bio(start, Direction::Read) }
}

#[test]
fn cfq_starts_the_clock_of_a_slice_with_its_first_completion() {
    // Slices of 100 ms at priority 4, 100 + 4 * 20 = 180 ms at 0, 100 - 3 * 20 = 40 ms at 7, from the completion at 150 ms.
    for (level, slice) in [(4, 100), (0, 180), (7, 40)] {
        let mut bench = Bench::on("cfq", &[], disk());
        for start in [100, 200, 300, 400] {
            bench.insert(of(1, PriorityClass::BestEffort, level, start));
        }
        bench.insert(of(2, PriorityClass::BestEffort, level, 50_000_000));
        assert_eq!(bench.next(), "r100");
        bench.wait(150 * MS);
        bench.complete();
        assert_eq!(bench.next(), "r200");
        bench.wait(slice * MS - 1);
        assert_eq!(bench.next(), "r300");
        bench.wait(1);
        assert_eq!(bench.next(), "r50000000", "level {level}");
    }
}

#[test]
fn cfq_orders_queues_by_time_and_slice() {
    // Keys in ms at time 0: first queue 0; level 7 after one queue, 1 * (180 - 40) = 140; level 0 after two queues,
    // 2 * (180 - 180) = 0, a tie with the first queue.
    let mut bench = Bench::on("cfq", &[("slice_idle", 0)], disk());
    bench.insert(of(1, PriorityClass::BestEffort, 4, 100));
    bench.insert(of(2, PriorityClass::BestEffort, 7, 20_000_000));
    bench.insert(of(3, PriorityClass::BestEffort, 0, 40_000_000));
    assert_eq!(bench.order(3), "r100 r40000000 r20000000");
}

#[test]
fn cfq_credits_the_rest_of_a_preempted_slice() {
    let served = |preempted_at| {
        let mut bench = Bench::on("cfq", &[], disk());
        bench.reads_of(1, [100, 200]);
        bench.reads_of(2, [50_000_000]);
        assert_eq!(bench.next(), "r100");
        bench.complete();
        bench.wait(preempted_at * MS);
        // A real-time request preempts. Process 2 has key 1 * (180 - 100) = 80 ms.
        assert!(bench.insert(of(3, PriorityClass::RealTime, 4, 20_000_000)));
        assert_eq!(bench.next(), "r20000000");
        bench.complete();
        bench.wait(8 * MS);
        bench.next()
    };
    // Process 1 is preempted after 5 ms and queued after two queues. Its key is 5 + 2 * 80 - (100 - 5) = 70 ms.
    assert_eq!(served(5), "r200");
    // After 20 ms, its key is 20 + 2 * 80 - (100 - 20) = 100 ms, so process 2 is served first.
    assert_eq!(served(20), "r50000000");
}

#[test]
fn cfq_preemption_rules() {
    use PriorityClass::{BestEffort, Idle, RealTime};
    let meta = |start| Bio { flags: Flags::META, ..of(2, BestEffort, 4, start) };
    let preempts = |active: &[Bio], arrival: Bio| {
        let mut bench = Bench::on("cfq", &[], disk());
        active.iter().for_each(|&bio| _ = bench.insert(bio));
        bench.next();
        bench.insert(arrival)
    };
    let (busy, far) = ([of(1, BestEffort, 4, 100), of(1, BestEffort, 4, 200)], 50_000_000);
    assert!(!preempts(&busy, of(2, BestEffort, 0, far)));
    assert!(preempts(&busy, of(2, RealTime, 7, far)));
    assert!(!preempts(&busy, of(2, Idle, 0, far)));
    // Metadata preempts, unless the active queue has metadata itself.
    assert!(preempts(&busy, meta(far)));
    assert!(!preempts(&[busy[0], busy[1], Bio { pid: 1, ..meta(9000) }, Bio { pid: 1, ..meta(9100) }], meta(far)));
    assert!(preempts(&[of(1, Idle, 4, 100), of(1, Idle, 4, 200)], of(2, BestEffort, 7, far)));
    // A close request preempts only while the device idles for the active queue. Close means within 8192 sectors of the
    // head, which is at sector 108.
    for (waits, start, expected) in [(false, 8300, false), (true, 8300, true), (true, 8308, false)] {
        let mut bench = Bench::on("cfq", &[], disk());
        bench.reads_of(1, [100]);
        bench.next();
        if waits {
            bench.complete();
        }
        assert_eq!(bench.insert(of(2, BestEffort, 4, start)), expected, "{start}");
    }
}

#[test]
fn cfq_serves_metadata_first() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100]);
    bench.insert(Bio { flags: Flags::META, ..Bench::bio(20_000_000, Direction::Read) });
    assert_eq!(bench.order(2), "r20000000 r100");
}

#[test]
fn cfq_continues_from_an_expired_request() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.reads_of(1, [100_000, 100, 99_000, 101_000]);
    bench.wait(125 * MS);
    // Request 100 000 is the oldest. Of its neighbours, request 99 000 is nearer to the head's old position, 0. At the
    // next choice the head is at sector 100 008, where request 101 000 is nearer than request 100. Ages are checked
    // once per slice.
    assert_eq!(bench.order(4), "r100000 r99000 r101000 r100");
}

#[test]
fn cfq_idles_briefly_for_a_seeky_process() {
    // The time before a process's first request is not think time: otherwise the mean would be 16 * 0.2 = 3.2 ms, above
    // the limit of 2 ms.
    let mut bench = Bench::on("cfq", &[], disk());
    bench.wait(1000 * MS);
    for k in 1..=3 {
        bench.reads_of(1, [1_000_000 * k]);
        bench.next();
        bench.complete();
    }
    bench.reads_of(1, [4_000_000]);
    // Process 2 is close, but seeky processes do not cooperate.
    bench.reads_of(2, [4_000_100]);
    assert_eq!(bench.next(), "r4000000");
    bench.complete();
    bench.wait(2 * MS - 1);
    assert_eq!(bench.next(), "");
    bench.wait(1);
    assert_eq!(bench.next(), "r4000100");
}

#[test]
fn cfq_does_not_idle_for_a_process_with_long_think_time() {
    let mut bench = Bench::on("cfq", &[], disk());
    for k in 0..12 {
        bench.reads_of(1, [100 + 8 * k]);
        bench.next();
        bench.complete();
        bench.wait(10 * MS);
    }
    bench.reads_of(1, [1000]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r1000");
    bench.complete();
    assert_eq!(bench.next(), "r50000000");
}

#[test]
fn cfq_idles_on_an_ssd_without_a_command_queue() {
    let mut bench = Bench::new("cfq", &[]);
    bench.reads_of(1, (0..60).map(|k| 100 * k));
    // Takes 51 samples with more than five requests waiting, but never five at the device.
    for _ in 0..60 {
        bench.next();
        bench.complete();
    }
    bench.reads_of(1, [9000]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r9000");
    bench.complete();
    assert_eq!(bench.next(), "");
}

#[test]
fn cfq_runs_the_queue_at_once_for_a_large_request_or_if_others_wait() {
    let runs_at_once = |sectors, others: bool| {
        let mut bench = Bench::on("cfq", &[], disk());
        bench.reads_of(1, [100]);
        bench.next();
        bench.complete();
        if others {
            bench.reads_of(2, [50_000_000]);
        }
        bench.insert(Bio { sectors, ..Bench::bio(200, Direction::Read) })
    };
    assert_eq!((runs_at_once(8, false), runs_at_once(16, false), runs_at_once(8, true)), (false, true, true));
}

#[test]
fn cfq_limits_the_idle_class_to_one_request_at_the_device() {
    let mut bench = Bench::on("cfq", &[], disk());
    bench.insert(of(1, PriorityClass::Idle, 4, 100));
    bench.insert(of(1, PriorityClass::Idle, 4, 200));
    assert_eq!(bench.order(2), "r100 ");
    bench.complete();
    assert_eq!(bench.next(), "r200");
}
