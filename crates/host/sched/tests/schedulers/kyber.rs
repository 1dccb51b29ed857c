//! Dispatch order and limits of the scheduler `kyber`, in small cases derived by hand.

use std::collections::VecDeque;

use ssdlab_core::Rng;
use ssdlab_sched::{Bio, Direction, Flags};

use crate::bench::{Bench, MS};

#[test]
fn kyber_takes_domains_in_turn() {
    let mut bench = Bench::new("kyber", &[]);
    bench.writes((0..20).map(|k| 10_000 - 100 * k));
    bench.reads((0..40).map(|k| 9_000 - 100 * k));
    let order = bench.order(48);
    let kinds: String = order.split(' ').map(|what| &what[..1]).collect();
    // Batches of 16 reads and 8 writes, in arrival order.
    assert_eq!(kinds, format!("{0}{1}{0}{1}", "r".repeat(16), "w".repeat(8)));
    assert!(order.starts_with("r9000 r8900"));
}

/// Runs rounds of 125 writes with 0.5 ms device time, then 250 reads with 20 ms, ten times their target.
fn slow_reads_and_fast_writes(bench: &mut Bench, rounds: usize) {
    for _ in 0..rounds {
        bench.writes([100; 125]);
        while !bench.next().is_empty() {}
        bench.wait(MS / 2);
        bench.complete_all();
        bench.reads([100; 250]);
        while !bench.next().is_empty() {}
        bench.wait(20 * MS);
        bench.complete_all();
    }
}

/// Returns the number of inserted requests that are dispatched.
fn depth(bench: &mut Bench, insert: impl Fn(&mut Bench)) -> usize {
    bench.complete_all();
    insert(bench);
    (0..).take_while(|_| !bench.next().is_empty()).count()
}

#[test]
fn kyber_limits_a_domain_that_slows_others() {
    let after = |rounds: usize, insert: fn(&mut Bench)| {
        let mut bench = Bench::new("kyber", &[]);
        slow_reads_and_fast_writes(&mut bench, rounds);
        depth(&mut bench, insert)
    };
    let writes: fn(&mut Bench) = |bench| bench.writes([100; 200]);
    assert_eq!(after(0, writes), 128);
    // 100 ms after the first completion, in the fifth round, there are 625 writes and 1000 reads. Reads are in the last
    // bucket, so the device is congested; writes are in the first, so they keep (0 + 1) / 4 of 128.
    assert_eq!(after(4, writes), 128);
    assert_eq!(after(5, writes), 32);
    // From then on more writes arrive than are allowed. Their waiting time exceeds the target, which doubles their
    // limit with every 500 writes: 64 after 16 rounds of 32, 128 after 8 rounds of 64.
    assert_eq!(after(30, writes), 128);
    // Reads would get (7 + 1) / 4 of their limit, but are already at the maximum.
    assert_eq!(after(5, |bench| bench.reads([100; 300])), 256);
}

#[test]
fn kyber_evaluates_after_five_hundred_samples_or_a_second() {
    // Two reads of 20 ms at a time, 1000 in 10 s: device time is evaluated each second and shows congestion. The total
    // latency of writes, one per pair, is evaluated only with 500 samples, so writes are not limited before.
    let depth_after = |rounds: usize| {
        let mut bench = Bench::new("kyber", &[]);
        for _ in 0..rounds {
            bench.writes([100]);
            bench.next();
            bench.complete();
            bench.reads([100, 200]);
            bench.order(2);
            bench.wait(20 * MS);
            bench.complete_all();
        }
        bench.wait(1000 * MS);
        depth(&mut bench, |bench| bench.writes([100; 200]))
    };
    assert_eq!(depth_after(400), 128);
    assert_eq!(depth_after(650), 32);
}

#[test]
fn kyber_evaluates_an_idle_domain_with_few_samples() {
    // Ten writes, then only slow reads, evaluated every 0.1 s. After 1.1 s the device times of the writes are evaluated
    // although they are few; a second later their total latencies, in the first bucket: (0 + 1) / 4 of 128.
    let depth_after = |rounds: usize| {
        let mut bench = Bench::new("kyber", &[]);
        bench.writes([100; 10]);
        bench.order(10);
        bench.complete_all();
        for _ in 0..rounds {
            bench.reads([100, 200]);
            bench.order(2);
            bench.wait(20 * MS);
            bench.complete_all();
        }
        depth(&mut bench, |bench| bench.writes([100; 200]))
    };
    assert_eq!(depth_after(100), 128);
    assert_eq!(depth_after(125), 32);
}

#[test]
fn kyber_serves_one_discard_per_turn() {
    let mut bench = Bench::new("kyber", &[]);
    for k in 0..2 {
        bench.insert(Bio { flags: Flags::DISCARD, ..Bench::bio(9000 + k, Direction::Write) });
    }
    bench.reads(0..17);
    bench.writes(100..109);
    let order = bench.order(28);
    // 16 reads, 8 writes, one discard; then the remaining read, write and discard.
    let expected = [('r', (0..16).collect()), ('w', (100..108).collect()), ('w', vec![9000]), ('r', vec![16])];
    let expected = expected.into_iter().chain([('w', vec![108]), ('w', vec![9001])]);
    let expected: Vec<String> = expected
        .flat_map(|(kind, starts): (char, Vec<u64>)| starts.into_iter().map(move |s| format!("{kind}{s}")))
        .collect();
    assert_eq!(order, expected.join(" "));
}

#[test]
fn kyber_reserves_a_quarter_of_the_requests() {
    let bench = Bench::new("kyber", &[]);
    assert_eq!(bench.scheduler.depth(&Bench::bio(0, Direction::Write), 256), 192);
    assert_eq!(bench.scheduler.depth(&Bench::bio(0, Direction::Read), 256), 256);
}

/// The head of a domain is dispatched, in batches of 16 reads and 8 writes, as in 99 % of the decisions of a kernel
/// capture.
#[test]
fn kyber_under_saturation_dispatches_in_arrival_order_and_full_batches() {
    let mut bench = Bench::new("kyber", &[]);
    let mut rng = Rng::named(7, "saturation");
    let (mut next, mut waiting, mut longest) = (0, [VecDeque::new(), VecDeque::new()], [0, 0]);
    let (mut run, mut last) = (0, 0);
    for _ in 0..100_000 {
        // At least forty requests of each kind wait.
        for (waiting, direction) in waiting.iter_mut().zip(Direction::BOTH) {
            while waiting.len() < 40 + rng.below(20) as usize {
                next += 1;
                waiting.push_back(next);
                bench.insert(Bench::bio(next, direction));
            }
        }
        let served = bench.next();
        let kind = usize::from(served.starts_with('w'));
        assert_eq!(Some(served[1..].parse().unwrap()), waiting[kind].pop_front(), "not the head of its domain");
        run = if kind == last { run + 1 } else { 1 };
        last = kind;
        longest[kind] = longest[kind].max(run);
        bench.wait(1000 * rng.below(100));
        if bench.at_device.len() >= 32 {
            bench.complete();
        }
    }
    assert_eq!(longest, [16, 8]);
}
