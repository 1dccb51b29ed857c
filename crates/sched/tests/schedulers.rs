//! What each scheduler dispatches in small situations, worked out by hand from the sources named in its module.

use ssdlab_sched::{Bio, Device, Direction, Elevator, Flags, Priority, PriorityClass, RequestId, Requests, scheduler};

const MS: u64 = 1_000_000;

/// A scheduler alone, with a device that is driven by hand.
struct Bench {
    elevator: Box<dyn Elevator>,
    requests: Requests,
    now: u64,
    at_device: Vec<RequestId>,
}

impl Bench {
    fn new(name: &str, changes: &[(&str, u64)]) -> Self {
        Self::on(name, changes, Device { sectors: 60 << 21, rotational: false, nr_requests: 256 })
    }

    fn on(name: &str, changes: &[(&str, u64)], device: Device) -> Self {
        let changes: Vec<_> = changes.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let elevator = scheduler(name).unwrap().build(&changes, &device).unwrap();
        Self { elevator, requests: Requests::default(), now: 0, at_device: Vec::new() }
    }

    fn bio(start: u64, direction: Direction) -> Bio {
        let (flags, priority) = (Flags::NONE, Priority::default());
        Bio { start, sectors: 8, direction, flags, pid: 1, priority, owner: 0 }
    }

    fn insert(&mut self, bio: Bio) -> bool {
        let id = self.requests.allocate(bio, 1, self.now);
        self.elevator.insert(&self.requests[id], &self.requests, self.now)
    }

    /// Requests of process 1 with 8 sectors each.
    fn reads(&mut self, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Self::bio(start, Direction::Read)));
    }

    fn writes(&mut self, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Self::bio(start, Direction::Write)));
    }

    /// Reads that process `pid` waits for.
    fn reads_of(&mut self, pid: u32, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Bio { pid, ..Self::bio(start, Direction::Read) }));
    }

    /// What is dispatched next: `r` or `w` and the first sector; nothing if the scheduler waits.
    fn next(&mut self) -> String {
        let Some(id) = self.elevator.dispatch(&self.requests, self.now, false) else { return String::new() };
        self.at_device.push(id);
        let rq = &self.requests[id];
        format!("{}{}", if rq.direction == Direction::Read { 'r' } else { 'w' }, rq.start)
    }

    /// The next dispatches in a row.
    fn order(&mut self, count: usize) -> String {
        (0..count).map(|_| self.next()).collect::<Vec<_>>().join(" ")
    }

    /// The device ends its oldest request.
    fn complete(&mut self) {
        let rq = self.requests.free(self.at_device.remove(0));
        self.elevator.completed(&rq, self.now);
    }

    fn complete_all(&mut self) {
        while !self.at_device.is_empty() {
            self.complete();
        }
    }

    /// Lets time pass, with the scheduler's timer.
    fn wait(&mut self, ns: u64) {
        let until = self.now + ns;
        while let Some(time) = self.elevator.timer_ns().filter(|&time| time <= until) {
            self.now = time;
            self.elevator.on_timer(time);
        }
        self.now = until;
    }
}

/// `r` or `w` before each of the sectors.
fn runs(parts: &[(char, &[u64])]) -> String {
    let starts = parts.iter().flat_map(|(kind, starts)| starts.iter().map(move |start| format!("{kind}{start}")));
    starts.collect::<Vec<_>>().join(" ")
}

#[test]
fn noop_is_first_in_first_out() {
    let mut bench = Bench::new("noop", &[]);
    bench.reads([900]);
    bench.writes([100]);
    bench.reads([500]);
    assert_eq!(bench.order(4), "r900 w100 r500 ");
}

#[test]
fn deadline_passes_two_batches_of_reads() {
    // Two batches of reads pass the waiting write, the third choice is the write; then `starved` counts anew.
    let mut bench = Bench::new("deadline", &[("fifo_batch", 2)]);
    bench.writes([5000, 6000]);
    bench.reads([100, 200, 300, 400, 500, 600]);
    assert_eq!(bench.order(8), "r100 r200 r300 r400 w5000 w6000 r500 r600");
}

#[test]
fn deadline_counts_starved_only_while_both_wait() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
    bench.reads([100, 200, 300]);
    // No write waits: these two batches count for nothing.
    assert_eq!(bench.order(2), "r100 r200");
    bench.writes([5000]);
    bench.reads([400]);
    assert_eq!(bench.order(3), "r300 r400 w5000");
}

#[test]
fn deadline_remembers_whom_to_continue_with() {
    // 200 was remembered when 100 went; 150 comes too late for its place, and there is no wrap: after 200 the batch
    // ends and the next one begins with the oldest.
    let mut bench = Bench::new("deadline", &[]);
    bench.reads([100, 200]);
    assert_eq!(bench.next(), "r100");
    bench.reads([150]);
    assert_eq!(bench.order(2), "r200 r150");
}

#[test]
fn deadline_looks_at_deadlines_between_batches_only() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 3)]);
    bench.reads([900, 100, 200]);
    assert_eq!(bench.next(), "r900");
    bench.reads([300, 400, 500]);
    // The end of the device: a new batch begins with the oldest.
    assert_eq!(bench.next(), "r100");
    bench.reads([50]);
    bench.wait(501 * MS);
    // 200 to 500 and 50 are overdue, but the batch of three goes on first; then the oldest, which lies ahead anyway.
    assert_eq!(bench.order(2), "r200 r300");
    assert_eq!(bench.order(3), "r400 r500 r50");
}

#[test]
fn deadline_jumps_back_for_an_overdue_request() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1)]);
    bench.reads([500]);
    assert_eq!(bench.next(), "r500");
    bench.reads([100]);
    bench.reads([600]);
    // The expiry is strict: at its very deadline a request is not overdue, but there is nothing remembered either.
    bench.wait(500 * MS);
    assert_eq!(bench.next(), "r100");
    bench.reads([50, 700]);
    bench.wait(500 * MS);
    // 600 is remembered and 500 ms over its deadline; 50 is not overdue yet.
    assert_eq!(bench.next(), "r600");
    assert_eq!(bench.next(), "r700");
    assert_eq!(bench.next(), "r50");
}

#[test]
fn deadline_begins_at_the_oldest_after_a_change_of_direction() {
    let mut bench = Bench::new("deadline", &[("fifo_batch", 1), ("writes_starved", 0)]);
    bench.writes([5000]);
    assert_eq!(bench.next(), "w5000");
    bench.reads([100]);
    assert_eq!(bench.next(), "r100");
    // The position of writes, 5000, is forgotten: the oldest goes first, not the one that follows it.
    bench.writes([1000, 6000]);
    assert_eq!(bench.next(), "w1000");
}

#[test]
fn mq_deadline_goes_on_at_the_position_of_each_direction() {
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
fn mq_deadline_counts_a_deadline_that_is_reached() {
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
    // A lower class waits until the higher has nothing waiting and nothing at the device.
    assert_eq!(bench.order(2), "r30 ");
    bench.complete();
    assert_eq!(bench.next(), "r20");
    // After ten seconds it goes ahead all the same.
    bench.wait(10_000 * MS);
    assert_eq!(bench.next(), "r10");
}

#[test]
fn kyber_takes_domains_in_turn() {
    let mut bench = Bench::new("kyber", &[]);
    bench.writes((0..20).map(|k| 10_000 - 100 * k));
    bench.reads((0..40).map(|k| 9_000 - 100 * k));
    let order = bench.order(48);
    let kinds: String = order.split(' ').map(|what| &what[..1]).collect();
    // 16 reads, 8 writes, in the order of arrival.
    assert_eq!(kinds, format!("{0}{1}{0}{1}", "r".repeat(16), "w".repeat(8)));
    assert!(order.starts_with("r9000 r8900"));
}

#[test]
fn kyber_limits_a_domain_that_makes_others_slow() {
    let mut bench = Bench::new("kyber", &[]);
    // 1000 writes take 5 ms each, which is good for writes; reads take 20 ms at the device, ten times their target.
    for _ in 0..600 {
        bench.writes([100]);
        bench.next();
        bench.wait(5 * MS / 10);
        bench.complete();
        bench.reads([100]);
        bench.next();
        bench.wait(20 * MS);
        bench.complete();
    }
    // Writes were in their first bucket, (0 + 1) / 4 of the depth; repeatedly down to one.
    bench.complete_all();
    bench.writes((0..10).map(|k| 100 * k));
    let order = bench.order(2);
    assert_eq!(order, "w0 ");
}

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

fn disk() -> Device {
    Device { sectors: 60 << 21, rotational: true, nr_requests: 256 }
}

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

#[test]
fn anticipatory_waits_for_the_process_it_served() {
    let mut bench = Bench::new("anticipatory", &[]);
    bench.reads_of(1, [100]);
    bench.reads_of(2, [50_000_000]);
    assert_eq!(bench.next(), "r100");
    // The other process lies far away: first the end of 100 is awaited, then what process 1 does next.
    assert_eq!(bench.next(), "");
    bench.wait(MS);
    bench.complete();
    bench.wait(5 * MS);
    assert_eq!(bench.next(), "");
    // It does nothing for 6 ms, on an SSD too.
    bench.wait(MS);
    assert_eq!(bench.next(), "r50000000");
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
        // The nearest one ahead of the head goes.
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
    // No synchronous request waits, so a batch of writes begins, when the read has ended.
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
    // The clock runs from the start: the first batch of reads lasts 500 ms.
    assert_eq!(bench.next(), "r100");
    bench.wait(501 * MS);
    // Over, with both kinds waiting: writes, after the read has ended.
    assert_eq!(bench.next(), "");
    bench.complete();
    // 125 ms at ten each: twelve writes, then the read.
    let order = bench.order(13);
    assert_eq!(order.split(' ').filter(|what| what.starts_with('w')).count(), 12, "{order}");
    bench.complete_all();
    assert_eq!(bench.next(), "r200");
    // The batch took less than a third of its time: it is doubled.
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
    // 112 500 000 is the oldest; ages are looked at again after 125 ms, and it must be older than that.
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
