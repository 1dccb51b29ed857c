//! Compares the analysis with direct implementations of its definitions.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::testing::request;

const RANGE: u64 = 3 << 20;

fn analyse(requests: &[Request]) -> Analysis {
    let mut analysis = Analysis::new(RANGE).unwrap();
    requests.chunks(7).for_each(|batch| analysis.add(batch));
    analysis
}

/// Random requests within 8,000 sectors, few enough to touch the same pages and to continue each other; one in thirteen
/// is a flush.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let row = (0..KINDS, 0_u64..8000, 1_u32..80, 0_u64..2_000_000, 0_u16..3, prop::bool::weighted(0.3));
    prop::collection::vec(row, 1..1500).prop_map(|rows| {
        let (mut time, mut end) = (0, 0);
        let request = |(n, (op, sector, sectors, gap, stream, follows)): (usize, (usize, u64, u32, u64, u16, bool))| {
            time += gap;
            if n % 13 == 12 {
                return request(time, Op::Flush, 0, 0);
            }
            // Include sizes that are not whole sectors.
            let bytes = if sectors == 79 { 1000 } else { sectors * 512 };
            let offset = if follows { end } else { sector * 512 + u64::from(stream) * 5_000_000_000 };
            end = offset + u64::from(bytes);
            Request { stream, ..request(time, Op::ALL[op], offset, bytes) }
        };
        rows.into_iter().enumerate().map(request).collect()
    })
}

fn count<K: Ord>(pairs: impl IntoIterator<Item = (K, usize)>) -> Vec<(K, ByKind)> {
    let mut counts = BTreeMap::new();
    for (key, kind) in pairs {
        counts.entry(key).or_insert([0; KINDS])[kind] += 1;
    }
    counts.into_iter().collect()
}

fn pages<'a>(requests: impl IntoIterator<Item = &'a Request>) -> BTreeSet<u64> {
    let moving = requests.into_iter().filter(|r| matches!(r.op, Op::Read | Op::Write));
    moving.flat_map(|r| r.offset / 4096..=(r.end() - 1) / 4096).collect()
}

/// True if the request at index `at` begins where the last earlier request that satisfies `like` ended.
fn continues(requests: &[Request], at: usize, like: impl Fn(&Request) -> bool) -> bool {
    requests[..at].iter().rfind(|r| like(r)).is_some_and(|before| before.end() == requests[at].offset)
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(40))]

    /// Goal: every figure follows its definition. Method: direct computation from all requests.
    #[test]
    fn figures_follow_their_definitions(all in requests()) {
        let analysis = analyse(&all);
        let addressed: Vec<Request> = all.iter().copied().filter(|r| r.op != Op::Flush).collect();
        let kind = |r: &Request| r.op as usize;

        prop_assert_eq!(analysis.ranges(), count(addressed.iter().map(|r| (r.offset / RANGE, kind(r)))));
        let deviations = addressed.windows(2).map(|pair| {
            ((pair[1].offset / RANGE) as i64 - (pair[0].offset / RANGE) as i64, kind(&pair[1]))
        });
        let deviations: Vec<_> = count(deviations).into_iter().map(|(d, counts)| (d, d + 1, counts)).collect();
        prop_assert_eq!(analysis.deviations(), deviations);
        let sizes = count(addressed.iter().map(|r| (u64::from(r.bytes).div_ceil(512), kind(r))));
        let sizes: Vec<_> =
            sizes.into_iter().map(|(lower, requests)| Step { lower, upper: lower + 1, requests }).collect();
        prop_assert_eq!(analysis.sizes(), sizes);

        let largest = |number: u64| (0..=20).rev().map(|power| 1_u64 << power).find(|&p| number.is_multiple_of(p));
        for row in analysis.alignments() {
            let with = |test: &dyn Fn(&Request) -> Option<u64>| -> ByKind {
                std::array::from_fn(|k| {
                    addressed.iter().filter(|r| kind(r) == k && test(r) == Some(row.bytes)).count() as u64
                })
            };
            prop_assert_eq!(row.addresses, with(&|r| largest(r.offset)));
            prop_assert_eq!(row.wholes, with(&|r| largest(r.offset).min(largest(r.bytes.into()))));
        }

        for (k, runs) in analysis.runs().iter().enumerate() {
            let own: Vec<Request> = addressed.iter().copied().filter(|r| kind(r) == k).collect();
            let sum = |test: &dyn Fn(usize) -> bool| (0..own.len()).filter(|&at| test(at)).count() as u64;
            prop_assert_eq!(runs.after_kind, sum(&|at| continues(&own, at, |_| true)));
            prop_assert_eq!(runs.after_stream, sum(&|at| continues(&own, at, |r| r.stream == own[at].stream)));
            prop_assert!(runs.continuing >= runs.after_kind);
            prop_assert_eq!(runs.continuing + runs.lengths.count(), own.len() as u64);
            prop_assert_eq!(runs.lengths.sum_ns(), own.len() as u128);
        }
        let streams: BTreeSet<u16> = addressed.iter().map(|r| r.stream).filter(|&stream| stream > 0).collect();
        prop_assert_eq!(analysis.streams(), streams.len() as u64);

        let (width, windows) = analysis.windows();
        prop_assert_eq!(width, if all.len() <= 512 { 1 } else if all.len() <= 1024 { 2 } else { 4 });
        prop_assert_eq!(windows.len(), all.len().div_ceil(width as usize));
        for (n, (window, own)) in windows.iter().zip(all.chunks(width as usize)).enumerate() {
            let so_far = pages(&all[..n * width as usize + own.len()]).len() as u64;
            let before = pages(&all[..n * width as usize]).len() as u64;
            let expected = WindowFigures {
                first_request: n as u64 * width,
                first_ns: own[0].time_ns,
                requests: Op::ALL.map(|op| own.iter().filter(|r| r.op == op).count() as u64),
                bytes: [Op::Read, Op::Write, Op::Trim]
                    .map(|op| own.iter().filter(|r| r.op == op).map(|r| u64::from(r.bytes)).sum()),
                pages: pages(own).len() as u64,
                new_pages: so_far - before,
                pages_so_far: so_far,
            };
            prop_assert_eq!(*window, expected);
        }
        let of = |op| pages(all.iter().filter(|r| r.op == op)).len() as u64 * 4096;
        prop_assert_eq!(
            analysis.working_set().footprints(),
            [of(Op::Read), of(Op::Write), pages(&all).len() as u64 * 4096]
        );
        prop_assert_eq!(analysis.working_set().sampling(), 1);

        let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1].time_ns - pair[0].time_ns).collect();
        prop_assert_eq!(analysis.gaps()[0].sum_ns(), u128::from(analysis.duration_ns()));
        prop_assert_eq!(analysis.gaps()[0].max_ns(), gaps.iter().copied().max().unwrap_or(0));
        for scale in analysis.dispersion() {
            let mut stretches = vec![0.0; (analysis.duration_ns() / scale.scale_ns) as usize + 1];
            all.iter().for_each(|r| stretches[((r.time_ns - all[0].time_ns) / scale.scale_ns) as usize] += 1.0);
            stretches.pop();
            let n = stretches.len() as f64;
            let mean = stretches.iter().sum::<f64>() / n;
            let variance = stretches.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / n;
            prop_assert_eq!(scale.stretches, stretches.len() as u64);
            prop_assert_eq!(scale.index.is_some(), stretches.len() > 1);
            prop_assert!(scale.index.is_none_or(|index| (index - variance / mean).abs() < 1e-9 * (1.0 + index)));
        }
    }
}

/// A trace to check by hand, with 16 MiB ranges: a read, a write that continues it, a write two ranges up, a trim back
/// in the first range.
#[test]
fn a_trace_counted_by_hand() {
    const MIB: u64 = 1 << 20;
    let mut analysis = Analysis::new(16 * MIB).unwrap();
    analysis.add(&[
        request(0, Op::Read, 0, 8192),
        request(1000, Op::Write, 8192, 4096),
        request(2000, Op::Write, 33 * MIB, 512),
        request(4000, Op::Flush, 0, 0),
        request(4000, Op::Write, 33 * MIB + 512, 4608),
        request(9000, Op::Trim, MIB, 65536),
    ]);
    assert_eq!((analysis.requests(), analysis.bytes()), ([1, 3, 1, 1], [8192, 9216, 65536, 0]));
    assert_eq!(analysis.extent(), Some((0, 33 * MIB + 5120)));
    assert_eq!(analysis.ranges(), [(0, [1, 1, 1]), (2, [0, 2, 0])]);
    assert_eq!(analysis.deviations(), [(-2, -1, [0, 0, 1]), (0, 1, [0, 2, 0]), (2, 3, [0, 1, 0])]);
    let sizes: Vec<_> = analysis.sizes().iter().map(|step| (step.lower, step.requests)).collect();
    assert_eq!(sizes, [(1, [0, 1, 0]), (8, [0, 1, 0]), (9, [0, 1, 0]), (16, [1, 0, 0]), (128, [0, 0, 1])]);
    let runs = analysis.runs();
    assert_eq!(
        runs.each_ref().map(|r| (r.after_kind, r.continuing, r.lengths.count())),
        [(0, 0, 1), (1, 1, 2), (0, 0, 1)]
    );
    // The write run spans the distance from request 3 to request 4, which is 1 of 5 requests.
    assert_eq!(runs[1].concurrent, 0.2);
    // Pages touched per window: 0 and 1 | 2 | 8448 | none | 8448 and 8449 | none.
    let pages: Vec<_> = analysis.windows().1.iter().map(|w| (w.pages, w.new_pages, w.pages_so_far)).collect();
    assert_eq!(pages, [(2, 2, 2), (1, 1, 3), (1, 1, 4), (0, 0, 4), (2, 1, 5), (0, 0, 5)]);
    assert_eq!(analysis.working_set().footprints(), [8192, 3 * 4096, 5 * 4096]);
    assert_eq!((analysis.gaps()[0].mean_ns(), analysis.gaps()[2].mean_ns()), (1800.0, 1500.0));
}

#[test]
fn invalid_range_sizes_are_rejected() {
    for (bytes, good) in [(0, false), (511, false), (512, true), (1 << 40, true), ((1 << 40) + 1, false)] {
        assert_eq!(Analysis::new(bytes).is_ok(), good, "{bytes}");
    }
    assert_eq!(Analysis::new(0).unwrap_err().to_string(), "range size 0 bytes is invalid; use 512B to 1TiB");
}

#[test]
fn an_empty_trace_has_no_figures() {
    let empty = analyse(&[]);
    assert_eq!((empty.extent(), empty.duration_ns(), empty.streams()), (None, 0, 0));
    assert!(empty.ranges().is_empty() && empty.deviations().is_empty() && empty.windows().1.is_empty());
}
