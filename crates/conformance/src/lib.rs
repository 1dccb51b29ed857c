//! Tests that every component for ssdlab must pass. A macro for each kind of component expands to several tests:
//!
//! ```ignore
//! // In src/lib.rs of the crate with the component; Cargo.toml has `ssdlab-conformance` in [dev-dependencies].
//! #[cfg(test)]
//! mod conformance {
//!     ssdlab_conformance::victim!(super::MINE);
//! }
//! ```
//!
//! A test runs the component in many small random test cases: drives of a few blocks, caches of a few items, block
//! layers with a few requests. If the component breaks its contract, the test reduces the failing case and prints its
//! operations, with the command that repeats the test. It also prints the command that draws each step, if possible.
//! Every run tries the same test cases; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` change them.
//!
//! | macro | tests |
//! |---|---|
//! | `ftl!(INFO)`, `victim!(INFO)`, `placement!(INFO)`, `map!(INFO)` | data, NAND rules, counts, determinism, saved state, power loss at every operation, limits of parameters |
//! | `cache_policy!(INFO)`, `cache_policy!(INFO, twin = Slow)`, `admission!(INFO)` | contents, counts, determinism, limits of parameters; equality with a slow [`Twin`](cache_policy::Twin) |
//! | `io_scheduler!(INFO)` | each request is served once, counts, determinism, bounded waits, limits of parameters |
//! | `die_scheduler!(INFO)` | a ready operation begins |
//! | `workload!(INFO)` | addresses, determinism, limits of parameters |
//! | `trace_format!(INFO, "lines of an example")` | damaged files, determinism, written files are read back |
//!
//! `INFO` is the static value that describes the component; it need not be registered. Tests of optional features that
//! the component lacks, such as recovery from a power loss, are skipped; `--nocapture` shows the reason.

/// Expands to one test per check of a module, or to the table of its checks.
#[doc(hidden)]
#[macro_export]
macro_rules! each_check {
    ([test $component:expr] $module:ident: $($check:ident),+ $(,)?) => {
        $(
            #[test]
            fn $check() {
                $crate::conclude($crate::$module::$check($component));
            }
        )+
    };
    ([table] $module:ident: $($check:ident),+ $(,)?) => {
        &[$((stringify!($check), $crate::$module::$check)),+]
    };
}

/// Defines a macro that passes the names of a module's checks to [`each_check`].
macro_rules! checks {
    ($name:ident = $($checks:tt)+) => {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $name {
            ($form:tt) => { $crate::each_check! { $form $($checks)+ } };
        }
    };
}

checks! { drive_checks = ftl:
    reads_return_the_last_write,
    counts_add_up,
    equal_runs_are_equal,
    a_loaded_state_continues,
    power_may_fail_at_any_operation,
    parameters_work_at_their_limits,
}
checks! { cache_checks = cache_policy:
    the_cache_keeps_its_contract,
    counts_add_up,
    equal_runs_are_equal,
    parameters_work_at_their_limits,
}
checks! { io_scheduler_checks = io_scheduler:
    every_request_is_served_once,
    counts_add_up,
    equal_runs_are_equal,
    waits_are_bounded,
    parameters_work_at_their_limits,
}
checks! { die_scheduler_checks = die_scheduler: a_ready_operation_begins }
checks! { workload_checks = workload:
    addresses_stay_in_the_span,
    equal_seeds_give_equal_requests,
    parameters_work_at_their_limits,
}
checks! { trace_format_checks = trace_format:
    damaged_files_are_refused,
    written_files_are_read_back,
}

pub mod cache_policy;
mod case;
pub mod die_scheduler;
pub mod drive;
pub mod ftl;
pub mod io_scheduler;
mod parameters;
pub mod power;
pub mod trace_format;
pub mod workload;

pub use case::{Check, Checked, Counterexample, Verdict, World, conclude};

/// Tests an FTL, given its `FtlInfo`.
#[macro_export]
macro_rules! ftl {
    ($info:expr) => {
        $crate::drive_checks! { [test $crate::drive::Part::Ftl(&$info)] }
    };
}

/// Tests a victim policy, given its `VictimInfo`.
#[macro_export]
macro_rules! victim {
    ($info:expr) => {
        $crate::drive_checks! { [test $crate::drive::Part::Victim(&$info)] }
    };
}

/// Tests a placement policy, given its `PlacementInfo`.
#[macro_export]
macro_rules! placement {
    ($info:expr) => {
        $crate::drive_checks! { [test $crate::drive::Part::Placement(&$info)] }
    };
}

/// Tests a map in flash, given its `MapInfo`.
#[macro_export]
macro_rules! map {
    ($info:expr) => {
        $crate::drive_checks! { [test $crate::drive::Part::Map(&$info)] }
    };
}

/// Tests a replacement policy, given its `PolicyInfo`. With `twin = Slow`, also compares the policy with the type
/// `Slow`, which must implement [`Twin`](cache_policy::Twin).
#[macro_export]
macro_rules! cache_policy {
    ($info:expr) => {
        $crate::cache_checks! { [test $crate::cache_policy::Part::Policy(&$info)] }
    };
    ($info:expr, twin = $twin:ty) => {
        $crate::cache_policy!($info);

        #[test]
        fn equals_its_twin() {
            $crate::conclude($crate::cache_policy::equals_its_twin::<$twin>($crate::cache_policy::Part::Policy(
                &$info,
            )));
        }
    };
}

/// Tests an admission policy in front of LRU, given its `AdmissionInfo`.
#[macro_export]
macro_rules! admission {
    ($info:expr) => {
        $crate::cache_checks! { [test $crate::cache_policy::Part::Admission(&$info)] }
    };
}

/// Tests an I/O scheduler, given its `SchedulerInfo`.
#[macro_export]
macro_rules! io_scheduler {
    ($info:expr) => {
        $crate::io_scheduler_checks! { [test &$info] }
    };
}

/// Tests a die scheduler, given its `DieSchedulerInfo`.
#[macro_export]
macro_rules! die_scheduler {
    ($info:expr) => {
        $crate::die_scheduler_checks! { [test &$info] }
    };
}

/// Tests a workload pattern, given its `PatternInfo`.
#[macro_export]
macro_rules! workload {
    ($info:expr) => {
        $crate::workload_checks! { [test &$info] }
    };
}

/// Tests a trace format, given its `FormatInfo` and the text or bytes of a small valid file.
#[macro_export]
macro_rules! trace_format {
    ($info:expr, $example:expr) => {
        $crate::trace_format_checks! { [test ($crate::trace_format::Example { info: &$info, bytes: $example.as_ref() })] }
    };
}
