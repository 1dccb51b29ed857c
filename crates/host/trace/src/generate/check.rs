//! Checks of workload parameters, and formatting of fractions for error messages.

use crate::TraceError;

/// Maximum number of named streams of a workload. Stream numbers are stored in [`crate::Request::stream`].
pub(super) const STREAMS_MAX: u64 = 65_535;
/// Upper limit for a sum of fractions: 1, plus a tolerance for rounding.
pub(super) const WHOLE: f64 = 1.0 + 1e-9;

pub(super) fn wrong<T>(field: &'static str, why: impl Into<String>) -> Result<T, TraceError> {
    Err(TraceError::Workload { field, why: why.into() })
}

pub(super) fn share(field: &'static str, value: f64) -> Result<(), TraceError> {
    ensure!((0.0..=1.0).contains(&value), field, "the share {value} must be between 0 and 1");
    Ok(())
}

/// Returns an error for the given workload field unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $field:expr, $($why:tt)+) => {
        if $condition {
        } else {
            return $crate::generate::check::wrong($field, format!($($why)+));
        }
    };
}
pub(super) use ensure;

pub(super) fn in_percent(share: f64) -> String {
    format!("{}%", libm::round(share * 1e6) / 1e4)
}

/// Rounds a share down to the precision of [`in_percent`].
pub(super) fn down(share: f64) -> f64 {
    libm::floor(share * 1e6) / 1e6
}

/// Rounds a share up to the precision of [`in_percent`].
pub(super) fn up(share: f64) -> f64 {
    libm::ceil(share * 1e6) / 1e6
}

/// Returns `count` stream names: `name` followed by the numbers 1 to `count`.
pub(super) fn numbered(name: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("{name}{number}")).collect()
}

/// Returns the given `share` of `whole`, rounded to whole units.
pub(super) fn share_of(whole: u64, share: f64) -> u64 {
    (libm::round(whole as f64 * share) as u64).min(whole)
}
