//! Projects the lifetime of a drive under the load of the measured phase.

use serde::Serialize;

const NANOS_PER_SECOND: f64 = 1e9;
const SECONDS_PER_DAY: f64 = 86_400.0;
const DAYS_PER_YEAR: f64 = 365.25;

/// Usual warranty period in years, used to convert lifetime into drive writes per day.
const WARRANTY_YEARS: f64 = 5.0;

/// Source of the host write rate that a lifetime projection assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteRate {
    /// Write rate of the trace; the drive keeps up with it.
    Trace,
    /// Write rate of a closed replay, if the trace has no timestamps or writes faster than the replay. The drive or the
    /// host may limit this rate.
    Replay,
    /// Write rate that the drive achieved; the drive cannot keep up with the trace.
    Drive,
}

/// Lifetime under the load of the measured phase, with perfect wear levelling. If the simulated drive is a scale model,
/// this is the lifetime of the nominal drive. If the trace determined the size of the drive, the fields that depend on
/// its size are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LifetimeSummary {
    /// Bytes that the host can write until the flash is worn out: bytes written per page programmed, times the number
    /// of programs that the flash endures.
    pub host_tbw_bytes: Option<f64>,
    /// Drive writes per day that would wear out the flash within a warranty of five years.
    pub dwpd_5_years: Option<f64>,
    /// Source of the write rate that the following fields assume. Rate and source are `None` if nothing was written or
    /// time is not modelled.
    pub rate: Option<WriteRate>,
    /// Bytes that the host writes per day.
    pub host_bytes_per_day: Option<f64>,
    /// Host writes per day, as a multiple of the drive's capacity.
    pub host_drive_writes_per_day: Option<f64>,
    /// Years until the flash is worn out at the assumed write rate.
    pub years: Option<f64>,
    /// Bytes that the host writes per day at the rate of the trace's timestamps, as scaled by the replay. `None` if the
    /// trace has no timestamps or writes nothing.
    pub trace_bytes_per_day: Option<f64>,
    /// Years until the drive is worn out at the write rate of the trace.
    pub trace_years: Option<f64>,
}

/// Input of the lifetime projection: the drive, and the host writes of the measured phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub capacity_bytes: u64,
    /// Lifetime of the projected drive divided by the lifetime of the simulated drive; `None` if no lifetime is
    /// projected.
    pub scale: Option<f64>,
    pub physical_pages: u64,
    pub endurance_cycles: u32,
    /// Total number of pages programmed, each weighted by the wear of its cells.
    pub programmed: f64,
    /// Number of bytes written by the host.
    pub written_bytes: u64,
    /// Share of the bytes written by the host that have left the write buffer.
    pub absorbed_share: f64,
    /// Time between the first and the last arrival, after the replay has scaled the timestamps of the trace.
    pub trace_ns: u64,
    /// Duration of the run, if time is modelled.
    pub elapsed_ns: Option<u64>,
    /// True if the drive kept up with an open replay; `None` for other replay models.
    pub kept_up: Option<bool>,
}

impl Life {
    pub fn summary(&self) -> LifetimeSummary {
        let capacity = self.capacity_bytes as f64;
        let wears = self.written_bytes > 0 && self.programmed > 0.0;
        let endured = f64::from(self.endurance_cycles) * self.physical_pages as f64;
        let simulated_tbw_bytes = wears.then(|| endured * self.written_bytes as f64 / self.programmed);
        let host_tbw_bytes = simulated_tbw_bytes.zip(self.scale).map(|(tbw, scale)| tbw * scale);
        let (host_bytes_per_day, rate) = self.rate().unzip();
        let trace_bytes_per_day = self.traced();
        let years_at =
            |per_day: Option<f64>| host_tbw_bytes.zip(per_day).map(|(tbw, per_day)| tbw / per_day / DAYS_PER_YEAR);
        LifetimeSummary {
            host_tbw_bytes,
            dwpd_5_years: simulated_tbw_bytes.map(|tbw| tbw / capacity / (WARRANTY_YEARS * DAYS_PER_YEAR)),
            rate,
            host_bytes_per_day,
            host_drive_writes_per_day: host_bytes_per_day
                .zip(self.scale)
                .map(|(per_day, scale)| per_day / (capacity * scale)),
            years: years_at(host_bytes_per_day),
            trace_bytes_per_day,
            trace_years: years_at(trace_bytes_per_day),
        }
    }

    /// Returns the bytes that the host writes per day at the rate of the trace's timestamps.
    fn traced(&self) -> Option<f64> {
        (self.trace_ns > 0 && self.written_bytes > 0).then(|| per_day(self.written_bytes as f64, self.trace_ns))
    }

    /// Returns the bytes that the host writes per day, and the source of this rate: the rate of the trace if the drive
    /// kept up with it or wrote at least as fast in the run, otherwise the write rate in the run.
    fn rate(&self) -> Option<(f64, WriteRate)> {
        let elapsed_ns = self.elapsed_ns.filter(|elapsed_ns| *elapsed_ns > 0)?;
        let measured = per_day(self.written_bytes as f64 * self.absorbed_share, elapsed_ns);
        let whose = if self.kept_up.is_some() { WriteRate::Drive } else { WriteRate::Replay };
        match self.traced().filter(|traced| self.kept_up.unwrap_or(*traced <= measured)) {
            Some(traced) => Some((traced, WriteRate::Trace)),
            None => (measured > 0.0).then_some((measured, whose)),
        }
    }
}

fn per_day(bytes: f64, ns: u64) -> f64 {
    bytes / (ns as f64 / NANOS_PER_SECOND) * SECONDS_PER_DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writing 1,000 bytes took 2,000 of the 200,000 programs that 200 pages endure. So 100,000 bytes wear the pages
    /// out.
    const LIFE: Life = Life {
        capacity_bytes: 160,
        scale: Some(1.0),
        physical_pages: 200,
        endurance_cycles: 1_000,
        programmed: 2_000.0,
        written_bytes: 1_000,
        absorbed_share: 1.0,
        trace_ns: 0,
        elapsed_ns: Some(1_000_000_000),
        kept_up: None,
    };

    fn assert_lives(life: Life, rate: WriteRate, bytes_per_second: f64) {
        let found = life.summary();
        let per_day = bytes_per_second * 86_400.0;
        assert_eq!(found.host_tbw_bytes, Some(100_000.0));
        assert_eq!(found.rate, Some(rate), "{life:?}");
        for (found, expected) in [
            (found.dwpd_5_years, 100_000.0 / 160.0 / (5.0 * 365.25)),
            (found.host_bytes_per_day, per_day),
            (found.host_drive_writes_per_day, per_day / 160.0),
            (found.years, 100_000.0 / per_day / 365.25),
        ] {
            let found = found.expect("written in time");
            assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}: {life:?}");
        }
    }

    #[test]
    fn a_slow_trace_wears_the_drive_at_the_rate_of_the_trace() {
        // In this closed loop, the trace lasts ten times as long as the drive needs.
        assert_lives(Life { trace_ns: 10_000_000_000, ..LIFE }, WriteRate::Trace, 100.0);
        // A replay that follows the timestamps of the trace ends shortly after the last arrival, and may leave much
        // data in the buffer.
        let open = Life { kept_up: Some(true), trace_ns: 800_000_000, absorbed_share: 0.5, ..LIFE };
        assert_lives(open, WriteRate::Trace, 1_250.0);
    }

    #[test]
    fn no_drive_is_worn_faster_than_it_writes() {
        assert_lives(Life { trace_ns: 100_000_000, ..LIFE }, WriteRate::Replay, 1_000.0);
        assert_lives(Life { trace_ns: 800_000_000, kept_up: Some(false), ..LIFE }, WriteRate::Drive, 1_000.0);
        // Half of the data is still in the buffer.
        assert_lives(Life { absorbed_share: 0.5, trace_ns: 1_500_000_000, ..LIFE }, WriteRate::Replay, 500.0);
        assert_lives(Life { absorbed_share: 0.5, trace_ns: 4_000_000_000, ..LIFE }, WriteRate::Trace, 250.0);
    }

    #[test]
    fn lifetime_at_the_rate_of_the_trace_does_not_depend_on_the_drive() {
        // 1,000 bytes in a tenth of a second are 864 MB a day. At this rate, 100,000 bytes wear out the flash in 10
        // seconds.
        for elapsed_ns in [None, Some(1_000_000_000), Some(50_000_000)] {
            let found = Life { trace_ns: 100_000_000, elapsed_ns, ..LIFE }.summary();
            assert_eq!(found.trace_bytes_per_day, Some(864e6));
            let years = found.trace_years.expect("a trace with times");
            assert!((years * 365.25 * 86_400.0 - 10.0).abs() < 1e-9, "{years}");
        }
        for timeless in [LIFE, Life { written_bytes: 0, trace_ns: 1_000, ..LIFE }] {
            let found = timeless.summary();
            assert_eq!((found.trace_bytes_per_day, found.trace_years), (None, None));
        }
    }

    #[test]
    fn a_nominal_drive_of_50_models_lives_50_times_as_long() {
        let traced = Life { trace_ns: 2_000_000_000, ..LIFE };
        let (model, nominal) = (traced.summary(), Life { scale: Some(50.0), ..traced }.summary());
        assert_eq!(nominal.host_tbw_bytes, Some(5_000_000.0));
        assert_eq!((nominal.dwpd_5_years, nominal.host_bytes_per_day), (model.dwpd_5_years, model.host_bytes_per_day));
        // The trace writes 500 bytes a second: 43.2 MB a day, to a drive of 8,000 bytes. It lasts 10,000 s.
        assert_eq!(nominal.host_drive_writes_per_day, Some(5_400.0));
        for years in [nominal.years, nominal.trace_years] {
            let seconds = years.expect("written in time") * 365.25 * 86_400.0;
            assert!((seconds - 10_000.0).abs() < 1e-6, "{seconds}");
        }
    }

    #[test]
    fn a_drive_that_the_trace_sized_has_a_rating_but_no_lifetime() {
        let (of_trace, full) = (Life { scale: None, ..LIFE }.summary(), LIFE.summary());
        assert_eq!((of_trace.host_tbw_bytes, of_trace.host_drive_writes_per_day), (None, None));
        assert_eq!((of_trace.years, of_trace.trace_years), (None, None));
        assert_eq!((of_trace.dwpd_5_years, of_trace.rate), (full.dwpd_5_years, full.rate));
        assert_eq!(of_trace.host_bytes_per_day, full.host_bytes_per_day);
    }

    #[test]
    fn without_times_the_rate_of_the_replay_counts() {
        assert_lives(LIFE, WriteRate::Replay, 1_000.0);
    }

    #[test]
    fn without_time_only_bytes_are_known() {
        for trace_ns in [0, 1_000_000_000] {
            let found = Life { elapsed_ns: None, trace_ns, ..LIFE }.summary();
            assert_eq!(found.host_tbw_bytes, Some(100_000.0));
            assert!(found.dwpd_5_years.is_some());
            assert_eq!((found.rate, found.host_bytes_per_day, found.years), (None, None, None));
        }
    }

    #[test]
    fn without_wear_there_is_no_lifetime() {
        // The flash may still be processing earlier host writes.
        let unwritten = Life { written_bytes: 0, trace_ns: 1_000, ..LIFE };
        assert_eq!(unwritten.summary(), LifetimeSummary::default());
        // All pages were overwritten while they were in the buffer, so none was programmed.
        let spared = Life { programmed: 0.0, ..LIFE }.summary();
        assert_eq!((spared.host_tbw_bytes, spared.dwpd_5_years, spared.years), (None, None, None));
        assert_eq!(spared.rate, Some(WriteRate::Replay));
        // The lifetime is unknown if no time passed (first case) or if all data is still in the write buffer (second
        // case).
        for life in [Life { elapsed_ns: Some(0), ..LIFE }, Life { absorbed_share: 0.0, ..LIFE }] {
            assert_eq!((life.summary().rate, life.summary().years), (None, None));
        }
    }
}
