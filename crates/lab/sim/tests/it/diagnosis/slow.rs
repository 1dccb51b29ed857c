//! Goal: findings show the waits of slow requests, and changes that shorten these waits.

use super::*;

/// The finding for slow writes shows the work that fills the buffer. Less work makes the writes faster; a larger buffer
/// does not.
#[test]
fn slow_writes_show_the_work_that_fills_the_buffer() {
    let full = full(array(2, 1, 1, 1), 16, TIMING, buffered(64));
    let collected =
        Setup { precondition: Precondition { overwrite: Overwrite::Passes(3.0), ..full.precondition }, ..full.clone() };
    let mut fresh = full;
    fresh.geometry.blocks *= 4;
    for (setup, name, what_if) in [(collected, "collection", WhatIf::Spare), (fresh, "host_writes", WhatIf::Dies)] {
        let writes = random(&setup, Op::Write);
        let summary = diagnosed(&setup, &writes);
        let slow = named(&summary, Subject::SlowWrites, name);
        assert_eq!(slow.what_ifs, [what_if]);
        assert!(slow.share > 0.5 && slow.evidence["room_share"] > 0.99, "{slow:?}");
        let then_ns =
            |what_if: WhatIf| slow_write_ns(&diagnosed(&what_if.applied_to(&setup).expect("a change"), &writes));
        let (now_ns, relieved_ns, larger_ns) = (slow_write_ns(&summary), then_ns(what_if), then_ns(WhatIf::Buffer));
        assert!(1.05 * relieved_ns < now_ns && 1.1 * larger_ns > now_ns, "{name}: {now_ns} {relieved_ns} {larger_ns}");
    }
}

/// Bursts fill the buffer although the drive keeps up. If the buffer holds a whole burst, no request waits.
#[test]
fn bursts_that_fill_a_buffer_suggest_a_larger_buffer() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, buffered(64));
    setup.replay = Replay::AS_TRACED;
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let burst = |(n, write): (u64, Request)| Request { time_ns: n / 100 * 500_000_000, ..write };
    let writes: Vec<Request> = (0..).zip(random(&setup, Op::Write)).map(burst).collect();
    let summary = diagnosed(&setup, &writes);
    let slow = named(&summary, Subject::SlowWrites, "collection");
    assert_eq!(slow.what_ifs, [WhatIf::Buffer, WhatIf::Spare]);
    let larger = diagnosed(&WhatIf::Buffer.applied_to(&setup).expect("a buffer"), &writes);
    assert!(2.0 * slow_write_ns(&larger) < slow_write_ns(&summary));
}

/// More slots do not help requests that wait for a slot of a saturated drive.
#[test]
fn a_saturated_drive_needs_no_more_slots() {
    let few_slots = Front { protocol: Protocol::SingleQueue { depth: 32 }, ..PLAIN.front };
    let setup = Setup { replay: Replay::AS_TRACED, ..full(array(2, 1, 1, 1), 1, TIMING, in_front(few_slots)) };
    let reads = random(&setup, Op::Read);
    let summary = diagnosed(&setup, &reads);
    let slow = named(&summary, Subject::SlowReads, "host_queue");
    assert_eq!(slow.what_ifs, [WhatIf::Dies]);
    let faster =
        |what_if: WhatIf| iops(&diagnosed(&what_if.applied_to(&setup).expect("a change"), &reads)) / iops(&summary);
    assert!(faster(WhatIf::Dies) > 1.5 && faster(WhatIf::Slots) < 1.05);
}

/// Goal: slow requests of a saturated drive suggest changes of the saturated resource. Method: dies that wait for one
/// channel, and a slow controller below a block layer.
#[test]
fn slow_requests_of_a_saturated_drive_suggest_more_of_the_saturated_resource() {
    let busy_bus = Timing { transfer_per_kib: Nanos(250), read: PageTimes::uniform(Nanos(6_400)), ..TIMING };
    let one_channel = full(array(1, 8, 1, 1), 64, busy_bus, PLAIN);
    let slow_controller = in_front(Front { controller: Controller::serial(Nanos(1_000)), ..PLAIN.front });
    let mut below_block_layer = full(array(4, 2, 1, 1), 64, TIMING, slow_controller);
    below_block_layer.block = Some(BlockOptions { slots: 16, ..block_options("none") });
    let cases = [
        (one_channel, "host_reads", &[WhatIf::Channels, WhatIf::Dies][..]),
        (below_block_layer, "block_layer", &[WhatIf::Controller]),
    ];
    for (setup, name, what_ifs) in cases {
        let reads = random(&setup, Op::Read);
        let summary = diagnosed(&setup, &reads);
        assert_eq!(named(&summary, Subject::SlowReads, name).what_ifs, what_ifs);
        let changed = diagnosed(&what_ifs[0].applied_to(&setup).expect("a change"), &reads);
        assert!(iops(&changed) > 1.1 * iops(&summary), "{name} {} {}", iops(&summary), iops(&changed));
    }
}

/// Goal: the proposed changes shorten waits in the block layer. Method: a block layer without free slots, a scheduler
/// that holds back requests, and a drive that takes fewer requests.
#[test]
fn slow_requests_show_the_layer_that_holds_them_back() {
    let eight = array(4, 2, 1, 1);
    let few_slots = Front { protocol: Protocol::SingleQueue { depth: 1 }, ..PLAIN.front };
    let one = BlockOptions { slots: 1, ..block_options("none") };
    let cases = [
        // If neither more slots nor removing the block layer is possible, faster dies shorten the wait for the slot.
        (one, PLAIN, "block_layer", &[WhatIf::NoBlockLayer, WhatIf::Slots, WhatIf::Dies][..]),
        // Without competing processes, CFQ dispatches at most four times the quantum of four requests.
        (block_options("cfq"), PLAIN, "block_layer", &[WhatIf::NoBlockLayer]),
        // Requests wait half of the time in the block layer, and half in the drive's queue, which blocks the block
        // layer.
        (block_options("none"), in_front(few_slots), "block_layer", &[WhatIf::Slots]),
    ];
    for (block, drive, name, what_ifs) in cases {
        let setup = Setup { block: Some(block.clone()), ..full(eight, 64, TIMING, drive) };
        let reads = random(&setup, Op::Read);
        let summary = diagnosed(&setup, &reads);
        let slow = named(&summary, Subject::SlowReads, name);
        assert_eq!(slow.what_ifs, what_ifs, "{}", block.scheduler);
        for what_if in what_ifs {
            let changed = diagnosed(&what_if.applied_to(&setup).expect("a change"), &reads);
            assert!(iops(&changed) > 1.1 * iops(&summary), "{what_if:?} {} {}", iops(&summary), iops(&changed));
        }
    }
}
