//! Tunables as data: every scheduler declares a table, from which settings, ranges and help are generated.

use thiserror::Error;

/// One tunable of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Name in sysfs, where the kernel has it.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// The kernel's default where the kernel has it; the help says where a default is ours.
    pub default: u64,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// One sentence.
    pub help: &'static str,
}

impl Tunable {
    /// A duration in milliseconds, an hour at most.
    pub(crate) const fn ms(name: &'static str, default: u64, min: u64, help: &'static str) -> Self {
        Self { name, unit: "ms", default, min, max: 3_600_000, help }
    }
}

/// How far backward a request may be from the last one, in CFQ and the schedulers after it.
pub(crate) const BACK_SEEK_MAX: Tunable = Tunable {
    name: "back_seek_max",
    unit: "KiB",
    default: 16_384,
    min: 0,
    max: 1 << 40,
    help: "How far backward a request may lie to be taken before one in front.",
};

/// What that costs.
pub(crate) const BACK_SEEK_PENALTY: Tunable = Tunable {
    name: "back_seek_penalty",
    unit: "factor",
    default: 2,
    min: 1,
    max: 1_000_000,
    help: "How much farther a backward distance counts.",
};

/// A tunable was set that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TunableError {
    /// No scheduler has this name.
    #[error("no scheduler is called `{name}`; known are {known}")]
    UnknownScheduler {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// The scheduler has no such tunable.
    #[error("scheduler `{scheduler}` has no tunable `{name}`")]
    Unknown {
        /// The scheduler.
        scheduler: &'static str,
        /// The name asked for.
        name: String,
    },
    /// Outside its range.
    #[error("tunable `{name}` of scheduler `{scheduler}` is {value}, but must lie in {min}..={max} {unit}")]
    OutOfRange {
        /// The scheduler.
        scheduler: &'static str,
        /// The tunable.
        name: &'static str,
        /// The value asked for.
        value: u64,
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
        /// Its unit.
        unit: &'static str,
    },
    /// Larger than the device.
    #[error(
        "tunable `{name}` of scheduler `{scheduler}` is {value} {unit}, but the device has {device} {unit}; \
         set it to {device} or less, or leave it out"
    )]
    BeyondDevice {
        /// The scheduler.
        scheduler: &'static str,
        /// The tunable.
        name: &'static str,
        /// The value asked for.
        value: u64,
        /// The size of the device.
        device: u64,
        /// The unit of both.
        unit: &'static str,
    },
}

/// A value for each tunable of one scheduler.
#[derive(Clone, Debug)]
pub struct Settings {
    table: &'static [Tunable],
    values: Vec<u64>,
    /// Which of them were asked for.
    given: Vec<bool>,
}

impl Settings {
    /// Defaults of `table` with `changes` on top.
    pub(crate) fn new(
        scheduler: &'static str,
        table: &'static [Tunable],
        changes: &[(String, u64)],
    ) -> Result<Self, TunableError> {
        let mut values: Vec<u64> = table.iter().map(|tunable| tunable.default).collect();
        let mut given = vec![false; table.len()];
        for (name, value) in changes {
            let position = table.iter().position(|tunable| tunable.name == name);
            let position = position.ok_or_else(|| TunableError::Unknown { scheduler, name: name.clone() })?;
            let Tunable { name, min, max, unit, .. } = table[position];
            if !(min..=max).contains(value) {
                return Err(TunableError::OutOfRange { scheduler, name, value: *value, min, max, unit });
            }
            (values[position], given[position]) = (*value, true);
        }
        Ok(Self { table, values, given })
    }

    fn position(&self, name: &str) -> usize {
        let position = self.table.iter().position(|tunable| tunable.name == name);
        position.expect("a scheduler asks for tunables of its own table")
    }

    /// The value of a tunable, in its unit.
    pub fn get(&self, name: &str) -> u64 {
        self.values[self.position(name)]
    }

    /// The value of a tunable if it was asked for.
    pub(crate) fn given(&self, name: &str) -> Option<u64> {
        self.given[self.position(name)].then(|| self.get(name))
    }

    /// The value of a tunable that is a switch.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    /// The value of a tunable in milliseconds, in nanoseconds.
    pub(crate) fn ms(&self, name: &str) -> u64 {
        self.get(name) * crate::MS
    }
}
