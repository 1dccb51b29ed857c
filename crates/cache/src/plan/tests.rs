//! The numbers that the document prints, and what the corrections change.

use proptest::prelude::*;

use super::*;

const GIB: f64 = 1_073_741_824.0;
const LZ4: Compressor = Compressor { ratio: 2.13, compress_us: 2.0, decompress_us: 1.0, shrinking: 1.0 };
const ZSTD: Compressor = Compressor { ratio: 2.97, compress_us: 8.0, decompress_us: 3.0, shrinking: 1.0 };
const ALL: [Correction; 4] =
    [Correction::EmptyPoolIsFree, Correction::HotPagesRaw, Correction::RestoreInPlace, Correction::Incompressible];

/// The cases of figures 12a to 12d: data in GiB and distribution.
fn cases() -> [(f64, Popularity); 4] {
    let (even, skewed) = (Popularity::even(), Popularity::eighty_twenty());
    [(200.0, even.clone()), (500.0, even), (200.0, skewed.clone()), (500.0, skewed)]
}

fn plan(case: &(f64, Popularity), compressor: Compressor) -> Plan {
    let memory = Memory {
        budget_bytes: 15.0 * GIB,
        data_bytes: case.0 * GIB,
        page_bytes: 8192.0,
        device_us: 110.0,
        popularity: case.1.clone(),
    };
    Plan::new(memory, compressor).expect("a plan")
}

fn percent(share: Option<f64>) -> Option<u32> {
    share.map(|share| (100.0 * share).ceil() as u32)
}

#[test]
fn hit_ratios_are_those_of_objective_1() {
    let printed = [("7.5", "16.0", "22.3"), ("3.0", "6.4", "8.9"), ("30.0", "63.9", "80.6"), ("12.0", "25.6", "35.6")];
    for (case, (raw, lz4, zstd)) in cases().iter().zip(printed) {
        let hits = |compressor| format!("{:.1}", 100.0 * plan(case, compressor).at(1.0, &[]).hit_ratio);
        assert_eq!(format!("{:.1}", 100.0 * plan(case, LZ4).raw_hit_ratio()), raw);
        assert_eq!((hits(LZ4).as_str(), hits(ZSTD).as_str()), (lz4, zstd), "{case:?}");
    }
}

#[test]
fn the_ratio_of_hits_falls_short_of_that_of_bytes_beyond_the_kink() {
    let [.., wide, narrow] = cases();
    let gain = |case| plan(case, ZSTD).at(1.0, &[]).hit_ratio / plan(case, ZSTD).raw_hit_ratio();
    assert_eq!(format!("{:.2} {:.2}", gain(&wide), gain(&narrow)), "2.69 2.97");
}

#[test]
fn raw_costs_are_those_of_figures_12() {
    let costs = cases().map(|case| plan(&case, LZ4).raw_us());
    for (ours, printed) in costs.into_iter().zip([101.75, 106.7, 77.0, 96.8]) {
        assert!((ours - printed).abs() < 1e-9, "{ours} {printed}");
    }
}

#[test]
fn break_evens_are_where_the_curves_of_figures_12_cross() {
    let percents = |compressor| cases().map(|case| percent(plan(&case, compressor).break_even(&[])));
    assert_eq!(percents(LZ4), [Some(21), Some(54), Some(4), Some(13)]);
    assert_eq!(percents(ZSTD), [Some(50), None, Some(10), Some(30)]);
    let passes = cases().map(|case| percent(plan(&case, ZSTD).passes(&plan(&case, LZ4), &[])));
    assert_eq!(passes, [Some(93), None, Some(18), Some(56)]);
}

#[test]
fn without_costs_every_cache_that_misses_gains_at_once() {
    for case in cases() {
        let plan = plan(&case, Compressor { compress_us: 0.0, decompress_us: 0.0, ..LZ4 });
        assert!(plan.break_even(&[]).is_some_and(|share| share < 1e-6), "{case:?}");
        assert!(plan.device_break_even_us(&[]).is_some_and(|us| us == 0.0));
    }
    let whole = (15.0, Popularity::even());
    assert_eq!(plan(&whole, Compressor { compress_us: 0.0, decompress_us: 0.0, ..LZ4 }).break_even(&[]), None);
    assert_eq!(plan(&whole, LZ4).device_break_even_us(&[]), None);
}

#[test]
fn pages_that_do_not_shrink_gain_on_no_device() {
    for case in cases() {
        let plan = plan(&case, Compressor { ratio: 1.0, ..LZ4 });
        assert_eq!((plan.break_even(&[]), plan.device_break_even_us(&[])), (None, None), "{case:?}");
    }
}

#[test]
fn corrections_change_what_they_say() {
    let case = (200.0, Popularity::eighty_twenty());
    let plan = plan(&case, Compressor { shrinking: 0.5, ..LZ4 });
    let at = |share, corrections: &[Correction]| plan.at(share, corrections);
    assert!((at(0.0, &[]).us - 112.0 * 0.7).abs() < 1e-9);
    assert_eq!(at(0.0, &[Correction::EmptyPoolIsFree]).us, plan.raw_us());
    // Half of 7.5 % of the pages are raw, 15 % of the requests; twice 2.13 times as many, half of which shrink, reach
    // 19.725 % of the pages and so 78.9 % of the requests.
    let mended = at(0.5, &ALL);
    assert!((mended.hit_ratio - (0.15 + 0.5 * (0.789 - 0.15))).abs() < 1e-12);
    assert!((mended.compressed_hit_ratio - 0.5 * (0.789 - 0.15)).abs() < 1e-12);
    assert!((mended.us - (mended.compressed_hit_ratio + 112.0 * (1.0 - mended.hit_ratio))).abs() < 1e-9);
    let in_place = at(0.5, &[Correction::RestoreInPlace]);
    assert!((at(0.5, &[]).us - in_place.us - 2.0 * in_place.compressed_hit_ratio).abs() < 1e-9);
}

#[test]
fn what_cannot_be_planned_is_named() {
    let good = plan(&cases()[0], LZ4);
    let with = |change: fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        Plan::new(plan.memory, plan.compressor).expect_err("a fault").to_string()
    };
    assert!(with(|plan| plan.memory.budget_bytes = 8191.0).contains("at least one page"));
    assert!(with(|plan| plan.compressor.compress_us = -1.0).contains("-1, but must be 0 or more"));
    assert!(with(|plan| plan.memory.device_us = f64::NAN).contains("NaN"));
    assert!(with(|plan| plan.compressor.ratio = 0.9).contains("1 or more"));
    assert!(with(|plan| plan.compressor.shrinking = 1.1).contains("0 to 1"));
    assert!(good.point(1.01, &[]).is_err() && good.point(-0.01, &[]).is_err());
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(24))]

    /// Shares stay shares, a slower device never makes the break-even later, and at the device's break-even the best
    /// share costs what a raw cache does.
    #[test]
    fn any_plan_is_consistent(
        data in 1.0..1e4_f64, ratio in 1.0..8.0_f64, compress_us in 0.0..60.0_f64, decompress_us in 0.0..30.0_f64,
        shrinking in 0.0..=1.0_f64, theta in 0.0..2.0_f64, share in 0.0..=1.0_f64, corrected: bool,
    ) {
        let compressor = Compressor { ratio, compress_us, decompress_us, shrinking };
        let mut plan = plan(&(data, Popularity::Zipf { theta }), compressor);
        let corrections = if corrected { &ALL[..] } else { &[] };
        let point = plan.at(share, corrections);
        prop_assert!((0.0..=1.0 + 1e-12).contains(&point.hit_ratio));
        prop_assert!(point.compressed_hit_ratio >= -1e-12 && point.compressed_hit_ratio <= point.hit_ratio + 1e-12);
        let best = plan.best(corrections);
        prop_assert!(best.us <= plan.at(0.0, corrections).us && best.us <= plan.at(1.0, corrections).us);
        if let Some(us) = plan.device_break_even_us(corrections) {
            for (factor, gains) in [(0.99, false), (1.01, true)] {
                plan.memory.device_us = us * factor;
                let best = (1..=STEPS).map(|step| plan.at(f64::from(step) / f64::from(STEPS), corrections).us);
                let least = best.fold(f64::INFINITY, f64::min);
                prop_assert!(!(1e-6..=1e9).contains(&us) || (least < plan.raw_us()) == gains, "{us} {least} {}", plan.raw_us());
            }
        }
    }
}

#[test]
fn the_99th_percentile_is_the_cost_of_whatever_one_in_a_hundred_exceeds() {
    let [wide, ..] = cases();
    // More than one in a hundred misses: a load, and the page that is compressed to make room for it.
    let corrected = [Correction::EmptyPoolIsFree, Correction::HotPagesRaw];
    assert_eq!(plan(&wide, LZ4).at(0.0, &corrected).p99_us, 110.0);
    assert_eq!(plan(&wide, LZ4).at(0.5, &corrected).p99_us, 112.0);
    // All pages in memory: with half of them compressed, half of the requests restore one; with none, nothing waits.
    let all = Plan::new(Memory { data_bytes: 15.0 * GIB, ..plan(&wide, LZ4).memory }, LZ4).expect("a plan");
    assert_eq!(all.at(0.5, &corrected).p99_us, 3.0);
    assert_eq!(all.at(0.0, &corrected).p99_us, 0.0);
    // One in a hundred itself does not count.
    assert_eq!(exceeded_by([(110.0, 0.01), (3.0, 0.5)], 0.01), 3.0);
    assert_eq!(exceeded_by([(3.0, 0.5), (110.0, 0.011)], 0.01), 110.0);
    assert_eq!(exceeded_by([(110.0, 0.004), (3.0, 0.005)], 0.01), 0.0);
}
