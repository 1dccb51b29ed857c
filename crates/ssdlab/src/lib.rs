//! Lets you compile your own components into the ssdlab simulator.
//!
//! A component is a static description (`INFO`) and, for most kinds, a type that implements a trait. A crate holds any
//! number of components. Its function `register` adds them to ssdlab:
//!
//! ```
//! use ssdlab::NameTaken;
//! use ssdlab::die_scheduler::{self, Class, DieSchedulerInfo, DieSchedulerRules, DieView};
//!
//! static PROGRAMS_FIRST: DieSchedulerInfo = DieSchedulerInfo {
//!     name: "programs_first",
//!     help: "host programs first",
//!     source: "",
//!     parameters: &[],
//!     role: DieSchedulerRules { pick, in_order: false, internal_read: Class::Internal },
//! };
//!
//! fn pick(view: &DieView) -> Option<Class> {
//!     view.earliest(&[Class::HostProgram]).or_else(|| view.earliest(&[Class::HostRead, Class::Internal]))
//! }
//!
//! pub fn register() -> Result<(), NameTaken> {
//!     die_scheduler::register(&PROGRAMS_FIRST)
//! }
//! # assert_eq!(register(), Ok(()));
//! ```
//!
//! `ssdlab new KIND NAME` writes such a crate with a working component; `ssdlab build --with ./NAME` builds an `ssdlab`
//! command that includes the component. Macros of the crate `ssdlab-conformance` test a component on small random
//! drives, caches or block layers.
//!
//! # Contents
//!
//! Each module has the trait for one kind of component, the function that registers a component, and a complete
//! example, which `ssdlab new` also writes.
//!
//! | module | a component decides | setting |
//! |---|---|---|
//! | [`victim`] | which block garbage collection takes next | `ftl.page.gc` |
//! | [`placement`] | which pages share a block | `ftl.page.survivors` |
//! | [`map`] | which map pages are read and written for a page | `ftl.page.map` |
//! | [`ftl`] | where each page goes, and which blocks are erased | `ftl` |
//! | [`die_scheduler`] | which waiting operation a die begins | `drive.scheduler` |
//! | [`io_scheduler`] | which request goes to the drive next | `block.scheduler` |
//! | [`cache_policy`] | which item leaves a full cache | `cache.policy` |
//! | [`admission`] | which items enter a cache | `ssdlab cache sim --policy lru:admission=NAME` |
//! | [`trace_format`] | how a trace file is read and written | `--format` |
//! | [`workload`] | which addresses a generated workload requests | `workload.pattern` |
//!
//! # Rules of every component
//!
//! - **Identical inputs give identical results.** A component reads no clock, file or environment variable, and draws
//!   random numbers only from the seed or [`Rng`] that ssdlab passes to it.
//! - **A name is unique among the components of its kind.** A duplicate name is the error [`NameTaken`].
//! - **Parameters are settings.** `Parameter::new("window", ...)` of the victim policy `mine` is the setting
//!   `ftl.page.gc.mine.window`, with range, default and help. The component reads it with [`Settings::get`].
//! - **State is saved.** A type with a method `archive` lists each field once; see [`Archive`].

pub mod admission;
pub mod cache_policy;
pub mod die_scheduler;
pub mod ftl;
pub mod io_scheduler;
mod launch;
pub mod map;
pub mod placement;
#[cfg(feature = "simulate")]
mod simulation;
pub mod trace_format;
pub mod victim;
pub mod workload;

pub use launch::main;
#[cfg(feature = "simulate")]
pub use simulation::{Summary, simulate};
pub use ssdlab_core::{
    Archive, Archived, BlockId, Info, Lpn, NameTaken, Parameter, ParameterError, Ppn, Rng, Settings, Unit,
};

/// Compiles the examples in the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/your-own/admission.md")]
#[doc = include_str!("../../../docs/your-own/cache-policy.md")]
#[doc = include_str!("../../../docs/your-own/die-scheduler.md")]
#[doc = include_str!("../../../docs/your-own/io-scheduler.md")]
#[doc = include_str!("../../../docs/your-own/map.md")]
#[doc = include_str!("../../../docs/your-own/placement.md")]
#[doc = include_str!("../../../docs/your-own/trace-format.md")]
#[doc = include_str!("../../../docs/your-own/victim.md")]
#[doc = include_str!("../../../docs/your-own/workload.md")]
struct Documents;
