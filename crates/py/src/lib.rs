//! Python bindings. They convert arguments, results and errors, and contain no models.
//!
//! Text is parsed by `ssdlab-core`. Long calls release the interpreter lock (GIL).

#![deny(unsafe_code)]
// The documentation is in the package (`python/ssdlab`) and in the stub file of this module.
#![allow(missing_docs)]

mod activity;
mod address_space;
mod analysis;
mod cache;
mod columns;
pub mod compiled;
mod compress;
mod config;
mod counters;
mod devices;
mod drive;
mod errors;
mod failures;
mod in_order;
mod intervals;
mod map_advice;
mod memory;
mod plan;
mod plugin;
mod pool;
mod processors;
mod profile;
mod quantity;
mod requests;
mod run;
mod serve;
mod source;
mod steps;
mod suggest;
mod volumes;
mod writer;

pub use pyo3;
use pyo3::prelude::*;

/// Rust part of ssdlab; use the package `ssdlab`.
#[cfg_attr(feature = "extension", pymodule)]
#[cfg_attr(not(feature = "extension"), pymodule(submodule))]
mod _ssdlab {
    use super::*;

    #[pymodule_export]
    use super::{
        address_space::AddressSpace,
        analysis::Analysis,
        cache::{CacheTrace, FollowingCache, cache_admissions, cache_policies, check_cache},
        compress::{bench_codecs, codecs, modelled_codec},
        config::{Config, explain, json_schema, options, presets, renamed, spacing, stated, variants},
        devices::Devices,
        drive::{FlashDrive, drive_file, drive_settings},
        errors::{ConfigError, InternalError, SimulationError, SsdlabError, TraceError},
        in_order::InOrder,
        intervals::{Intervals, WrittenPages, check_log_size},
        map_advice::MapAdvisor,
        plan::{Plan, corrections},
        plugin::{BlockRequest, Calls, Flash, register_plugin},
        pool::{PagePool, SimulatedDrive, bench_cache},
        processors::processors,
        profile::Profile,
        quantity::{check_action, count, nanos, operation, share, size},
        requests::Requests,
        run::{_panic, Outcome, kept_key, simulate},
        serve::DriveServer,
        source::{Generator, Reader, ingest_counters},
        steps::{record_steps, steps_drive},
        suggest::{named, nearest, nearest_key},
        volumes::{Parted, Partition, VolumeReader},
        writer::{Writer, formats},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        errors::install_panic_hook();
        module.add("CAUSES", ssdlab_nand::Cause::ALL.map(ssdlab_nand::Cause::name))?;
        module.add("PLUGINS", [(); 0])?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
