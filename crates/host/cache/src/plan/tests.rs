//! Numbers published by Harper 2018, and effects of the corrections.

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
fn hit_ratios_match_objective_1() {
    let printed = [("7.5", "16.0", "22.3"), ("3.0", "6.4", "8.9"), ("30.0", "63.9", "80.6"), ("12.0", "25.6", "35.6")];
    for (case, (raw, lz4, zstd)) in cases().iter().zip(printed) {
        let hits = |compressor| format!("{:.1}", 100.0 * plan(case, compressor).at(1.0, &[]).hit_ratio);
        assert_eq!(format!("{:.1}", 100.0 * plan(case, LZ4).raw_hit_ratio()), raw);
        assert_eq!((hits(LZ4).as_str(), hits(ZSTD).as_str()), (lz4, zstd), "{case:?}");
    }
}

#[test]
fn hits_grow_less_than_the_compression_ratio_beyond_the_kink() {
    let [.., wide, narrow] = cases();
    let gain = |case| plan(case, ZSTD).at(1.0, &[]).hit_ratio / plan(case, ZSTD).raw_hit_ratio();
    assert_eq!(format!("{:.2} {:.2}", gain(&wide), gain(&narrow)), "2.69 2.97");
}

#[test]
fn raw_costs_match_figure_12() {
    let costs = cases().map(|case| plan(&case, LZ4).raw_us());
    for (ours, printed) in costs.into_iter().zip([101.75, 106.7, 77.0, 96.8]) {
        assert!((ours - printed).abs() < 1e-9, "{ours} {printed}");
    }
}

#[test]
fn break_evens_match_the_crossings_in_figure_12() {
    let percents = |compressor| cases().map(|case| percent(plan(&case, compressor).break_even(&[])));
    assert_eq!(percents(LZ4), [Some(21), Some(54), Some(4), Some(13)]);
    assert_eq!(percents(ZSTD), [Some(50), None, Some(10), Some(30)]);
    let passes = cases().map(|case| percent(plan(&case, ZSTD).passes(&plan(&case, LZ4), &[])));
    assert_eq!(passes, [Some(93), None, Some(18), Some(56)]);
}

#[test]
fn free_compression_pays_at_once_if_the_raw_cache_misses() {
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
fn incompressible_pages_pay_on_no_device() {
    for case in cases() {
        let plan = plan(&case, Compressor { ratio: 1.0, ..LZ4 });
        assert_eq!((plan.break_even(&[]), plan.device_break_even_us(&[])), (None, None), "{case:?}");
    }
}

#[test]
fn corrections_match_manual_calculations() {
    let case = (200.0, Popularity::eighty_twenty());
    let plan = plan(&case, Compressor { shrinking: 0.5, ..LZ4 });
    let at = |share, corrections: &[Correction]| plan.at(share, corrections);
    assert!((at(0.0, &[]).us - 112.0 * 0.7).abs() < 1e-9);
    assert_eq!(at(0.0, &[Correction::EmptyPoolIsFree]).us, plan.raw_us());
    // 3.75 % of the pages are uncompressed and receive 15 % of the requests. The pool holds 2.13 times as many; because
    // half of the pages are compressible, it reaches down to 19.725 % of the pages, which receive 78.9 % of the
    // requests.
    let corrected = at(0.5, &ALL);
    assert!((corrected.hit_ratio - (0.15 + 0.5 * (0.789 - 0.15))).abs() < 1e-12);
    assert!((corrected.compressed_hit_ratio - 0.5 * (0.789 - 0.15)).abs() < 1e-12);
    assert!((corrected.us - (corrected.compressed_hit_ratio + 112.0 * (1.0 - corrected.hit_ratio))).abs() < 1e-9);
    let in_place = at(0.5, &[Correction::RestoreInPlace]);
    assert!((at(0.5, &[]).us - in_place.us - 2.0 * in_place.compressed_hit_ratio).abs() < 1e-9);
}

#[test]
fn invalid_parameters_are_named() {
    let good = plan(&cases()[0], LZ4);
    let with = |change: fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        Plan::new(plan.memory, plan.compressor).expect_err("the plan is invalid").to_string()
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

    /// Shares stay within 0 to 1, and compression pays just above the device's break-even and not just below.
    #[test]
    fn hit_shares_and_break_evens_are_consistent(
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
fn p99_is_the_time_that_at_most_one_percent_of_requests_exceed() {
    let [wide, ..] = cases();
    // More than 1 % of the requests miss: a device read, plus compression of a victim.
    let corrected = [Correction::EmptyPoolIsFree, Correction::HotPagesRaw];
    assert_eq!(plan(&wide, LZ4).at(0.0, &corrected).p99_us, 110.0);
    assert_eq!(plan(&wide, LZ4).at(0.5, &corrected).p99_us, 112.0);
    // All pages fit in memory: with half of the memory compressed, hits decompress; with none, requests take 0.
    let all = Plan::new(Memory { data_bytes: 15.0 * GIB, ..plan(&wide, LZ4).memory }, LZ4).expect("a plan");
    assert_eq!(all.at(0.5, &corrected).p99_us, 3.0);
    assert_eq!(all.at(0.0, &corrected).p99_us, 0.0);
    // Exactly 1 % does not count.
    assert_eq!(exceeded_by([(110.0, 0.01), (3.0, 0.5)], 0.01), 3.0);
    assert_eq!(exceeded_by([(3.0, 0.5), (110.0, 0.011)], 0.01), 110.0);
    assert_eq!(exceeded_by([(110.0, 0.004), (3.0, 0.005)], 0.01), 0.0);
}
