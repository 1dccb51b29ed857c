//! Goal: every component that `ssdlab new` writes compiles, and passes its own test and the tests of
//! `ssdlab-conformance`. Method: the templates are modules of this test. `tests/test_extension.py` checks the crates
//! around them.

#[path = "../../../python/ssdlab/model/extension/templates/admission.rs"]
mod admission;
#[path = "../../../python/ssdlab/model/extension/templates/cache_policy.rs"]
mod cache_policy;
#[path = "../../../python/ssdlab/model/extension/templates/die_scheduler.rs"]
mod die_scheduler;
#[path = "../../../python/ssdlab/model/extension/templates/ftl.rs"]
mod ftl;
#[path = "../../../python/ssdlab/model/extension/templates/io_scheduler.rs"]
mod io_scheduler;
#[path = "../../../python/ssdlab/model/extension/templates/map.rs"]
mod map;
#[path = "../../../python/ssdlab/model/extension/templates/placement.rs"]
mod placement;
#[path = "../../../python/ssdlab/model/extension/templates/trace_format.rs"]
mod trace_format;
#[path = "../../../python/ssdlab/model/extension/templates/victim.rs"]
mod victim;
#[path = "../../../python/ssdlab/model/extension/templates/workload.rs"]
mod workload;

#[test]
fn every_template_has_the_function_that_ssdlab_calls() {
    let _: [fn() -> Result<(), ssdlab::NameTaken>; 10] = [
        admission::register,
        cache_policy::register,
        die_scheduler::register,
        ftl::register,
        io_scheduler::register,
        map::register,
        placement::register,
        trace_format::register,
        victim::register,
        workload::register,
    ];
}
