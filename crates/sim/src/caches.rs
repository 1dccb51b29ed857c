//! Simulated caches over one trace.
//!
//! A cache only reads what all share, so many can be simulated at a time. Each is a task on a thread of its own;
//! whoever waits for it is asked some twenty times a second whether to continue. If not, the task ends when it next
//! checks, and one that never checks is left to end by itself.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ssdlab_cache::{
    AccessTrace, CacheError, Counts, PolicyInfo, Sample, WriteBackCache, WriteBackCounters, WriteBackOptions,
};
use ssdlab_trace::Request;

use crate::run::monitor::Control;

/// Between two questions whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Accesses, or requests of a stage, between two checks whether to stop.
pub(crate) const LOOK_EVERY: usize = 1 << 14;

/// One cache: a policy, changes to the defaults of its parameters, and units of capacity.
#[derive(Clone, Debug)]
pub struct CacheChoice {
    /// The policy.
    pub info: &'static PolicyInfo,
    /// Parameters by name.
    pub changes: Vec<(String, u64)>,
    /// Units it holds.
    pub capacity: u64,
}

/// A point of a miss-ratio curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvePoint {
    /// Misses of all accesses, 0 to 1.
    pub miss_ratio: f64,
    /// Missed units of all units, 0 to 1.
    pub unit_miss_ratio: f64,
    /// Standard error of `miss_ratio`; none where it is exact.
    pub standard_error: Option<f64>,
    /// Standard error of `unit_miss_ratio`; none where it is exact.
    pub unit_standard_error: Option<f64>,
    /// Hits of more units than the item had when it came in; an estimate where the ratio is one.
    pub outgrown: u64,
    /// Units that items of such hits lacked, likewise.
    pub outgrown_units: u64,
    /// Units of each replica's cache; none where it is exact. Where they are few, the estimate is of another kind of
    /// cache.
    pub scaled_capacity: Option<u64>,
}

/// Asked whether to continue.
pub type Watch<'a> = &'a mut (dyn FnMut() -> Control + Send);

/// What a cache sees of the trace; none if it was stopped.
///
/// # Errors
/// If there can be no such cache.
pub fn simulate_cache(
    trace: &Arc<AccessTrace>,
    cache: CacheChoice,
    watch: Watch<'_>,
) -> Result<Option<Counts>, CacheError> {
    let trace = Arc::clone(trace);
    watched(
        move |stop| {
            let mut policy = trace.policy(cache.info, &cache.changes, cache.capacity)?;
            Ok(trace.replay(&mut *policy, LOOK_EVERY, || !stop.load(Ordering::Relaxed)))
        },
        watch,
    )
}

/// What a write-back cache does with the requests, and the pages left dirty in it; none if it was stopped. The capacity
/// is that of `cache`.
///
/// # Errors
/// If there can be no such cache.
pub fn simulate_stage(
    requests: &Arc<Vec<Request>>,
    options: WriteBackOptions,
    cache: CacheChoice,
    watch: Watch<'_>,
) -> Result<Option<(WriteBackCounters, u64)>, CacheError> {
    let requests = Arc::clone(requests);
    watched(
        move |stop| {
            let options = WriteBackOptions { capacity_pages: cache.capacity, ..options };
            let mut stage = WriteBackCache::new(cache.info, &cache.changes, options)?;
            for batch in requests.chunks(LOOK_EVERY) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                for request in batch {
                    stage.submit(request, &mut |_, _| {})?;
                }
            }
            Ok((stage.counters(), stage.dirty_pages()))
        },
        watch,
    )
}

/// The miss ratio of a cache, simulated in full; none if it was stopped.
///
/// # Errors
/// As [`simulate_cache`].
pub fn exact_point(
    trace: &Arc<AccessTrace>,
    cache: CacheChoice,
    watch: Watch<'_>,
) -> Result<Option<CurvePoint>, CacheError> {
    Ok(simulate_cache(trace, cache, watch)?.map(exact))
}

/// The miss ratio of a cache, estimated from a sample; none if it was stopped.
///
/// # Errors
/// As [`simulate_cache`].
pub fn sampled_point(
    sample: &Arc<Sample>,
    cache: CacheChoice,
    watch: Watch<'_>,
) -> Result<Option<CurvePoint>, CacheError> {
    let sample = Arc::clone(sample);
    watched(
        move |_| {
            let found = sample.estimate(cache.info, &cache.changes, cache.capacity)?;
            Ok(CurvePoint {
                miss_ratio: found.miss_ratio,
                unit_miss_ratio: found.unit_miss_ratio,
                standard_error: Some(found.standard_error),
                unit_standard_error: Some(found.unit_standard_error),
                outgrown: found.outgrown,
                outgrown_units: found.outgrown_units,
                scaled_capacity: Some(found.scaled_capacity),
            })
        },
        watch,
    )
}

/// The miss ratios of caches of these capacities by a policy that is a stack algorithm, in one pass; none if it was
/// stopped.
///
/// # Errors
/// If the policy has no curve in one pass on this trace.
pub fn one_pass_points(
    trace: &Arc<AccessTrace>,
    info: &'static PolicyInfo,
    capacities: Vec<u64>,
    watch: Watch<'_>,
) -> Result<Option<Vec<CurvePoint>>, CacheError> {
    let trace = Arc::clone(trace);
    watched(
        move |_| {
            let none = CacheError::NoOnePass { why: "the policy is no stack algorithm" };
            let one_pass = info.role.one_pass.ok_or(none)?;
            let most = capacities.iter().copied().max().unwrap_or(1);
            let curve = one_pass(&trace, u32::try_from(most).unwrap_or(u32::MAX))?;
            let accesses = curve.accesses();
            let misses = curve.misses();
            let point = |&capacity: &u64| {
                let at = (capacity.max(1) - 1).min(misses.len() as u64 - 1);
                let misses = misses[at as usize];
                exact(Counts { accesses, misses, units: accesses, missed_units: misses, ..Counts::default() })
            };
            Ok(capacities.iter().map(point).collect())
        },
        watch,
    )
}

fn exact(counts: Counts) -> CurvePoint {
    CurvePoint {
        miss_ratio: counts.miss_ratio(),
        unit_miss_ratio: counts.unit_miss_ratio(),
        standard_error: None,
        unit_standard_error: None,
        outgrown: counts.outgrown,
        outgrown_units: counts.outgrown_units,
        scaled_capacity: None,
    }
}

/// Runs a task on a thread of its own; its result, none if it was stopped.
pub(crate) fn watched<T: Send + 'static>(
    task: impl FnOnce(&AtomicBool) -> Result<T, CacheError> + Send + 'static,
    watch: Watch<'_>,
) -> Result<Option<T>, CacheError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, replies) = mpsc::channel();
    let told = Arc::clone(&stop);
    thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| task(&told)));
        // The receiver is gone if the task was stopped.
        let _ = sender.send(result);
    });
    loop {
        match replies.recv_timeout(ASK_EVERY) {
            Ok(Ok(result)) => return result.map(Some),
            Ok(Err(payload)) => resume_unwind(payload),
            Err(RecvTimeoutError::Timeout) if watch() == Control::Continue => {}
            Err(_) => {
                stop.store(true, Ordering::Relaxed);
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_ends_when_it_is_told() {
        let until_stopped = |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            Ok(())
        };
        let mut asked = 0;
        let mut twice = || {
            asked += 1;
            if asked < 2 { Control::Continue } else { Control::Stop }
        };
        assert_eq!(watched(until_stopped, &mut twice), Ok(None));
        assert_eq!(asked, 2);
    }

    #[test]
    fn one_that_never_checks_is_left() {
        let (_never, answer) = mpsc::channel::<()>();
        let stuck = move |_: &AtomicBool| {
            let _ = answer.recv();
            Ok(())
        };
        assert_eq!(watched(stuck, &mut || Control::Stop), Ok(None));
    }

    #[test]
    #[should_panic(expected = "a defect")]
    fn a_panic_is_that_of_the_caller() {
        let _ = watched(|_| -> Result<(), CacheError> { panic!("a defect") }, &mut || Control::Continue);
    }
}
