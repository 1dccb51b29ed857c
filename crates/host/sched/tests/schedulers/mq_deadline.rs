//! Dispatch order and limits of the scheduler `mq-deadline`, in small cases derived by hand.

use ssdlab_sched::{Bio, Direction, Flags, Priority, PriorityClass};

use crate::bench::{Bench, MS};

#[test]
fn mq_deadline_continues_at_the_position_of_each_direction() {
    let mut bench = Bench::new("mq-deadline", &[("fifo_batch", 1), ("writes_starved", 0)]);
    bench.writes([5000]);
    assert_eq!(bench.next(), "w5000");
    bench.reads([100]);
    assert_eq!(bench.next(), "r100");
    bench.writes([1000, 6000]);
    assert_eq!(bench.order(2), "w6000 w1000");
}

#[test]
fn mq_deadline_lets_late_arrivals_join() {
    let mut bench = Bench::new("mq-deadline", &[]);
    bench.reads([100, 200]);
    assert_eq!(bench.next(), "r100");
    bench.reads([150]);
    assert_eq!(bench.order(2), "r150 r200");
}

#[test]
fn mq_deadline_treats_a_reached_deadline_as_expired() {
    let mut bench = Bench::new("mq-deadline", &[("fifo_batch", 1)]);
    bench.reads([500]);
    assert_eq!(bench.next(), "r500");
    bench.reads([100, 600]);
    bench.wait(500 * MS);
    assert_eq!(bench.order(2), "r100 r600");
}

#[test]
fn mq_deadline_serves_classes_in_order() {
    let mut bench = Bench::new("mq-deadline", &[]);
    let of = |class, start| {
        let priority = Priority { class, level: 4 };
        Bio { priority, ..Bench::bio(start, Direction::Read) }
    };
    bench.insert(of(PriorityClass::Idle, 10));
    bench.insert(of(PriorityClass::BestEffort, 20));
    bench.insert(of(PriorityClass::RealTime, 30));
    // A lower class waits until the higher class has no requests waiting or at the device.
    assert_eq!(bench.order(2), "r30 ");
    bench.complete();
    assert_eq!(bench.next(), "r20");
    // After ten seconds the lower class is served anyway.
    bench.wait(10_000 * MS);
    assert_eq!(bench.next(), "r10");
}

#[test]
fn mq_deadline_starts_within_a_batch_of_writes() {
    // Both directions wait; the initial state is a batch of writes at position 0.
    let mut bench = Bench::new("mq-deadline", &[]);
    bench.reads([100]);
    bench.writes([200]);
    assert_eq!(bench.order(2), "w200 r100");
}

#[test]
fn mq_deadline_limits_all_but_reads() {
    let bench = Bench::new("mq-deadline", &[("async_depth", 10)]);
    let depth = |direction| bench.scheduler.depth(&Bio { flags: Flags::SYNC, ..Bench::bio(0, direction) }, 64);
    assert_eq!((depth(Direction::Read), depth(Direction::Write)), (64, 10));
}
