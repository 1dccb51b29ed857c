//! Simulates host caches over one trace, without a drive.
//!
//! All caches read the same trace in memory, so many caches can run at once. Each cache is a task on its own thread.
//! Twenty times a second, the caller's [`Watch`] decides whether the task continues. A stopped task ends at its next
//! check of the stop flag; a task without checks runs to its end.

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

/// Time between two calls of the caller's [`Watch`], which may stop the simulation.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Number of accesses or requests that a simulation processes between two checks of its stop flag.
pub(crate) const LOOK_EVERY: usize = 1 << 14;

/// A cache to simulate: policy, changed parameters and capacity.
#[derive(Clone, Debug)]
pub struct CacheChoice {
    /// Replacement policy of the cache.
    pub info: &'static PolicyInfo,
    /// Policy parameters that were changed, as names and values.
    pub changes: Vec<(String, u64)>,
    /// Capacity of the cache in units.
    pub capacity: u64,
}

/// Result of simulating one cache: a point of a miss-ratio curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvePoint {
    /// Number of misses per access, from 0 to 1.
    pub miss_ratio: f64,
    /// Number of missed units per accessed unit, from 0 to 1.
    pub unit_miss_ratio: f64,
    /// Standard error of `miss_ratio`; `None` if the ratio is exact.
    pub standard_error: Option<f64>,
    /// Standard error of `unit_miss_ratio`; `None` if the ratio is exact.
    pub unit_standard_error: Option<f64>,
    /// Number of hits on items that have grown since they were inserted. This is an estimate if the miss ratio is an
    /// estimate.
    pub outgrown: u64,
    /// Number of units missing on hits. A cached item keeps the size it had when inserted, but a later request may need
    /// more units. This is an estimate if the miss ratio is an estimate.
    pub outgrown_units: u64,
    /// Capacity in units of each of the small caches that are simulated on the sample; `None` if the ratio is exact. The
    /// estimate is poor if this capacity is small.
    pub scaled_capacity: Option<u64>,
}

/// Function that is called periodically and decides whether the simulation continues.
pub type Watch<'a> = &'a mut (dyn FnMut() -> Control + Send);

/// Simulates a cache over the trace; returns `None` if stopped.
///
/// # Errors
/// Fails if the parameters of the cache are invalid.
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

/// Simulates a write-back cache with the capacity of `cache`. Returns the counters of the cache and the number of pages
/// left dirty, or `None` if stopped.
///
/// # Errors
/// Fails if the parameters of the cache are invalid.
pub fn simulate_write_back(
    requests: &Arc<Vec<Request>>,
    options: WriteBackOptions,
    cache: CacheChoice,
    watch: Watch<'_>,
) -> Result<Option<(WriteBackCounters, u64)>, CacheError> {
    let requests = Arc::clone(requests);
    watched(
        move |stop| {
            let options = WriteBackOptions { capacity_pages: cache.capacity, ..options };
            let mut write_back = WriteBackCache::new(cache.info, &cache.changes, options)?;
            for batch in requests.chunks(LOOK_EVERY) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                for request in batch {
                    write_back.submit(request, &mut |_, _| {})?;
                }
            }
            Ok((write_back.counters(), write_back.dirty_pages()))
        },
        watch,
    )
}

/// Returns the exact miss ratio of a cache, or `None` if stopped.
///
/// # Errors
/// Fails for the same reasons as [`simulate_cache`].
pub fn exact_point(
    trace: &Arc<AccessTrace>,
    cache: CacheChoice,
    watch: Watch<'_>,
) -> Result<Option<CurvePoint>, CacheError> {
    Ok(simulate_cache(trace, cache, watch)?.map(exact))
}

/// Estimates the miss ratio of a cache from a sample; returns `None` if stopped.
///
/// # Errors
/// Fails for the same reasons as [`simulate_cache`].
pub fn sampled_point(
    sample: &Arc<Sample>,
    cache: CacheChoice,
    watch: Watch<'_>,
) -> Result<Option<CurvePoint>, CacheError> {
    let sample = Arc::clone(sample);
    watched(
        move |_| {
            let estimate = sample.estimate(cache.info, &cache.changes, cache.capacity)?;
            Ok(CurvePoint {
                miss_ratio: estimate.miss_ratio,
                unit_miss_ratio: estimate.unit_miss_ratio,
                standard_error: Some(estimate.standard_error),
                unit_standard_error: Some(estimate.unit_standard_error),
                outgrown: estimate.outgrown,
                outgrown_units: estimate.outgrown_units,
                scaled_capacity: Some(estimate.scaled_capacity),
            })
        },
        watch,
    )
}

/// Returns the miss ratios of a stack algorithm at several capacities, in one pass over the trace, or `None` if
/// stopped.
///
/// # Errors
/// Fails if the miss ratios of the policy on this trace cannot be computed in one pass.
pub fn one_pass_points(
    trace: &Arc<AccessTrace>,
    info: &'static PolicyInfo,
    capacities: Vec<u64>,
    watch: Watch<'_>,
) -> Result<Option<Vec<CurvePoint>>, CacheError> {
    let trace = Arc::clone(trace);
    watched(
        move |_| {
            let none = CacheError::NoOnePass { why: "the policy cannot compute its curve in one pass" };
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

/// Runs a simulation as a task on a separate thread. Returns the task's result, or `None` if the task was stopped.
pub(crate) fn watched<T: Send + 'static>(
    task: impl FnOnce(&AtomicBool) -> Result<T, CacheError> + Send + 'static,
    watch: Watch<'_>,
) -> Result<Option<T>, CacheError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, replies) = mpsc::channel();
    let stopped = Arc::clone(&stop);
    thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| task(&stopped)));
        // If the task was stopped, the receiver no longer exists, and the result is dropped.
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
    fn a_stopped_task_ends() {
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
    fn a_task_that_never_checks_is_abandoned() {
        let (_never, answer) = mpsc::channel::<()>();
        let stuck = move |_: &AtomicBool| {
            let _ = answer.recv();
            Ok(())
        };
        assert_eq!(watched(stuck, &mut || Control::Stop), Ok(None));
    }

    #[test]
    #[should_panic(expected = "a defect")]
    fn a_panic_of_the_task_reaches_the_caller() {
        let _ = watched(|_| -> Result<(), CacheError> { panic!("a defect") }, &mut || Control::Continue);
    }
}
