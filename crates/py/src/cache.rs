//! Simulated caches: their policies, and what many of them do with one trace.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_cache::{
    ADMISSIONS, Access, AccessTrace, CacheError, Granularity, Life, POLICIES, Sample, SampleOptions, SampleSize,
    Sampler, Splitter, Trims, WriteBackOptions, WriteMode, build_policy,
};
use ssdlab_core::Parameter;
use ssdlab_sim::{CacheChoice, Control, CurvePoint, Follower, Followers, Watch};
use ssdlab_trace::Request;

use crate::counters;
use crate::errors::{ConfigError, detached};
use crate::quantity::size;
use crate::requests::Requests;
use crate::source::exclusive;

fn cache_error(error: &CacheError) -> PyErr {
    ConfigError::new_err(error.to_string())
}

/// A parameter of a policy: name, unit, default, least and largest value, help.
type ParameterRow = (&'static str, &'static str, u64, u64, u64, &'static str);

/// A policy: name, help, parameters, whether it takes sizes, needs the future, has a curve in one pass.
type PolicyRow = (&'static str, &'static str, Vec<ParameterRow>, bool, bool, bool);

/// An admission: name, help, parameters, whether it takes sizes.
type AdmissionRow = (&'static str, &'static str, Vec<ParameterRow>, bool);

fn rows(parameters: &[Parameter]) -> Vec<ParameterRow> {
    parameters.iter().map(|one| (one.name, one.unit.name(), one.default, one.min, one.max, one.help)).collect()
}

/// Every replacement policy as `(name, help, parameters, sizes, needs_future, one_pass)`.
#[pyfunction]
pub fn cache_policies() -> Vec<PolicyRow> {
    let row = |info: &&ssdlab_cache::PolicyInfo| {
        (
            info.name,
            info.help,
            rows(info.parameters),
            info.role.sizes,
            info.role.needs_future,
            info.role.one_pass.is_some(),
        )
    };
    POLICIES.iter().map(row).collect()
}

/// Every admission as `(name, help, parameters, sizes)`; a policy's change `admission` is the place in this list.
#[pyfunction]
pub fn cache_admissions() -> Vec<AdmissionRow> {
    ADMISSIONS.iter().map(|info| (info.name, info.help, rows(info.parameters), info.role.sizes)).collect()
}

/// Fails if there is no such policy, or not with these parameters or for items of different sizes.
#[pyfunction]
pub fn check_cache(name: &str, changes: Vec<(String, u64)>, one_size: bool) -> PyResult<()> {
    let info = POLICIES.get(name).map_err(|error| cache_error(&error.into()))?;
    build_policy(info, &changes, 1, 0, one_size).map(drop).map_err(|error| cache_error(&error))
}

/// One cache asked for: policy, changes to its parameters, units of capacity.
type Asked = (String, Vec<(String, u64)>, u64);

fn choice((name, changes, capacity): Asked) -> PyResult<CacheChoice> {
    let info = POLICIES.get(&name).map_err(|error| cache_error(&error.into()))?;
    Ok(CacheChoice { info, changes, capacity })
}

/// What is kept of a trace while it passes by.
struct Gathering {
    splitter: Splitter,
    /// Caches that are simulated meanwhile.
    followers: Option<Followers>,
    accesses: Option<Vec<Access>>,
    future: bool,
    /// Whether items expire.
    expire: bool,
    /// Of each access, with the stream of its request for the time to live; empty if items live for ever.
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
            // The accesses of a request have its time and its stream.
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

/// A trace as accesses to items, gathered batch by batch, and caches simulated on it.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct CacheTrace {
    gathering: Mutex<Option<Gathering>>,
    granularity: Granularity,
    /// Accesses and items of a trace that was only followed.
    followed: Option<(u64, u32)>,
    trace: Option<Arc<AccessTrace>>,
    requests: Option<Arc<Vec<Request>>>,
    sample: Option<Arc<Sample>>,
}

#[pymethods]
impl CacheTrace {
    /// `granularity` is `pages` (of the size `page`), `objects` or `sized-objects`. Kept are the accesses with
    /// `accesses`, with their future if there is `future`, and when they are made where items `expire`; the requests
    /// with `requests`, and a sample with `sample`: its rate or else its items, and its replicas.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each is named in Python")]
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
                let too_large = |_| ConfigError::new_err(format!("pages of {page}: write 1GiB at most"));
                Granularity::Pages { page_bytes: u32::try_from(size(page)?).map_err(too_large)? }
            }
            other => {
                let message = format!("granularity {other:?} is not one of pages, objects, sized-objects");
                return Err(ConfigError::new_err(message));
            }
        };
        let trims = if drop_trimmed { Trims::Drop } else { Trims::Ignore };
        let sampler = sample.map(|(rate, items, replicas)| {
            let size = rate.map_or(SampleSize::Items(items), SampleSize::Rate);
            Sampler::new(granularity, trims, SampleOptions { size, replicas, ..SampleOptions::default() })
        });
        let gathering = Gathering {
            splitter: Splitter::new(granularity, trims).map_err(|error| cache_error(&error))?,
            followers: None,
            accesses: accesses.then(Vec::new),
            future,
            expire,
            lives: Vec::new(),
            requests: requests.then(Vec::new),
            sampler: sampler.transpose().map_err(|error| cache_error(&error))?,
        };
        let gathering = Mutex::new(Some(gathering));
        Ok(Self { gathering, granularity, followed: None, trace: None, requests: None, sample: None })
    }

    /// Caches to be simulated while requests are added; asked for before the first of these, and where items are of one
    /// size and live for ever.
    fn follow(&mut self, caches: Vec<Asked>) -> PyResult<Vec<FollowingCache>> {
        let granularity = self.granularity;
        let Some(gathering) = exclusive(&mut self.gathering) else { return Ok(Vec::new()) };
        let followers = gathering.followers.get_or_insert_with(|| Followers::new(granularity));
        let mut follow = |cache| {
            let follower = followers.follow(&choice(cache)?).map_err(|error| cache_error(&error))?;
            Ok(FollowingCache { inner: Mutex::new(Some(follower)) })
        };
        caches.into_iter().map(&mut follow).collect()
    }

    /// Adds requests in replay order.
    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        let Some(gathering) = exclusive(&mut self.gathering) else { return Ok(()) };
        detached(py, None, || gathering.add(&requests.inner))?.map_err(|error| cache_error(&error))
    }

    /// Nothing more will be added. Where items expire, `ttls_s` has the seconds that they live, 0 for ever, by the
    /// stream of the request that brings them in; later streams are as the last.
    fn finish(&mut self, py: Python<'_>, ttls_s: Vec<u32>) -> PyResult<()> {
        let Some(gathering) = exclusive(&mut self.gathering).take() else { return Ok(()) };
        let finished = detached(py, None, || {
            let Gathering { splitter, followers, accesses, future, mut lives, requests, sampler, .. } = gathering;
            for life in &mut lives {
                let of_stream = ttls_s.get(life.ttl_s as usize).or(ttls_s.last());
                life.ttl_s = of_stream.copied().unwrap_or(0);
            }
            let items = splitter.universe().len();
            let followed = followers.map(|followers| (followers.uses(), items));
            let of = if future { AccessTrace::from_accesses } else { AccessTrace::of_the_past };
            let trace = accesses.map(|accesses| of(accesses, items)).transpose()?;
            let trace = trace.map(|trace| if lives.is_empty() { trace } else { trace.expiring(lives) });
            let sample = sampler.map(Sampler::finish).transpose()?;
            Ok((followed, trace, requests, sample))
        })?;
        let (followed, trace, requests, sample) = finished.map_err(|error: CacheError| cache_error(&error))?;
        self.followed = followed;
        (self.trace, self.requests, self.sample) = (trace.map(Arc::new), requests.map(Arc::new), sample.map(Arc::new));
        Ok(())
    }

    /// Accesses, items, and units of all items, each of the largest size it is accessed with; the last two are
    /// estimates where only a sample was kept.
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

    /// Whether a curve of all sizes can be had in one pass: items are of one size and none is dropped.
    fn is_stack(&self) -> bool {
        let no_drops = |trace: &Arc<AccessTrace>| trace.uses() == trace.accesses().len() as u64;
        self.granularity.one_size() && self.trace.as_ref().is_some_and(no_drops)
    }

    /// Share of the items that the sample holds; None without one.
    fn sample_rate(&self) -> Option<f64> {
        self.sample.as_ref().map(|sample| sample.rate())
    }

    /// Counters of a cache by name. Here as below, `stopped()` is asked some twenty times a second, and None is
    /// returned once it says something true.
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

    /// The same of a write-back cache, with the pages left dirty as `dirty_pages`; `dirty_percent` of the pages may be
    /// dirty.
    fn simulate_write_back<'py>(
        &self,
        py: Python<'py>,
        cache: Asked,
        dirty_percent: u32,
        stopped: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Granularity::Pages { page_bytes } = self.granularity else {
            return Err(ConfigError::new_err("only pages are written back; simulate pages"));
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
        let found = watched(stopped, |watch| ssdlab_sim::simulate_write_back(requests, options, cache, watch))?;
        let Some((counts, dirty_pages)) = found else { return Ok(None) };
        let named = counters::dict(py, &counts)?;
        named.set_item("dirty_pages", dirty_pages)?;
        Ok(Some(named))
    }

    /// The point of a cache simulated in full, in a list: its miss ratios with their standard errors, and the units of
    /// each replica's cache, which are 0 where they are exact.
    fn exact(&self, cache: Asked, stopped: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Point>>> {
        let cache = choice(cache)?;
        let trace = self.kept(self.trace.as_ref())?;
        Ok(watched(stopped, |watch| ssdlab_sim::exact_point(trace, cache, watch))?.map(|one| vec![point(&one)]))
    }

    /// The same from the sample.
    fn sampled(&self, cache: Asked, stopped: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Point>>> {
        let cache = choice(cache)?;
        let sample = self.kept(self.sample.as_ref())?;
        Ok(watched(stopped, |watch| ssdlab_sim::sampled_point(sample, cache, watch))?.map(|one| vec![point(&one)]))
    }

    /// The points of a policy at every capacity, in one pass.
    fn one_pass(&self, name: &str, capacities: Vec<u64>, stopped: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Point>>> {
        let info = POLICIES.get(name).map_err(|error| cache_error(&error.into()))?;
        let trace = self.kept(self.trace.as_ref())?;
        let found = watched(stopped, |watch| ssdlab_sim::one_pass_points(trace, info, capacities, watch))?;
        Ok(found.map(|points| points.iter().map(point).collect()))
    }
}

/// A cache that is simulated while its trace is gathered.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct FollowingCache {
    inner: Mutex<Option<Follower>>,
}

#[pymethods]
impl FollowingCache {
    /// As that of `CacheTrace`, once; returns when the trace is finished.
    fn simulate<'py>(&mut self, py: Python<'py>, stopped: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(follower) = exclusive(&mut self.inner).take() else { return Ok(None) };
        let counts = watched(stopped, |watch| follower.simulate(watch))?;
        counts.map(|counts| counters::dict(py, &counts)).transpose()
    }
}

impl CacheTrace {
    fn kept<'a, T>(&self, part: Option<&'a T>) -> PyResult<&'a T> {
        part.ok_or_else(|| ConfigError::new_err("what this needs of the trace was not kept, or is not finished"))
    }
}

/// Miss ratio and that of units, their standard errors, units of each replica's cache, hits of what had outgrown its
/// item and the units that it lacked.
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

/// Runs a cache with the interpreter released.
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
    let found = detached(py, None, || run(&mut watch))?.map_err(|error| cache_error(&error))?;
    raised.map_or(Ok(found), Err)
}
