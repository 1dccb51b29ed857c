//! Properties of every registered scheduler in both variants of the block layer, for arbitrary input.

use proptest::prelude::*;
use ssdlab_conformance::io_scheduler::{DEVICE_SECTORS, Delayed, Event, Host, events, options};
use ssdlab_sched::{Bio, Dispatched, Options, SCHEDULERS, SchedulerInfo};

/// Generates options of a block layer with any scheduler.
fn any_options() -> impl Strategy<Value = (&'static SchedulerInfo, Options)> {
    prop::sample::select(SCHEDULERS.to_vec()).prop_flat_map(|info| (Just(info), options(info)))
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(400))]

    #[test]
    fn everything_is_served_exactly_once((info, options) in any_options(), events in events(250)) {
        let world = Host::run(info, &options, &events);
        prop_assert!(world.ended.values().all(|&times| times == 1));
        prop_assert!(world.asleep.is_empty());
        prop_assert_eq!(world.layer.left(), Default::default());
        world.check_counts();
    }

    #[test]
    fn equal_input_gives_equal_dispatches((info, options) in any_options(), events in events(250)) {
        let (first, second) = (Host::run(info, &options, &events), Host::run(info, &options, &events));
        prop_assert_eq!(first.log, second.log);
    }

    /// Without a scheduler and throttling, hardware queues behave as independent layers.
    #[test]
    fn hardware_queues_are_independent((_, options) in any_options(), events in events(250), queues in 2..4_u16) {
        let info = SCHEDULERS.get("none").unwrap();
        let Options { slots, nr_requests, max_sectors, no_merges, volatile_cache, fua, .. } = options;
        let base = Options::modern(info.name, DEVICE_SECTORS);
        let alone = Options { slots, nr_requests, max_sectors, no_merges, volatile_cache, fua, ..base };
        let mut whole = Host::new(info, Options { queues, ..alone.clone() });
        let mut parts: Vec<Host> = (0..queues).map(|_| Host::new(info, alone.clone())).collect();
        let queue = |pid: u32| (pid % u32::from(queues)) as usize;
        // Completes the same request in both layers: the request of equal age in its queue.
        let complete = |whole: &mut Host, parts: &mut [Host], which: usize| {
            let Some(which) = which.checked_rem(whole.at_device.len()) else { return };
            let own = queue(whole.at_device[which].pid);
            let older = whole.at_device[..which].iter().filter(|rq| queue(rq.pid) == own).count();
            whole.complete(which);
            parts[own].complete(older);
        };
        for (owner, Delayed(delay, event)) in (0_u32..).zip(&events) {
            let now = whole.now + 1000 * delay;
            whole.advance(now);
            parts.iter_mut().for_each(|part| part.advance(now));
            match event {
                Event::Submit(Bio { pid, .. }) | Event::Plug(pid) | Event::Unplug(pid) => {
                    whole.apply(0, event, owner);
                    parts[queue(*pid)].apply(0, event, owner);
                }
                Event::Complete(which) => complete(&mut whole, &mut parts, *which),
            }
        }
        for pid in 0..4 {
            whole.apply(0, &Event::Unplug(pid), 0);
            parts[queue(pid)].apply(0, &Event::Unplug(pid), 0);
        }
        while !whole.at_device.is_empty() {
            complete(&mut whole, &mut parts, 0);
        }
        let summary = |rq: &Dispatched| (rq.operation, rq.start, rq.sectors, rq.arrived);
        for (number, part) in parts.iter().enumerate() {
            let own = whole.log.iter().filter(|rq| queue(rq.pid) == number);
            prop_assert_eq!(own.map(summary).collect::<Vec<_>>(), part.log.iter().map(summary).collect::<Vec<_>>());
        }
        let total = |count: fn(&Host) -> u64| parts.iter().map(count).sum::<u64>();
        prop_assert_eq!(whole.ended.len() as u64, total(|part| part.ended.len() as u64));
        prop_assert_eq!(whole.layer.counters().bios_waited, total(|part| part.layer.counters().bios_waited));
        prop_assert_eq!(whole.layer.counters().requests, total(|part| part.layer.counters().requests));
    }

    #[test]
    fn regions_and_kinds_do_not_merge((_, options) in any_options(), events in events(250)) {
        let info = SCHEDULERS.get("pardispatcher").unwrap();
        let tunables = vec![("region_size".to_owned(), 2048)];
        let world = Host::run(info, &Options { scheduler: info.name.to_owned(), tunables, ..options }, &events);
        for dispatched in world.log.iter().filter(|dispatched| dispatched.sectors > 56) {
            // This request is longer than any bio, so it was merged. All its bios begin in its region.
            let last = dispatched.start + u64::from(dispatched.sectors) - 1;
            prop_assert!(last - dispatched.start / 2048 * 2048 < 2048 + 56);
        }
    }
}
