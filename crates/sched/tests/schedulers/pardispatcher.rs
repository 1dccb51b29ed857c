//! Regions in turn, one direction at a time.

use ssdlab_sched::{Device, Direction, Requests};

use crate::bench::{Bench, MS, runs};

const GIB: u64 = 1 << 21;

#[test]
fn pardispatcher_skips_empty_regions() {
    let mut bench = Bench::new("pardispatcher", &[]);
    bench.reads([9 * 4 * GIB, 4 * 4 * GIB, 0, 8]);
    assert_eq!(bench.order(5), runs(&[('r', &[0, 8, 16 * GIB, 36 * GIB])]) + " ");
}

#[test]
fn pardispatcher_alternates_directions_on_a_hot_region() {
    let mut bench = Bench::new("pardispatcher", &[]);
    let (reads, writes): (Vec<_>, Vec<_>) =
        ((0..32).map(|k| 100 * k).collect(), (0..16).map(|k| 5000 + 100 * k).collect());
    bench.reads(reads.iter().copied());
    bench.writes(writes.iter().copied());
    let expected = runs(&[('r', &reads[..16]), ('w', &writes[..8]), ('r', &reads[16..]), ('w', &writes[8..])]);
    assert_eq!(bench.order(48), expected);
}

#[test]
fn pardispatcher_takes_the_other_direction_if_there_is_only_that() {
    let mut bench = Bench::new("pardispatcher", &[]);
    bench.writes([100, 200]);
    // The first turn would read.
    assert_eq!(bench.order(2), "w100 w200");
    // The turn that was served wrote, so the next one reads.
    bench.writes([300]);
    bench.reads([400]);
    assert_eq!(bench.next(), "w300");
    assert_eq!(bench.next(), "r400");
}

#[test]
fn pardispatcher_may_alternate_with_the_intended_direction() {
    // Turns of two requests. The first one intends to read and has to write.
    let served = |switch| {
        let mut bench =
            Bench::new("pardispatcher", &[("write_batch", 2), ("read_batch", 2), ("served_direction", switch)]);
        bench.writes([100, 200]);
        bench.order(2);
        bench.writes([300]);
        bench.reads([400]);
        bench.next()
    };
    assert_eq!(served(1), "r400");
    assert_eq!(served(0), "w300");
}

#[test]
fn pardispatcher_does_not_merge_across_regions() {
    let bench = Bench::new("pardispatcher", &[]);
    let mut requests = Requests::default();
    let id = requests.allocate(Bench::bio(4 * GIB - 8, Direction::Read), 1, 0);
    assert!(!bench.elevator.allow_merge(&requests[id], &Bench::bio(4 * GIB, Direction::Read)));
    assert!(bench.elevator.allow_merge(&requests[id], &Bench::bio(4 * GIB - 16, Direction::Read)));
}

#[test]
fn pardispatcher_lets_late_arrivals_join_or_not() {
    let late = |switch| {
        let mut bench = Bench::new("pardispatcher", &[("late_arrivals", switch)]);
        bench.reads([100, 300]);
        bench.writes([900]);
        bench.next();
        bench.reads([400]);
        bench.order(3)
    };
    assert_eq!(late(1), "r300 r400 w900");
    assert_eq!(late(0), "r300 w900 r400");
}

#[test]
fn pardispatcher_begins_a_turn_with_an_overdue_request() {
    let mut bench = Bench::new("pardispatcher", &[("read_batch", 1)]);
    bench.reads([500, 600]);
    assert_eq!(bench.next(), "r500");
    bench.reads([100]);
    // 600 would follow, and is the oldest as well; 100 is not.
    bench.wait(501 * MS);
    assert_eq!(bench.next(), "r600");
    bench.reads([700]);
    // Nothing follows 600 when it goes; the oldest is overdue.
    assert_eq!(bench.order(2), "r100 r700");
}

#[test]
fn pardispatcher_wraps_or_not() {
    // A batch of three from 800: at the end of the region it goes on at the beginning, or the turn ends there.
    let order = |switch| {
        let mut bench = Bench::new("pardispatcher", &[("read_batch", 3), ("wrap", switch)]);
        bench.reads([800, 900]);
        bench.reads([100, 200]);
        bench.reads([5 * GIB]);
        bench.order(5)
    };
    assert_eq!(order(1), "r800 r900 r100 r10485760 r200");
    assert_eq!(order(0), "r800 r900 r10485760 r100 r200");
}

#[test]
fn pardispatcher_covers_a_device_that_regions_do_not_divide() {
    // 10 GiB in regions of 4: the last one is short.
    let device = Device { sectors: 10 * GIB, rotational: false, nr_requests: 256 };
    let mut bench = Bench::on("pardispatcher", &[], device);
    bench.reads([10 * GIB - 8, 8 * GIB - 8, 0]);
    assert_eq!(bench.order(3), runs(&[('r', &[0, 8 * GIB - 8, 10 * GIB - 8])]));
}

#[test]
fn pardispatcher_may_scan_for_overdue_requests() {
    let mut bench = Bench::new("pardispatcher", &[("expiry_scan", 100), ("read_batch", 1)]);
    bench.reads([20 * GIB]);
    bench.wait(400 * MS);
    bench.reads([0, 8, 16]);
    bench.wait(101 * MS);
    // Region 0 would be first; region 5 is overdue.
    assert_eq!(bench.order(2), runs(&[('r', &[20 * GIB, 0])]));
}

#[test]
fn pardispatcher_may_exceed_its_batch() {
    let mut bench = Bench::new("pardispatcher", &[("read_batch", 2), ("exceed_batch", 1)]);
    bench.reads([100, 200, 300, 400]);
    bench.writes([900]);
    assert_eq!(bench.order(5), "r100 r200 r300 w900 r400");
}
