//! Domains with tokens.

use crate::bench::{Bench, MS};

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
