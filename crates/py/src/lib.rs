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
    use address_space::AddressSpace;
    #[pymodule_export]
    use analysis::Analysis;
    #[pymodule_export]
    use cache::{CacheTrace, FollowingCache, cache_admissions, cache_policies, check_cache};
    #[pymodule_export]
    use compress::{bench_codecs, codecs, modelled_codec};
    #[pymodule_export]
    use config::{Config, explain, json_schema, options, presets, renamed, spacing, stated, variants};
    #[pymodule_export]
    use devices::Devices;
    #[pymodule_export]
    use drive::{FlashDrive, drive_file, drive_settings};
    #[pymodule_export]
    use errors::{ConfigError, InternalError, SimulationError, SsdlabError, TraceError};
    #[pymodule_export]
    use in_order::InOrder;
    #[pymodule_export]
    use intervals::{Intervals, WrittenPages, check_log_size};
    #[pymodule_export]
    use map_advice::MapAdvisor;
    #[pymodule_export]
    use plan::{Plan, corrections};
    #[pymodule_export]
    use plugin::{BlockRequest, Calls, Flash, register_plugin};
    #[pymodule_export]
    use pool::{PagePool, SimulatedDrive, bench_cache};
    #[pymodule_export]
    use processors::processors;
    #[pymodule_export]
    use profile::Profile;
    #[pymodule_export]
    use quantity::{check_action, count, nanos, operation, share, size};
    #[pymodule_export]
    use requests::Requests;
    #[pymodule_export]
    use run::{_panic, Outcome, kept_key, simulate};
    #[pymodule_export]
    use serve::DriveServer;
    #[pymodule_export]
    use source::{Generator, Reader, ingest_counters};
    #[pymodule_export]
    use steps::{record_steps, steps_drive};
    #[pymodule_export]
    use suggest::{named, nearest, nearest_key};
    #[pymodule_export]
    use volumes::{Parted, Partition, VolumeReader};
    #[pymodule_export]
    use writer::{Writer, formats};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        errors::install_panic_hook();
        module.add("CAUSES", ssdlab_nand::Cause::ALL.map(ssdlab_nand::Cause::name))?;
        module.add("PLUGINS", [(); 0])?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
