//! Dispatch order and limits of the scheduler `noop`, in small cases derived by hand.

use crate::bench::Bench;

#[test]
fn noop_is_first_in_first_out() {
    let mut bench = Bench::new("noop", &[]);
    bench.reads([900]);
    bench.writes([100]);
    bench.reads([500]);
    assert_eq!(bench.order(4), "r900 w100 r500 ");
}
