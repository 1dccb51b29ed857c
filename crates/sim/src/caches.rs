//! Many simulated caches over one trace, several at a time.
//!
//! Each cache is a task of its own that only reads what all share, so results do not depend on how many run at once.
//! The caller's watch is asked some twenty times a second whether to continue. If not, tasks end when they next check,
//! tasks that never check are left to end by themselves, and the results are those of the tasks that were finished.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ssdlab_cache::{AccessTrace, CacheError, Counts, PolicyInfo, Sample, Stage, StageCounters, StageOptions};
use ssdlab_trace::Request;

use crate::run::monitor::Control;

/// Between two questions whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Accesses, or requests of a stage, between two checks whether to stop.
const LOOK_EVERY: usize = 1 << 14;

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
    /// Units of each replica's cache; none where it is exact. Where they are few, the estimate is of another kind of cache.
    pub scaled_capacity: Option<u64>,
}

/// Told how many of how many tasks are done; returns whether to continue.
pub type Watch<'a> = &'a mut (dyn FnMut(usize, usize) -> Control + Send);

type Task<T> = Box<dyn FnOnce(&AtomicBool) -> T + Send>;

/// What each cache sees of the trace, in the order of `caches`; none of those that were stopped.
///
/// # Errors
/// Of the first cache in order that cannot be.
pub fn simulate_caches(
    trace: &Arc<AccessTrace>,
    caches: Vec<CacheChoice>,
    jobs: usize,
    watch: Watch<'_>,
) -> Result<Vec<Option<Counts>>, CacheError> {
    let task = |cache: CacheChoice| -> Task<_> {
        let trace = Arc::clone(trace);
        Box::new(move |stop| simulate(&trace, &cache, stop))
    };
    side_by_side(caches.into_iter().map(task).collect(), jobs, watch)
}

/// What each write-back cache does with the requests, and the pages left dirty in it, in the order of `caches`; none of
/// those that were stopped. Capacities are those of `caches`.
///
/// # Errors
/// As [`simulate_caches`].
pub fn simulate_stages(
    requests: &Arc<Vec<Request>>,
    options: StageOptions,
    caches: Vec<CacheChoice>,
    jobs: usize,
    watch: Watch<'_>,
) -> Result<Vec<Option<(StageCounters, u64)>>, CacheError> {
    let task = |cache: CacheChoice| -> Task<_> {
        let requests = Arc::clone(requests);
        Box::new(move |stop| {
            let options = StageOptions { capacity_pages: cache.capacity, ..options };
            let mut stage = Stage::new(cache.info, &cache.changes, options)?;
            for batch in requests.chunks(LOOK_EVERY) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                for request in batch {
                    stage.submit(request, &mut |_, _| {})?;
                }
            }
            Ok((stage.counters(), stage.dirty_pages()))
        })
    };
    side_by_side(caches.into_iter().map(task).collect(), jobs, watch)
}

/// The miss ratio of each cache, simulated in full.
///
/// # Errors
/// As [`simulate_caches`].
pub fn exact_points(
    trace: &Arc<AccessTrace>,
    caches: Vec<CacheChoice>,
    jobs: usize,
    watch: Watch<'_>,
) -> Result<Vec<Option<CurvePoint>>, CacheError> {
    let counts = simulate_caches(trace, caches, jobs, watch)?;
    Ok(counts.into_iter().map(|counts| counts.map(exact)).collect())
}

/// The miss ratio of each cache, estimated from a sample.
///
/// # Errors
/// As [`simulate_caches`].
pub fn sampled_points(
    sample: &Arc<Sample>,
    caches: Vec<CacheChoice>,
    jobs: usize,
    watch: Watch<'_>,
) -> Result<Vec<Option<CurvePoint>>, CacheError> {
    let task = |cache: CacheChoice| -> Task<_> {
        let sample = Arc::clone(sample);
        Box::new(move |_| {
            let found = sample.estimate(cache.info, &cache.changes, cache.capacity)?;
            Ok(CurvePoint {
                miss_ratio: found.miss_ratio,
                unit_miss_ratio: found.unit_miss_ratio,
                standard_error: Some(found.standard_error),
                unit_standard_error: Some(found.unit_standard_error),
                scaled_capacity: Some(found.scaled_capacity),
            })
        })
    };
    side_by_side(caches.into_iter().map(task).collect(), jobs, watch)
}

/// The miss ratios of caches of these capacities by each of the policies, which are stack algorithms, in one pass each.
///
/// # Errors
/// Of the first policy in order that has no curve in one pass on this trace.
pub fn one_pass_points(
    trace: &Arc<AccessTrace>,
    policies: Vec<&'static PolicyInfo>,
    capacities: &[u64],
    jobs: usize,
    watch: Watch<'_>,
) -> Result<Vec<Option<Vec<CurvePoint>>>, CacheError> {
    let task = |info: &'static PolicyInfo| -> Task<_> {
        let (trace, capacities) = (Arc::clone(trace), capacities.to_vec());
        Box::new(move |_| {
            let none = CacheError::NoOnePass { why: "the policy is no stack algorithm" };
            let one_pass = info.one_pass.ok_or(none)?;
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
        })
    };
    side_by_side(policies.into_iter().map(task).collect(), jobs, watch)
}

fn exact(counts: Counts) -> CurvePoint {
    CurvePoint {
        miss_ratio: counts.miss_ratio(),
        unit_miss_ratio: counts.unit_miss_ratio(),
        standard_error: None,
        unit_standard_error: None,
        scaled_capacity: None,
    }
}

fn simulate(trace: &AccessTrace, cache: &CacheChoice, stop: &AtomicBool) -> Result<Counts, CacheError> {
    let mut policy = trace.policy(cache.info, &cache.changes, cache.capacity)?;
    let mut counts = Counts::default();
    for batch in trace.accesses().chunks(LOOK_EVERY) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        policy.simulate(batch, &mut counts);
    }
    Ok(counts)
}

type Reply<T> = (usize, Result<Result<T, CacheError>, Box<dyn Any + Send>>);

/// Runs tasks on up to `jobs` threads; their results in order, none of those that were stopped.
fn side_by_side<T: Send + 'static>(
    tasks: Vec<Task<Result<T, CacheError>>>,
    jobs: usize,
    watch: Watch<'_>,
) -> Result<Vec<Option<T>>, CacheError> {
    let total = tasks.len();
    let shared = Arc::new((
        tasks.into_iter().map(|task| Mutex::new(Some(task))).collect::<Vec<_>>(),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    ));
    let (sender, replies) = mpsc::channel::<Reply<T>>();
    for _ in 0..jobs.clamp(1, total.max(1)) {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        thread::spawn(move || {
            let (tasks, next, stop) = &*shared;
            while !stop.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let slot = tasks.get(at).map(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).take());
                let Some(task) = slot.flatten() else { break };
                let result = catch_unwind(AssertUnwindSafe(|| task(stop)));
                // The receiver is gone if the tasks were stopped.
                let _ = sender.send((at, result));
            }
        });
    }
    drop(sender);
    let mut results: Vec<Option<Result<T, CacheError>>> = (0..total).map(|_| None).collect();
    let mut done = 0;
    while done < total {
        match replies.recv_timeout(ASK_EVERY) {
            Ok((at, Ok(result))) => {
                results[at] = Some(result);
                done += 1;
            }
            Ok((_, Err(payload))) => {
                shared.2.store(true, Ordering::Relaxed);
                resume_unwind(payload);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if watch(done, total) == Control::Stop {
            shared.2.store(true, Ordering::Relaxed);
            break;
        }
    }
    results.into_iter().map(Option::transpose).collect()
}
