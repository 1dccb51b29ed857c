//! Simulated caches for Python: policies, and results on a trace.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_cache::{
    ADMISSIONS, Access, AccessTrace, CacheError, Granularity, Life, POLICIES, PolicyInfo, PolicyRules, Sample,
    SampleOptions, SampleSize, Sampler, Splitter, Trims, WriteBackOptions, WriteMode, build_policy,
};
use ssdlab_core::Parameter;
use ssdlab_sim::{CacheChoice, Control, CurvePoint, Follower, Followers, Watch};
use ssdlab_trace::Request;

use crate::counters;
use crate::errors::{ConfigError, OrRaise, detached};
use crate::quantity::size;
use crate::requests::Requests;
use crate::source::exclusive;

/// Parameter of a policy: name, unit, default, minimum, maximum and help.
type ParameterRow = (&'static str, &'static str, u64, u64, u64, &'static str);

/// Replacement policy as `(name, help, parameters, sizes, needs_future, one_pass)`. The last three are flags: `sizes`
/// if items may have different sizes, `needs_future` if future accesses must be known, and `one_pass` if one pass gives
/// the whole miss-ratio curve.
type PolicyRow = (&'static str, &'static str, Vec<ParameterRow>, bool, bool, bool);

/// Admission policy as `(name, help, parameters, sizes)`. The flag `sizes` is true if items may have different sizes.
type AdmissionRow = (&'static str, &'static str, Vec<ParameterRow>, bool);

fn rows(parameters: &[Parameter]) -> Vec<ParameterRow> {
    let row = |&Parameter { name, unit, default, min, max, help, .. }: &Parameter| {
        (name, unit.name(), default, min, max, help)
    };
    parameters.iter().map(row).collect()
}

/// Returns all replacement policies as `(name, help, parameters, sizes, needs_future, one_pass)`.
#[pyfunction]
pub fn cache_policies() -> Vec<PolicyRow> {
    let row = |info: &&PolicyInfo| {
        let PolicyRules { sizes, needs_future, ref one_pass, .. } = info.role;
        (info.name, info.help, rows(info.parameters), sizes, needs_future, one_pass.is_some())
    };
    POLICIES.iter().map(row).collect()
}

/// Returns all admission policies as `(name, help, parameters, sizes)`; the parameter `admission` of a replacement
/// policy is an index in this list.
#[pyfunction]
pub fn cache_admissions() -> Vec<AdmissionRow> {
    ADMISSIONS.iter().map(|info| (info.name, info.help, rows(info.parameters), info.role.sizes)).collect()
}

/// Fails if the policy is unknown, lacks a parameter that `changes` names, or requires items of equal size when
/// `one_size` is false.
#[pyfunction]
pub fn check_cache(name: &str, changes: Vec<(String, u64)>, one_size: bool) -> PyResult<()> {
    let info = POLICIES.get(name).or_raise()?;
    build_policy(info, &changes, 1, 0, one_size).map(drop).or_raise()
}

/// A cache to simulate: policy, changed parameters, capacity in units.
type Asked = (String, Vec<(String, u64)>, u64);

fn choice((name, changes, capacity): Asked) -> PyResult<CacheChoice> {
    let info = POLICIES.get(&name).or_raise()?;
    Ok(CacheChoice { info, changes, capacity })
}

/// Data collected while the requests of a trace are added.
struct Gathering {
    splitter: Splitter,
    /// Caches that are simulated while the requests of the trace are added.
    followers: Option<Followers>,
    accesses: Option<Vec<Access>>,
    future: bool,
    /// True if items expire after a time to live.
    expire: bool,
    /// Time of each access, and time to live of the accessed item. The times to live are known only at the end of the
    /// trace; until then, the field holds the stream number instead. Empty if items never expire.
    lives: Vec<Life>,
    requests: Option<Vec<Request>>,
    sampler: Option<Sampler>,
}

impl Gathering {
    fn add(&mut self, requests: &[Request]) -> Result<(), CacheError> {
        if let Some(followers) = &mut self.followers {
            followers.split(requests, &mut self.splitter)?;
        }
        if let Some(accesses) = &mut self.accesses {
            // All accesses of a request get the time and stream of the request.
            let at_a_time = if self.expire { 1 } else { 4096 };
            for batch in requests.chunks(at_a_time) {
                self.splitter.split(batch, accesses)?;
                if self.expire {
                    let Request { time_ns, stream, .. } = batch[0];
                    self.lives.resize(accesses.len(), Life { time_ns, ttl_s: stream.into() });
                }
            }
        }
        if let Some(kept) = &mut self.requests {
            kept.extend_from_slice(requests);
        }
        self.sampler.as_mut().map_or(Ok(()), |sampler| sampler.add(requests))
    }
}

/// Accesses of a trace to items, collected in batches, and the caches that are simulated on these accesses.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct CacheTrace {
    gathering: Option<Gathering>,
    granularity: Granularity,
    /// Number of accesses and number of items; `None` unless caches were simulated while requests were added.
    followed: Option<(u64, u32)>,
    trace: Option<Arc<AccessTrace>>,
    requests: Option<Arc<Vec<Request>>>,
    sample: Option<Arc<Sample>>,
}

#[pymethods]
impl CacheTrace {
    /// Creates an empty trace. `granularity` is `pages` (of the size `page`), `objects` or `sized-objects`. The flags
    /// select what is stored: `accesses` the accesses, `future` the position of the next access to the same item,
    /// `expire` the access times, and `requests` the requests. `sample` has the sampling rate, the number of sampled
    /// items (used if the rate is None) and the number of replicas.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python passes each argument by name")]
    fn new(
        granularity: &str,
        page: &str,
        drop_trimmed: bool,
        accesses: bool,
        future: bool,
        expire: bool,
        requests: bool,
        sample: Option<(Option<f64>, u32, u32)>,
    ) -> PyResult<Self> {
        let granularity = match granularity {
            "objects" => Granularity::Objects,
            "sized-objects" => Granularity::SizedObjects,
            "pages" => {
                let too_large = |_| ConfigError::new_err(format!("pages of {page} are too large; use at most 1GiB"));
                Granularity::Pages { page_bytes: u32::try_from(size(page)?).map_err(too_large)? }
            }
            other => {
                let message = format!("unknown granularity {other:?}; choose one of pages, objects, sized-objects");
                return Err(ConfigError::new_err(message));
            }
        };
        let trims = if drop_trimmed { Trims::Drop } else { Trims::Ignore };
        let sampler = sample.map(|(rate, items, replicas)| {
            let size = rate.map_or(SampleSize::Items(items), SampleSize::Rate);
            Sampler::new(granularity, trims, SampleOptions { size, replicas, ..SampleOptions::default() })
        });
        let gathering = Gathering {
            splitter: Splitter::new(granularity, trims).or_raise()?,
            followers: None,
            accesses: accesses.then(Vec::new),
            future,
            expire,
            lives: Vec::new(),
            requests: requests.then(Vec::new),
            sampler: sampler.transpose().or_raise()?,
        };
        Ok(Self { gathering: Some(gathering), granularity, followed: None, trace: None, requests: None, sample: None })
    }

    /// Simulates caches while requests are added. Must be called before the first request is added, and only if all
    /// items have the same size and do not expire.
    fn follow(&mut self, caches: Vec<Asked>) -> PyResult<Vec<FollowingCache>> {
        let granularity = self.granularity;
        let Some(gathering) = &mut self.gathering else { return Ok(Vec::new()) };
        let followers = gathering.followers.get_or_insert_with(|| Followers::new(granularity));
        let mut follow = |cache| {
            let follower = followers.follow(&choice(cache)?).or_raise()?;
            Ok(FollowingCache { inner: Mutex::new(Some(follower)) })
        };
        caches.into_iter().map(&mut follow).collect()
    }

    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        let Some(gathering) = &mut self.gathering else { return Ok(()) };
        detached(py, None, || gathering.add(&requests.inner))?.or_raise()
    }

    /// Ends the trace. If items expire, `ttls_s` lists the lifetime in seconds for each stream; 0 is infinite. The
    /// stream of the request that inserts an item determines the item's lifetime. Streams past the end of the list have
    /// the last lifetime.
    fn finish(&mut self, py: Python<'_>, ttls_s: Vec<u32>) -> PyResult<()> {
        let Some(gathering) = self.gathering.take() else { return Ok(()) };
        let finished = detached(py, None, || {
            let Gathering { splitter, followers, accesses, future, mut lives, requests, sampler, .. } = gathering;
            for life in &mut lives {
                let of_stream = ttls_s.get(life.ttl_s as usize).or(ttls_s.last());
                life.ttl_s = of_stream.copied().unwrap_or(0);
            }
            let items = splitter.universe().len();
            let followed = followers.map(|followers| (followers.uses(), items));
            let from = if future { AccessTrace::from_accesses } else { AccessTrace::of_the_past };
            let trace = accesses.map(|accesses| from(accesses, items)).transpose()?;
            let trace = trace.map(|trace| if lives.is_empty() { trace } else { trace.expiring(lives) });
            let sample = sampler.map(Sampler::finish).transpose()?;
            Ok::<_, CacheError>((followed, trace, requests, sample))
        })?;
        let (followed, trace, requests, sample) = finished.or_raise()?;
        self.followed = followed;
        (self.trace, self.requests, self.sample) = (trace.map(Arc::new), requests.map(Arc::new), sample.map(Arc::new));
        Ok(())
    }

    /// Returns the number of accesses, the number of items, and the total size of all items in units, each item at its
    /// largest size. If only a sample is kept, the number of items and their total size are estimates.
    fn footprint(&self) -> (u64, u64, u64) {
        let units = |trace: &AccessTrace| {
            if trace.one_size() {
                return u64::from(trace.items());
            }
            let mut largest = vec![0; trace.items() as usize];
            for access in trace.accesses() {
                let largest: &mut u32 = &mut largest[access.item as usize];
                *largest = access.size.max(*largest);
            }
            largest.into_iter().map(u64::from).sum::<u64>()
        };
        if let Some((uses, items)) = self.followed {
            return (uses, items.into(), items.into());
        }
        match (&self.trace, &self.sample) {
            (Some(trace), _) => (trace.uses(), u64::from(trace.items()), units(trace)),
            (None, Some(sample)) => {
                let whole = |part: u64| (part as f64 / sample.rate()).round() as u64;
                let items = sample.replicas().iter().map(|replica| u64::from(replica.items())).sum();
                (sample.accesses(), whole(items), whole(sample.replicas().iter().map(units).sum()))
            }
            (None, None) => (0, 0, 0),
        }
    }

    /// True if one pass gives the miss ratios of all cache sizes: all items have the same size and are never removed,
    /// for example by a trim.
    fn is_stack(&self) -> bool {
        let no_drops = |trace: &Arc<AccessTrace>| trace.uses() == trace.accesses().len() as u64;
        self.granularity.one_size() && self.trace.as_ref().is_some_and(no_drops)
    }

    /// Returns the sampling rate; None without a sample.
    fn sample_rate(&self) -> Option<f64> {
        self.sample.as_ref().map(|sample| sample.rate())
    }

    /// Returns the counters of a simulated cache by name. This method and the following ones call `stopped()` about
    /// twenty times a second; once it returns true, they return None.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        cache: Asked,
        stopped: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let cache = choice(cache)?;
        let trace = self.kept(self.trace.as_ref())?;
        let counts = watched(stopped, |watch| ssdlab_sim::simulate_cache(trace, cache, watch))?;
        counts.map(|counts| counters::dict(py, &counts)).transpose()
    }

    /// Returns the counters of a simulated write-back cache by name; `dirty_pages` is the number of pages left dirty.
    /// At most `dirty_percent` of the pages may be dirty.
    fn simulate_write_back<'py>(
        &self,
        py: Python<'py>,
        cache: Asked,
        dirty_percent: u32,
        stopped: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Granularity::Pages { page_bytes } = self.granularity else {
            return Err(ConfigError::new_err("write-back caches can hold only pages; use granularity pages"));
        };
        let cache = choice(cache)?;
        let requests = self.kept(self.requests.as_ref())?;
        let options = WriteBackOptions {
            page_bytes,
            capacity_pages: 0,
            writes: WriteMode::Back,
            background_percent: dirty_percent,
            hard_percent: dirty_percent,
        };
        let result = watched(stopped, |watch| ssdlab_sim::simulate_write_back(requests, options, cache, watch))?;
        let Some((counts, dirty_pages)) = result else { return Ok(None) };
        let named = counters::dict(py, &counts)?;
        named.set_item("dirty_pages", dirty_pages)?;
        Ok(Some(named))
    }

    /// Simulates one cache with all accesses; returns a list with a single point of a miss-ratio curve. The result is
    /// exact, not sampled, so the standard errors and the sizes of the replicas' caches are 0.
    fn exact(&self, cache: Asked, stopped: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Point>>> {
        let cache = choice(cache)?;
        let trace = self.kept(self.trace.as_ref())?;
        Ok(watched(stopped, |watch| ssdlab_sim::exact_point(trace, cache, watch))?.map(|result| vec![point(&result)]))
    }

    /// Simulates one cache on the sample; returns a list with a single point of a miss-ratio curve.
    fn sampled(&self, cache: Asked, stopped: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Point>>> {
        let cache = choice(cache)?;
        let sample = self.kept(self.sample.as_ref())?;
        let result = watched(stopped, |watch| ssdlab_sim::sampled_point(sample, cache, watch))?;
        Ok(result.map(|result| vec![point(&result)]))
    }

    /// Returns the points of a policy's miss-ratio curve at all capacities, from a single pass over the trace.
    fn one_pass(&self, name: &str, capacities: Vec<u64>, stopped: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Point>>> {
        let info = POLICIES.get(name).or_raise()?;
        let trace = self.kept(self.trace.as_ref())?;
        let points = watched(stopped, |watch| ssdlab_sim::one_pass_points(trace, info, capacities, watch))?;
        Ok(points.map(|points| points.iter().map(point).collect()))
    }
}

/// A cache that is simulated while its trace is read.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct FollowingCache {
    inner: Mutex<Option<Follower>>,
}

#[pymethods]
impl FollowingCache {
    /// Returns the counters of the cache when the trace is finished; can be called once. See `CacheTrace.simulate`.
    fn simulate<'py>(&mut self, py: Python<'py>, stopped: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(follower) = exclusive(&mut self.inner).take() else { return Ok(None) };
        let counts = watched(stopped, |watch| follower.simulate(watch))?;
        counts.map(|counts| counters::dict(py, &counts)).transpose()
    }
}

impl CacheTrace {
    fn kept<'a, T>(&self, part: Option<&'a T>) -> PyResult<&'a T> {
        part.ok_or_else(|| {
            ConfigError::new_err("the trace was not read to its end, or was read without the data that this call needs")
        })
    }
}

/// A point of a miss-ratio curve: miss ratio by accesses and by units, standard errors of the two ratios, capacity of
/// each replica's cache in units, number of hits on items that have grown since their insertion, and number of units
/// that these hits requested but the cache did not have.
type Point = (f64, f64, f64, f64, u64, u64, u64);

fn point(point: &CurvePoint) -> Point {
    (
        point.miss_ratio,
        point.unit_miss_ratio,
        point.standard_error.unwrap_or(0.0),
        point.unit_standard_error.unwrap_or(0.0),
        point.scaled_capacity.unwrap_or(0),
        point.outgrown,
        point.outgrown_units,
    )
}

/// Simulates a cache with the interpreter lock (GIL) released.
fn watched<T: Send>(
    stopped: &Bound<'_, PyAny>,
    run: impl FnOnce(Watch<'_>) -> Result<T, CacheError> + Send,
) -> PyResult<T> {
    let (py, stopped) = (stopped.py(), stopped.clone().unbind());
    let mut raised = None;
    let mut watch = || match Python::attach(|py| stopped.call0(py)?.is_truthy(py)) {
        Ok(false) => Control::Continue,
        Ok(true) => Control::Stop,
        Err(error) => {
            raised = Some(error);
            Control::Stop
        }
    };
    let found = detached(py, None, || run(&mut watch))?.or_raise()?;
    raised.map_or(Ok(found), Err)
}
