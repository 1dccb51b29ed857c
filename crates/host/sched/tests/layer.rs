//! The block layer in small cases derived by hand.

use ssdlab_sched::{Bio, BlockLayer, Direction, Dispatched, Flags, NoMerges, Operation, Options, Priority, Submitted};

const MS: u64 = 1_000_000;
const SECTORS: u64 = 1 << 24;

fn bio(start: u64, sectors: u32, direction: Direction) -> Bio {
    Bio { start, sectors, direction, flags: Flags::NONE, pid: 1, priority: Priority::default(), owner: 0 }
}

fn read(start: u64, sectors: u32) -> Bio {
    bio(start, sectors, Direction::Read)
}

fn write(start: u64, sectors: u32) -> Bio {
    bio(start, sectors, Direction::Write)
}

fn legacy(scheduler: &str) -> BlockLayer {
    BlockLayer::new(Options { plug: false, ..Options::legacy(scheduler, SECTORS) }).unwrap()
}

/// Dispatches all possible requests.
fn pull(layer: &mut BlockLayer, now: u64) -> Vec<Dispatched> {
    std::iter::from_fn(|| layer.next(now)).collect()
}

/// Dispatches all possible requests; returns their first sectors and lengths.
fn extents(layer: &mut BlockLayer) -> Vec<(u64, u32)> {
    pull(layer, 0).iter().map(|dispatched| (dispatched.start, dispatched.sectors)).collect()
}

fn submit_all(layer: &mut BlockLayer, bios: &[Bio]) {
    for &bio in bios {
        assert_eq!(layer.submit(bio, 0), Submitted::Accepted);
    }
}

#[test]
fn bios_merge_at_the_back_anywhere_in_the_queue() {
    let mut layer = legacy("noop");
    submit_all(&mut layer, &[read(0, 8), read(100, 8), read(200, 8), read(108, 8)]);
    assert_eq!(extents(&mut layer), [(0, 8), (100, 16), (200, 8)]);
    assert_eq!(layer.counters().back_merges, 1);
}

#[test]
fn noop_merges_at_the_front_of_the_last_request_only() {
    let mut layer = legacy("noop");
    // The first request of a queue counts as merged last, so the bio at sector 92 merges with request 100. The hash
    // contains only end sectors, so the bio at sector 192 does not find request 200.
    submit_all(&mut layer, &[read(100, 8), read(200, 8), read(92, 8), read(192, 8)]);
    assert_eq!(extents(&mut layer), [(92, 16), (200, 8), (192, 8)]);
}

#[test]
fn deadline_finds_front_merges_unless_disabled() {
    for (front_merges, expected) in [(1, vec![(100, 8), (192, 16)]), (0, vec![(100, 8), (192, 8), (200, 8)])] {
        let tunables = vec![("front_merges".to_owned(), front_merges)];
        let options = Options { plug: false, tunables, ..Options::legacy("deadline", SECTORS) };
        let mut layer = BlockLayer::new(options).unwrap();
        submit_all(&mut layer, &[read(100, 8), read(200, 8), read(192, 8)]);
        assert_eq!(extents(&mut layer), expected);
    }
}

#[test]
fn noop_joins_neighbours_in_the_queue_only() {
    let mut layer = legacy("noop");
    submit_all(&mut layer, &[read(0, 8), read(16, 8), read(8, 8)]);
    assert_eq!(extents(&mut layer), [(0, 24)]);
    // Request 100 is in the queue between the two contiguous requests.
    submit_all(&mut layer, &[read(0, 8), read(100, 8), read(16, 8), read(8, 8)]);
    assert_eq!(extents(&mut layer), [(0, 16), (100, 8), (16, 8)]);
}

#[test]
fn a_front_merge_keeps_the_place_in_the_queue() {
    let mut layer = legacy("deadline");
    submit_all(&mut layer, &[read(100, 8), read(50, 8), read(92, 8)]);
    assert_eq!(extents(&mut layer), [(92, 16), (50, 8)]);
}

#[test]
fn joined_requests_take_the_earlier_place() {
    let mut layer = legacy("deadline");
    for (now, bio) in [read(116, 8), read(500, 8), read(100, 8), read(108, 8)].into_iter().enumerate() {
        layer.submit(bio, now as u64);
    }
    // Request 100 arrived after request 500, but was merged with request 116, which arrived before both.
    assert_eq!(extents(&mut layer), [(100, 24), (500, 8)]);
}

#[test]
fn pardispatcher_merges_within_a_region() {
    let extents = |switch| {
        let tunables = vec![("cross_region_merges".to_owned(), switch)];
        let options = Options { plug: false, tunables, ..Options::legacy("pardispatcher", SECTORS) };
        let mut layer = BlockLayer::new(options).unwrap();
        let boundary = 4 << 21;
        submit_all(&mut layer, &[read(boundary - 8, 8), read(500, 8), read(boundary, 8), read(boundary + 8, 8)]);
        extents(&mut layer)
    };
    let boundary = 4 << 21;
    assert_eq!(extents(0), [(boundary - 8, 8), (500, 8), (boundary, 16)]);
    assert_eq!(extents(1), [(boundary - 8, 24), (500, 8)]);
}

#[test]
fn pardispatcher_continues_its_turn_when_a_slot_is_free_again() {
    let mut layer =
        BlockLayer::new(Options { plug: false, slots: 1, ..Options::legacy("pardispatcher", SECTORS) }).unwrap();
    let boundary = 4 << 21;
    submit_all(&mut layer, &[read(0, 8), write(50, 8), read(100, 8), read(boundary + 100, 8), read(200, 8)]);
    let order: Vec<u64> = std::iter::from_fn(|| {
        let dispatched = layer.next(0)?;
        assert_eq!(layer.next(0), None);
        layer.completed(dispatched.id, 0, &mut Vec::new());
        Some(dispatched.start)
    })
    .collect();
    assert_eq!(order, [0, 100, 200, boundary + 100, 50]);
}

#[test]
fn a_bio_that_closes_a_gap_joins_two_requests() {
    let mut layer = legacy("deadline");
    submit_all(&mut layer, &[write(100, 8), write(116, 8), write(108, 8)]);
    assert_eq!(extents(&mut layer), [(100, 24)]);
    assert_eq!(layer.counters().request_merges, 1);
    // All three bios complete together.
    let mut layer = legacy("deadline");
    submit_all(&mut layer, &[write(100, 8), write(116, 8), write(108, 8)]);
    let (id, mut ended) = (pull(&mut layer, 0)[0].id, Vec::new());
    layer.completed(id, MS, &mut ended);
    assert_eq!(ended.iter().map(|bio| bio.start).collect::<Vec<_>>(), [100, 108, 116]);
}

#[test]
fn directions_do_not_merge() {
    let mut layer = legacy("deadline");
    submit_all(&mut layer, &[read(100, 8), write(108, 8), read(92, 8)]);
    assert_eq!(extents(&mut layer), [(92, 16), (108, 8)]);
}

#[test]
fn a_request_that_failed_a_merge_for_size_is_never_tried_again() {
    let mut layer = legacy("noop");
    // 1020 + 8 sectors exceed 1024; the request is marked, so even four sectors that would fit are not merged.
    submit_all(&mut layer, &[read(0, 1020), read(1020, 8), read(1020, 4)]);
    assert_eq!(extents(&mut layer), [(0, 1020), (1020, 8), (1020, 4)]);
}

#[test]
fn memory_segments_limit_requests() {
    let options = Options { plug: false, max_segments: 2, ..Options::legacy("noop", SECTORS) };
    let mut layer = BlockLayer::new(options).unwrap();
    submit_all(&mut layer, &[read(0, 8), read(8, 8), read(16, 8)]);
    assert_eq!(extents(&mut layer), [(0, 16), (16, 8)]);
}

#[test]
fn merges_can_be_turned_off() {
    let ends = |no_merges| {
        let options = Options { plug: false, no_merges, ..Options::legacy("noop", SECTORS) };
        let mut layer = BlockLayer::new(options).unwrap();
        submit_all(&mut layer, &[read(0, 8), read(100, 8), read(8, 8), read(108, 8)]);
        extents(&mut layer).len()
    };
    // The first request remains the request merged last.
    assert_eq!([ends(NoMerges::All), ends(NoMerges::LastOnly), ends(NoMerges::None)], [2, 3, 4]);
}

#[test]
fn dispatched_requests_are_not_merged_with() {
    let mut layer = legacy("noop");
    submit_all(&mut layer, &[read(0, 8)]);
    assert_eq!(extents(&mut layer), [(0, 8)]);
    submit_all(&mut layer, &[read(8, 8)]);
    assert_eq!(extents(&mut layer), [(8, 8)]);
}

#[test]
fn an_idle_queue_is_plugged_until_four_requests_wait() {
    let mut layer = BlockLayer::new(Options::legacy("noop", SECTORS)).unwrap();
    for start in [0, 100, 200] {
        submit_all(&mut layer, &[read(start, 8)]);
        assert_eq!(extents(&mut layer), []);
    }
    // A merge adds no request.
    submit_all(&mut layer, &[read(208, 8)]);
    assert_eq!(extents(&mut layer), []);
    submit_all(&mut layer, &[read(300, 8)]);
    assert_eq!(extents(&mut layer).len(), 4);
    assert_eq!(layer.counters().unplugs_threshold, 1);
}

#[test]
fn a_plugged_queue_is_unplugged_by_time_bio_task_or_completion() {
    let plugged = || {
        let mut layer = BlockLayer::new(Options::legacy("noop", SECTORS)).unwrap();
        submit_all(&mut layer, &[read(0, 8)]);
        assert_eq!(layer.timer_ns(), Some(3 * MS));
        assert_eq!(layer.next(3 * MS), None);
        layer
    };
    let mut layer = plugged();
    layer.on_timer(3 * MS);
    assert_eq!(pull(&mut layer, 3 * MS).len(), 1);
    assert_eq!(layer.counters().unplugs_timer, 1);
    let mut layer = plugged();
    submit_all(&mut layer, &[Bio { flags: Flags::UNPLUG, ..read(8, 8) }]);
    assert_eq!(extents(&mut layer), [(0, 16)]);
    assert_eq!(layer.counters().unplugs_bio, 1);
    let mut layer = plugged();
    layer.unplug(1, 0);
    let first = layer.next(0).unwrap();
    assert_eq!(layer.counters().unplugs_task, 1);
    submit_all(&mut layer, &[read(500, 8)]);
    assert_eq!(layer.next(0), None);
    layer.completed(first.id, MS, &mut Vec::new());
    assert_eq!(pull(&mut layer, MS).len(), 1);
    assert_eq!(layer.counters().unplugs_completion, 1);
}

#[test]
fn the_single_queue_layer_chooses_one_request_ahead() {
    for (legacy, expected) in [(true, 500), (false, 400)] {
        let base = if legacy { Options::legacy } else { Options::modern };
        let options = Options { slots: 1, plug: false, ..base("mq-deadline", SECTORS) };
        let mut layer = BlockLayer::new(options).unwrap();
        submit_all(&mut layer, &[read(300, 8), read(500, 8)]);
        let first = pull(&mut layer, 0)[0];
        // Request 400 would be next in sector order, but the single-queue layer has already chosen request 500.
        submit_all(&mut layer, &[read(400, 8)]);
        layer.completed(first.id, MS, &mut Vec::new());
        assert_eq!(layer.next(MS).unwrap().start, expected);
    }
}

#[test]
fn single_queue_requests_are_limited_by_type_with_batchers() {
    let mut layer = BlockLayer::new(Options { slots: 1, ..Options::legacy("noop", SECTORS) }).unwrap();
    let from = |pid, k: u64| Bio { pid, ..write(100 * k, 8) };
    for k in 0..112 {
        assert_eq!(layer.submit(from(1, k), 0), Submitted::Accepted);
    }
    assert!(!layer.is_congested(false));
    assert_eq!(layer.submit(from(1, 112), 0), Submitted::Accepted);
    assert!(layer.is_congested(false));
    for k in 113..128 {
        assert_eq!(layer.submit(from(1, k), 0), Submitted::Accepted);
    }
    // Process 1 filled the queue with its 128th request and has 31 requests left in its batch; another process must
    // wait.
    assert_eq!(layer.submit(Bio { pid: 2, owner: 7, ..write(50_000, 8) }, 0), Submitted::MustWait);
    // Reads have a separate limit of requests.
    assert_eq!(layer.submit(Bio { pid: 2, ..read(60_000, 8) }, 0), Submitted::Accepted);
    // No process overtakes a waiting process, not even the batcher.
    assert_eq!(layer.submit(from(1, 128), 0), Submitted::MustWait);
    let first = layer.next(0).unwrap();
    layer.completed(first.id, MS, &mut Vec::new());
    assert_eq!(layer.woken().map(|bio| bio.owner), Some(7));
    assert_eq!(layer.woken(), None);
}

#[test]
fn a_batcher_may_take_32_requests_beyond_a_full_queue() {
    let mut layer = BlockLayer::new(Options { slots: 1, ..Options::legacy("noop", SECTORS) }).unwrap();
    let accepted = (0..300).take_while(|k| layer.submit(write(100 * k, 8), 0) == Submitted::Accepted).count();
    // The batch begins with the 128th request.
    assert_eq!(accepted, 127 + 32);
}

#[test]
fn a_batch_counts_only_requests_taken_from_a_full_queue() {
    let options = Options { slots: 28, plug: false, ..Options::legacy("noop", SECTORS) };
    let mut layer = BlockLayer::new(options).unwrap();
    let fill = |layer: &mut BlockLayer, from: u64, most: usize| {
        (from..).take(most).take_while(|k| layer.submit(write(100 * k, 8), 0) == Submitted::Accepted).count()
    };
    // The batch of 32 begins with the 128th request.
    assert_eq!(fill(&mut layer, 0, 128), 128);
    for dispatched in pull(&mut layer, 0) {
        layer.completed(dispatched.id, MS, &mut Vec::new());
    }
    // After 28 completions, 27 more requests do not count towards the batch, which has 31 requests left.
    assert_eq!(fill(&mut layer, 1000, 300), 27 + 31);
}

#[test]
fn congestion_ends_below_the_threshold_where_it_began() {
    let options = Options { slots: 113, plug: false, ..Options::legacy("noop", SECTORS) };
    let mut layer = BlockLayer::new(options).unwrap();
    submit_all(&mut layer, &(0..113).map(|k| write(100 * k, 8)).collect::<Vec<_>>());
    // Congestion begins at the 113th of 128 requests and ends below 103.
    for (ended, dispatched) in pull(&mut layer, 0).iter().enumerate() {
        assert_eq!(layer.is_congested(false), 113 - ended >= 103, "after {ended} completions");
        layer.completed(dispatched.id, MS, &mut Vec::new());
    }
}

#[test]
fn without_a_scheduler_bios_merge_with_the_eight_latest() {
    let mut layer = BlockLayer::new(Options::modern("none", SECTORS)).unwrap();
    submit_all(&mut layer, &(0..9).map(|k| read(100 * k, 8)).collect::<Vec<_>>());
    // Request 100 is the eighth latest request, request 0 the ninth.
    submit_all(&mut layer, &[read(108, 8), read(8, 8)]);
    let merged = [(100, 16), (200, 8), (300, 8), (400, 8), (500, 8), (600, 8), (700, 8), (800, 8), (8, 8)];
    assert_eq!(extents(&mut layer), [&[(0, 8)][..], &merged].concat());
}

#[test]
fn multi_queue_requests_come_from_one_pool() {
    let mut layer = BlockLayer::new(Options::modern("none", SECTORS)).unwrap();
    for k in 0..16 {
        submit_all(&mut layer, &[write(100 * k, 8), read(50_000 + 100 * k, 8)]);
    }
    assert_eq!(layer.submit(read(90_000, 8), 0), Submitted::MustWait);
    assert_eq!(layer.left().waiting_bios, 1);
    let dispatched = pull(&mut layer, 0);
    layer.completed(dispatched[0].id, MS, &mut Vec::new());
    assert!(layer.woken().is_some());
    assert_eq!(pull(&mut layer, MS)[0].start, 90_000);
}

#[test]
fn tasks_plug_in_the_multi_queue_layer() {
    let mut layer = BlockLayer::new(Options { nr_requests: 256, ..Options::modern("mq-deadline", SECTORS) }).unwrap();
    layer.plug(1);
    submit_all(&mut layer, &[read(0, 8), read(8, 8), read(100, 8), read(16, 8)]);
    assert_eq!(extents(&mut layer), []);
    assert_eq!(layer.left().plugged, 3);
    // Bios merge only with the plug's last request, but requests that leave the plug merge with waiting requests.
    layer.unplug(1, 0);
    assert_eq!(extents(&mut layer), [(0, 24), (100, 8)]);
    assert_eq!(layer.counters().request_merges, 1);
    // The plug is full when the 33rd request arrives, or after a request of 128 KiB.
    layer.plug(1);
    for k in 0..32 {
        submit_all(&mut layer, &[read(1000 + 100 * k, 8)]);
    }
    assert_eq!(layer.left().plugged, 32);
    submit_all(&mut layer, &[read(9000, 256)]);
    assert_eq!(layer.left().plugged, 1);
    submit_all(&mut layer, &[read(9500, 8)]);
    assert_eq!(layer.left().plugged, 1);
}

/// Creates a layer with two hardware queues of two slots each. Processes with even numbers use the first queue.
fn two_queues(scheduler: &str, nr_requests: u32) -> BlockLayer {
    let no_merges = NoMerges::None;
    let options = Options { queues: 2, slots: 2, nr_requests, no_merges, ..Options::modern(scheduler, SECTORS) };
    BlockLayer::new(options).unwrap()
}

fn of(pid: u32, start: u64) -> Bio {
    Bio { pid, ..read(start, 8) }
}

#[test]
fn hardware_queues_have_their_own_slots_and_requests() {
    for scheduler in ["none", "kyber"] {
        let mut layer = two_queues(scheduler, 4);
        submit_all(&mut layer, &[of(0, 0), of(0, 8), of(0, 16), of(0, 24)]);
        // The first queue has only four requests, so a fifth bio waits. The other queue has four requests of its own.
        assert_eq!(layer.submit(of(2, 32), 0), Submitted::MustWait);
        submit_all(&mut layer, &[of(1, 100), of(3, 108), of(1, 116)]);
        // Queues take turns, one request each, up to two slots.
        let given = pull(&mut layer, 0);
        assert_eq!(given.iter().map(|rq| (rq.pid, rq.start)).collect::<Vec<_>>(), [(0, 0), (1, 100), (0, 8), (3, 108)]);
        // A queue cannot use a slot of another queue.
        layer.completed(given[1].id, MS, &mut Vec::new());
        assert_eq!(pull(&mut layer, MS).iter().map(|rq| rq.start).collect::<Vec<_>>(), [116]);
        layer.completed(given[3].id, MS, &mut Vec::new());
        assert_eq!(pull(&mut layer, MS), []);
        assert_eq!(layer.woken(), None);
        layer.completed(given[0].id, MS, &mut Vec::new());
        assert_eq!(layer.woken().map(|bio| bio.start), Some(32));
        assert_eq!(pull(&mut layer, MS).iter().map(|rq| rq.start).collect::<Vec<_>>(), [16]);
    }
}

#[test]
fn bios_merge_within_a_hardware_queue_or_across_a_shared_scheduler() {
    for (scheduler, expected) in [("none", vec![(0, 8), (8, 8)]), ("mq-deadline", vec![(0, 16)])] {
        let options = Options { queues: 2, ..Options::modern(scheduler, SECTORS) };
        let mut layer = BlockLayer::new(options).unwrap();
        submit_all(&mut layer, &[of(0, 0), of(1, 8)]);
        assert_eq!(extents(&mut layer), expected, "{scheduler}");
    }
}

#[test]
fn a_request_chosen_for_a_full_hardware_queue_waits_in_its_dispatch_list() {
    let mut layer = two_queues("mq-deadline", 8);
    // The scheduler orders the requests of both processes by sector. The queue of process 0 is full when its third
    // request is dispatched.
    submit_all(&mut layer, &[of(0, 0), of(0, 8), of(0, 16), of(1, 24), of(1, 32)]);
    let given = pull(&mut layer, 0);
    let starts = |given: &[Dispatched]| given.iter().map(|rq| rq.start).collect::<Vec<_>>();
    // The first queue dispatches request 0. In its turn, the second queue gets requests 8 and 16, which belong to the
    // first queue; request 16 must wait.
    assert_eq!(starts(&given), [0, 8]);
    assert_eq!((layer.left().queued, layer.left().ahead), (2, 1));
    // A completion runs the first queue; its dispatch list is served first and fills the queue.
    layer.completed(given[0].id, MS, &mut Vec::new());
    assert_eq!(starts(&pull(&mut layer, MS)), [16]);
    // After the next completion, the queue also dispatches requests of the other queue.
    layer.completed(given[1].id, MS, &mut Vec::new());
    assert_eq!(starts(&pull(&mut layer, MS)), [24, 32]);
}

#[test]
fn each_hardware_queue_issues_its_own_flushes() {
    let mut layer = two_queues("none", 4);
    let flush = |pid| Bio { pid, flags: Flags::FLUSH, ..write(0, 0) };
    submit_all(&mut layer, &[flush(0), flush(1)]);
    let given = pull(&mut layer, 0);
    assert_eq!(operations(&given), [Operation::Flush; 2]);
    assert_eq!(given.iter().map(|rq| rq.pid).collect::<Vec<_>>(), [0, 1]);
    let mut ended = Vec::new();
    layer.completed(given[1].id, MS, &mut ended);
    assert_eq!(ended.iter().map(|bio| bio.pid).collect::<Vec<_>>(), [1]);
}

#[test]
fn kyber_tokens_are_shared_by_all_hardware_queues() {
    let options = Options { queues: 2, slots: 300, nr_requests: 300, ..Options::modern("kyber", SECTORS) };
    let mut layer = BlockLayer::new(Options { no_merges: NoMerges::None, ..options }).unwrap();
    submit_all(&mut layer, &(0..400).map(|k| of(k % 2, 100 * u64::from(k))).collect::<Vec<_>>());
    // 256 reads in total, half from each queue.
    let given = pull(&mut layer, 0);
    assert_eq!([0, 1].map(|pid| given.iter().filter(|rq| rq.pid == pid).count()), [128, 128]);
    // Tokens returned by one queue are available to the other.
    for rq in given.iter().filter(|rq| rq.pid == 0) {
        layer.completed(rq.id, MS, &mut Vec::new());
    }
    assert_eq!(pull(&mut layer, MS).len(), 128);
}

fn operations(dispatched: &[Dispatched]) -> Vec<Operation> {
    dispatched.iter().map(|dispatched| dispatched.operation).collect()
}

/// Completes requests until none is left; returns the operations of each round and the owners of completed bios.
fn run_dry(layer: &mut BlockLayer) -> (Vec<Vec<Operation>>, Vec<u32>) {
    let (mut log, mut ended) = (Vec::new(), Vec::new());
    loop {
        let dispatched = pull(layer, MS);
        if dispatched.is_empty() {
            return (log, ended.iter().map(|bio: &Bio| bio.owner).collect());
        }
        log.push(operations(&dispatched));
        for request in dispatched {
            layer.completed(request.id, MS, &mut ended);
        }
    }
}

#[test]
fn durable_writes_are_split_into_flushes_and_data() {
    use Operation::{Flush, Write, WriteThrough};
    let steps = |flags, sectors, volatile_cache, fua| {
        let options = Options { volatile_cache, fua, ..Options::modern("mq-deadline", SECTORS) };
        let mut layer = BlockLayer::new(options).unwrap();
        let submitted = layer.submit(Bio { flags, ..write(0, sectors) }, 0);
        (submitted, run_dry(&mut layer).0.concat())
    };
    let accepted = |operations: &[Operation]| (Submitted::Accepted, operations.to_vec());
    assert_eq!(steps(Flags::FLUSH, 0, true, false), accepted(&[Flush]));
    assert_eq!(steps(Flags::FLUSH, 0, false, false), (Submitted::Ended, vec![]));
    assert_eq!(steps(Flags::FLUSH | Flags::FUA, 8, true, false), accepted(&[Flush, Write, Flush]));
    assert_eq!(steps(Flags::FLUSH | Flags::FUA, 8, true, true), accepted(&[Flush, WriteThrough]));
    assert_eq!(steps(Flags::FUA, 8, true, true), accepted(&[WriteThrough]));
    assert_eq!(steps(Flags::FUA, 8, false, true), accepted(&[Write]));
}

#[test]
fn flushes_are_shared() {
    let mut layer = BlockLayer::new(Options::modern("mq-deadline", SECTORS)).unwrap();
    let flush = |owner| Bio { flags: Flags::FLUSH, owner, ..write(0, 0) };
    submit_all(&mut layer, &[flush(1)]);
    let first = pull(&mut layer, 0);
    // Two more flushes arrive while the first flush is at the device: one flush serves both. Other requests are not
    // delayed.
    submit_all(&mut layer, &[flush(2), flush(3), read(0, 8)]);
    assert_eq!(operations(&pull(&mut layer, 0)), [Operation::Read]);
    let mut ended = Vec::new();
    layer.completed(first[0].id, MS, &mut ended);
    assert_eq!(ended.iter().map(|bio| bio.owner).collect::<Vec<_>>(), [1]);
    let (log, ended) = run_dry(&mut layer);
    assert_eq!((log, ended), (vec![vec![Operation::Flush]], vec![2, 3]));
}

#[test]
fn no_request_overtakes_a_barrier() {
    use Operation::{Flush, Read, Write};
    let mut layer = legacy("deadline");
    let barrier = Bio { flags: Flags::BARRIER, owner: 1, ..write(500, 8) };
    submit_all(&mut layer, &[read(900, 8), read(100, 8), barrier, read(200, 8)]);
    let (log, ended) = run_dry(&mut layer);
    assert_eq!(log, [vec![Read, Read], vec![Flush], vec![Write], vec![Flush], vec![Read]]);
    assert_eq!(ended, [0, 0, 1, 0]);
}

#[test]
fn requests_drained_before_a_barrier_are_in_the_schedulers_order() {
    let starts = |scheduler: &str, ahead: &[Bio], bios: &[Bio]| {
        let mut layer = legacy(scheduler);
        submit_all(&mut layer, ahead);
        pull(&mut layer, 0);
        submit_all(&mut layer, bios);
        submit_all(&mut layer, &[Bio { flags: Flags::BARRIER, ..write(0, 8) }]);
        extents(&mut layer).into_iter().map(|(start, _)| start).collect::<Vec<_>>()
    };
    let bios = [read(900, 8), read(100, 8), read(500, 8)];
    assert_eq!(starts("noop", &[], &bios), [100, 500, 900]);
    // The order ascends from the device's position, then from the lowest sector.
    assert_eq!(starts("noop", &[read(400, 8)], &bios), [500, 900, 100]);
    // Requests of different directions are not reordered.
    assert_eq!(starts("noop", &[], &[read(900, 8), write(50, 8), read(100, 8)]), [900, 50, 100]);
    // Deadline keeps its own order: the oldest request, then ascending sectors.
    assert_eq!(starts("deadline", &[], &bios), [900, 100, 500]);
}

#[test]
fn pending_work_is_reported() {
    let mut layer = legacy("noop");
    submit_all(&mut layer, &[read(0, 8)]);
    let report = layer.left().to_string();
    assert_eq!(
        report,
        "0 bios waiting for a request; requests: 0 plugged, 1 in the scheduler, 0 in dispatch lists, 0 at the device"
    );
}

#[test]
fn unknown_names_and_values_are_refused() {
    let refused = |scheduler: &str, tunable: &str, value| {
        let tunables = vec![(tunable.to_owned(), value)];
        BlockLayer::new(Options { tunables, ..Options::legacy(scheduler, SECTORS) }).unwrap_err().to_string()
    };
    assert!(refused("scheduler", "x", 1).starts_with("unknown scheduler `scheduler`; choose one of noop, deadline"));
    assert_eq!(refused("noop", "quantum", 1), "scheduler `noop` has no tunable `quantum`; available: none");
    assert_eq!(
        refused("deadline", "front_merges", 2),
        "tunable `front_merges` of scheduler `deadline` is 2, but must be from 0 to 1 switch"
    );
}
