//! Checks for workload patterns.

use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};

use proptest::prelude::*;
use ssdlab_trace::{Arrival, Generator, Op, Pattern, PatternInfo, Request, Source, Workload};

use crate::case::{Check, Checked, World, check, check_limits};
use crate::parameters::{Limit, limits, settings, values};

/// All checks of workload patterns, with their names.
pub const CHECKS: &[Check<&'static PatternInfo>] = workload_checks!([table]);

/// Number of requests of each workload.
const REQUESTS: u64 = 200;

/// A generated workload with the pattern under test.
#[derive(Clone, Debug)]
struct Generated(Workload);

impl Display for Generated {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Workload { pattern, reads, sizes, align_bytes, span_bytes, seed, .. } = &self.0;
        write!(f, "workload: {pattern:?}, span {span_bytes} bytes, alignment {align_bytes} bytes, ")?;
        write!(f, "sizes {sizes:?}, reads {reads}, seed {seed}")
    }
}

/// Generates random workloads. They take no operations, because their configuration determines all requests.
fn worlds(info: &'static PatternInfo, limit: Option<Limit>) -> impl Strategy<Value = World<Generated, Infallible>> {
    let sizes = prop_oneof![
        Just(vec![(4096, 1.0)]),
        Just(vec![(512, 1.0), (4096, 2.0)]),
        Just(vec![(4096, 1.0), (65_536, 1.0)]),
    ];
    let span = prop_oneof![Just(16_u64 << 20), Just(1 << 30), (1_u64..2000).prop_map(|pages| pages * 4096)];
    let reads = prop_oneof![Just(0.0), Just(0.5), Just(1.0)];
    (values(info.parameters, limit), sizes, prop_oneof![Just(512_u32), Just(4096)], span, reads, 0..4_u64)
        .prop_filter_map("the parameters fit the span", |(values, sizes, align_bytes, span_bytes, reads, seed)| {
            let choice = ssdlab_core::Choice { info, settings: settings(info.parameters, &values) };
            let workload = Workload {
                pattern: Pattern::Addresses(choice),
                arrival: Arrival::Closed,
                queues: Vec::new(),
                requests: REQUESTS,
                reads,
                sizes,
                align_bytes,
                span_bytes,
                seed,
            };
            workload.check().is_ok().then(|| World { device: Generated(workload), operations: Vec::new() })
        })
}

/// Generates all requests, `batch` requests per call.
fn requests(workload: &Workload, batch: usize) -> Result<Vec<Request>, String> {
    let mut generator = Generator::new(workload).map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while generator.prepare().map_err(|error| error.to_string())? {}
    while generator.fill(&mut requests, batch).map_err(|error| error.to_string())? > 0 {}
    Ok(requests)
}

/// Checks that every request is within the span, is aligned and has one of the configured sizes.
pub fn addresses_stay_in_the_span(info: &'static PatternInfo) -> Checked {
    stays(info, None, "addresses_stay_in_the_span", 60)
}

/// Repeats [`addresses_stay_in_the_span`] with each parameter at its smallest and at its largest value.
pub fn parameters_work_at_their_limits(info: &'static PatternInfo) -> Checked {
    check_limits(limits(info.parameters), |limit| stays(info, Some(limit), "parameters_work_at_their_limits", 8))
}

fn stays(info: &'static PatternInfo, limit: Option<Limit>, name: &'static str, cases: u32) -> Checked {
    check(component(info), name, cases, worlds(info, limit), |Generated(workload), _| {
        for (number, request) in (1..).zip(requests(workload, 64)?) {
            let Request { offset, bytes, op, .. } = request;
            let wrong = if offset.checked_add(bytes.into()).is_none_or(|end| end > workload.span_bytes) {
                "extends beyond the span"
            } else if !offset.is_multiple_of(workload.align_bytes.into()) {
                "is not aligned"
            } else if bytes == 0 {
                "has length 0"
            } else if !matches!(op, Op::Read | Op::Write) {
                "is neither a read nor a write"
            } else {
                continue;
            };
            return Err(format!("request {number} ({op:?} of {bytes} bytes at offset {offset}) {wrong}"));
        }
        Ok(())
    })
}

fn component(info: &PatternInfo) -> String {
    format!("workload pattern {}", info.name)
}

/// Checks that identical workloads generate identical requests, whatever the batch size.
pub fn equal_seeds_give_equal_requests(info: &'static PatternInfo) -> Checked {
    let worlds = worlds(info, None);
    check(component(info), "equal_seeds_give_equal_requests", 30, worlds, |Generated(workload), _| {
        let (one, two) = (requests(workload, 1)?, requests(workload, 64)?);
        match (1..).zip(one.iter().zip(&two)).find(|(_, (one, two))| one != two) {
            Some((number, (one, two))) => {
                Err(format!("request {number} is {one:?} in the first run, but {two:?} in the second"))
            }
            None if one.len() == two.len() => Ok(()),
            None => Err(format!("first {} requests, then {}", one.len(), two.len())),
        }
    })
}
