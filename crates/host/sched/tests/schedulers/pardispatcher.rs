//! Dispatch order and limits of the scheduler `pardispatcher`, in small cases derived by hand.

use ssdlab_sched::{Bio, Device, Direction, Flags, Requests, SCHEDULERS, build_scheduler};

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
fn pardispatcher_serves_the_other_direction_if_the_intended_has_no_requests() {
    let mut bench = Bench::new("pardispatcher", &[]);
    bench.writes([100, 200]);
    // The first turn is intended for reads, but only writes wait.
    assert_eq!(bench.order(2), "w100 w200");
    // That turn served writes, so the next turn serves reads.
    bench.writes([300]);
    bench.reads([400]);
    assert_eq!(bench.next(), "w300");
    assert_eq!(bench.next(), "r400");
}

#[test]
fn pardispatcher_may_alternate_with_the_intended_direction() {
    // Turns have two requests. The first turn is intended for reads, but only writes wait.
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
    let id = requests.allocate(Bench::bio(4 * GIB - 8, Direction::Read), 1, 0, 0);
    assert!(!bench.scheduler.allow_merge(&requests[id], &Bench::bio(4 * GIB, Direction::Read)));
    assert!(bench.scheduler.allow_merge(&requests[id], &Bench::bio(4 * GIB - 16, Direction::Read)));
    // Back merges across regions are optional; front merges are never found, because they are searched in one subqueue.
    let bench = Bench::new("pardispatcher", &[("cross_region_merges", 1)]);
    assert!(bench.scheduler.allow_merge(&requests[id], &Bench::bio(4 * GIB, Direction::Read)));
    let behind = requests.allocate(Bench::bio(4 * GIB, Direction::Read), 1, 0, 0);
    assert!(!bench.scheduler.allow_merge(&requests[behind], &Bench::bio(4 * GIB - 8, Direction::Read)));
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
fn pardispatcher_fixes_the_next_request_at_dispatch() {
    // Request 200 arrives after request 100 was dispatched and request 300 was fixed as next. The turn wraps around to
    // request 200.
    let mut bench = Bench::new("pardispatcher", &[]);
    bench.reads([100, 300]);
    assert_eq!(bench.next(), "r100");
    bench.reads([200]);
    assert_eq!(bench.order(2), "r300 r200");
    // The same holds if a turn continues where an earlier turn stopped.
    let mut bench = Bench::new("pardispatcher", &[("read_batch", 1)]);
    bench.reads([100, 300]);
    bench.writes([900]);
    assert_eq!(bench.next(), "r100");
    bench.reads([200]);
    assert_eq!(bench.order(3), "w900 r300 r200");
}

#[test]
fn pardispatcher_may_fix_a_batch_in_advance() {
    // Request 350 arrives after request 100 was dispatched. It precedes request 400 in sector order, but the batch is
    // 100, 300, 400.
    let mut bench = Bench::new("pardispatcher", &[("late_arrivals", 0), ("read_batch", 3)]);
    bench.reads([100, 400, 300]);
    assert_eq!(bench.next(), "r100");
    bench.reads([350]);
    let (batch, waiting) = (bench.inserted(2).clone(), bench.inserted(3).clone());
    assert!(!bench.scheduler.allow_merge(&batch, &Bench::bio(308, Direction::Read)));
    assert!(bench.scheduler.allow_merge(&waiting, &Bench::bio(358, Direction::Read)));
    assert_eq!(bench.order(3), "r300 r400 r350");
    // A fixed batch also wraps around: request 50 follows request 900.
    let mut bench = Bench::new("pardispatcher", &[("late_arrivals", 0), ("read_batch", 3)]);
    bench.reads([800, 900, 50, 60]);
    assert_eq!(bench.order(4), "r800 r900 r50 r60");
}

#[test]
fn pardispatcher_treats_synchronous_writes_as_writes() {
    let mut bench = Bench::new("pardispatcher", &[]);
    bench.insert(Bio { flags: Flags::SYNC, ..Bench::bio(100, Direction::Write) });
    bench.reads([200, 300]);
    assert_eq!(bench.order(3), "r200 r300 w100");
}

#[test]
fn pardispatcher_may_begin_with_writes() {
    let mut bench = Bench::new("pardispatcher", &[("first_direction", 1)]);
    bench.reads([200]);
    bench.writes([100]);
    assert_eq!(bench.order(2), "w100 r200");
}

#[test]
fn pardispatcher_has_regions_no_larger_than_the_device() {
    let build = |mib: u64, changes: &[(&str, u64)]| {
        let changes: Vec<_> = changes.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let device = Device { sectors: 2048 * mib, rotational: false, nr_requests: 64, queues: 1 };
        build_scheduler(SCHEDULERS.get("pardispatcher").unwrap(), &changes, &device)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    // The default is reduced to the device size; an explicit value above it is an error.
    assert_eq!(build(1024, &[]), Ok(()));
    assert_eq!(build(1024, &[("region_size", 2048 * 1024)]), Ok(()));
    let refused = "tunable `region_size` of scheduler `pardispatcher` is 2097153 sectors, more than the device's 2097152 sectors; \
                   set it to 2097152 or less";
    assert_eq!(build(1024, &[("region_size", 2048 * 1024 + 1)]), Err(refused.to_owned()));
    assert!(build(1024, &[("region_size", 1)]).unwrap_err().contains("is 1, but must be from 2048 to "));
    for name in ["read_batch", "write_batch", "read_expire", "write_expire"] {
        let error = build(1024, &[(name, 0)]).unwrap_err();
        assert!(
            error.starts_with(&format!("tunable `{name}` of scheduler `pardispatcher` is 0, but must be from 1 to "))
        );
    }
}

#[test]
fn pardispatcher_begins_a_turn_with_an_overdue_request() {
    let mut bench = Bench::new("pardispatcher", &[("read_batch", 1)]);
    bench.reads([500, 600]);
    assert_eq!(bench.next(), "r500");
    bench.reads([100]);
    // Request 600 is fixed as next and is also the oldest.
    bench.wait(501 * MS);
    assert_eq!(bench.next(), "r600");
    bench.reads([700]);
    // When request 600 was dispatched, no request followed it. The oldest request is overdue.
    assert_eq!(bench.order(2), "r100 r700");
}

#[test]
fn pardispatcher_wraps_or_not() {
    // A batch of three requests begins at request 800. At the end of the region, the batch wraps around or the turn
    // ends.
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
    // A device of 10 GiB has regions of 4 GiB; the last region is shorter.
    let device = Device { sectors: 10 * GIB, rotational: false, nr_requests: 256, queues: 1 };
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
    // Region 0 would be first, but region 5 has an overdue request.
    assert_eq!(bench.order(2), runs(&[('r', &[20 * GIB, 0])]));
}

#[test]
fn pardispatcher_may_exceed_its_batch() {
    let mut bench = Bench::new("pardispatcher", &[("read_batch", 2), ("exceed_batch", 1)]);
    bench.reads([100, 200, 300, 400]);
    bench.writes([900]);
    assert_eq!(bench.order(5), "r100 r200 r300 w900 r400");
}
