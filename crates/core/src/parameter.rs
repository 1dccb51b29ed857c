//! Parameters as data: whatever can be tuned declares a table, from which settings, ranges and help are generated.

use std::fmt;

use crate::units::{write_bytes, write_nanos};

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time in nanoseconds.
    Nanos,
    /// Time in milliseconds.
    Millis,
    /// Bytes in sectors of 512.
    Sectors,
    /// Bytes in KiB.
    KiB,
    /// Bytes in MiB.
    MiB,
    /// A share of a whole, in percent.
    Percent,
    /// On, 1, or off, 0.
    Switch,
    /// Whatever is named here.
    Count(&'static str),
}

/// The kind of quantity behind a [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A duration; one unit is so many nanoseconds.
    Time(u64),
    /// A size; one unit is so many bytes.
    Size(u64),
    /// A number.
    Number,
    /// On or off.
    Switch,
}

impl Unit {
    /// As written behind a value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Millis => "ms",
            Self::Sectors => "sectors",
            Self::KiB => "KiB",
            Self::MiB => "MiB",
            Self::Percent => "%",
            Self::Switch => "switch",
            Self::Count(name) => name,
        }
    }

    /// The quantity that it measures.
    pub const fn quantity(self) -> Quantity {
        match self {
            Self::Nanos => Quantity::Time(1),
            Self::Millis => Quantity::Time(1_000_000),
            Self::Sectors => Quantity::Size(512),
            Self::KiB => Quantity::Size(1 << 10),
            Self::MiB => Quantity::Size(1 << 20),
            Self::Percent | Self::Count(_) => Quantity::Number,
            Self::Switch => Quantity::Switch,
        }
    }

    /// A value with its unit, as configurations have it: `4KiB`, `500ms`, `16`, `true`.
    pub fn write(self, value: u64) -> String {
        match self.quantity() {
            Quantity::Time(unit_ns) => write_nanos(value * unit_ns),
            Quantity::Size(unit_bytes) => write_bytes(value * unit_bytes),
            Quantity::Number => value.to_string(),
            Quantity::Switch => (value != 0).to_string(),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One parameter of a scheduler, a policy or whatever else has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in configurations; that of the kernel or the paper, where they have one.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// What the source says; the help or the file says where a default is ours.
    pub default: u64,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// One sentence.
    pub help: &'static str,
}

impl Parameter {
    /// A duration in milliseconds, an hour at most.
    pub const fn ms(name: &'static str, default: u64, min: u64, help: &'static str) -> Self {
        Self { name, unit: Unit::Millis, default, min, max: 3_600_000, help }
    }

    /// A share of a whole, 1 to 100 percent.
    pub const fn share(name: &'static str, default: u64, help: &'static str) -> Self {
        Self { name, unit: Unit::Percent, default, min: 1, max: 100, help }
    }

    /// A switch.
    pub const fn switch(name: &'static str, default: bool, help: &'static str) -> Self {
        Self { name, unit: Unit::Switch, default: default as u64, min: 0, max: 1, help }
    }

    /// The value in the parameter's unit of a quantity in nanoseconds or bytes, or how to write one that has a value.
    pub fn in_units(&self, quantity: u64) -> Result<u64, String> {
        let (Quantity::Time(unit) | Quantity::Size(unit)) = self.unit.quantity() else { return Ok(quantity) };
        let below = quantity / unit;
        if quantity.is_multiple_of(unit) {
            return Ok(below);
        }
        let write = |value| self.unit.write(value);
        let written = match self.unit.quantity() {
            Quantity::Time(_) => write_nanos(quantity),
            _ => write_bytes(quantity),
        };
        let nearest = if below < self.min.max(1) {
            write(below + 1)
        } else {
            format!("{} or {}", write(below), write(below + 1))
        };
        Err(format!("{written} is not a multiple of {}; write {nearest}", write(1)))
    }
}

/// Whose parameters a table has, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// What it is: `scheduler`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What its parameters are called: `tunable`.
    pub parameter: &'static str,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}

/// A parameter was set that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// There is no such parameter.
    #[error("{owner} has no {} `{name}`; it has {known}", owner.parameter)]
    Unknown {
        /// Who was asked.
        owner: Owner,
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// Outside its range.
    #[error("{} `{name}` of {owner} is {value}, but must lie in {min}..={max} {unit}", owner.parameter)]
    OutOfRange {
        /// Who was asked.
        owner: Owner,
        /// The parameter.
        name: &'static str,
        /// The value asked for.
        value: u64,
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
        /// Its unit.
        unit: Unit,
    },
}

/// A value for each parameter of a table.
#[derive(Clone, Debug)]
pub struct Settings {
    table: &'static [Parameter],
    values: Vec<u64>,
    /// Which of them were asked for.
    given: Vec<bool>,
}

impl Settings {
    /// Defaults of `table` with `changes` on top.
    pub fn new(owner: Owner, table: &'static [Parameter], changes: &[(String, u64)]) -> Result<Self, ParameterError> {
        let mut values: Vec<u64> = table.iter().map(|parameter| parameter.default).collect();
        let mut given = vec![false; table.len()];
        for (name, value) in changes {
            let Some(at) = table.iter().position(|parameter| parameter.name == name) else {
                let known = table.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".into() } else { known };
                return Err(ParameterError::Unknown { owner, name: name.clone(), known });
            };
            let Parameter { name, min, max, unit, .. } = table[at];
            if !(min..=max).contains(value) {
                return Err(ParameterError::OutOfRange { owner, name, value: *value, min, max, unit });
            }
            (values[at], given[at]) = (*value, true);
        }
        Ok(Self { table, values, given })
    }

    fn position(&self, name: &str) -> usize {
        let at = self.table.iter().position(|parameter| parameter.name == name);
        at.expect("settings are asked for parameters of their own table")
    }

    /// The value of a parameter, in its unit.
    pub fn get(&self, name: &str) -> u64 {
        self.values[self.position(name)]
    }

    /// The value of a parameter if it was asked for.
    pub fn given(&self, name: &str) -> Option<u64> {
        self.given[self.position(name)].then(|| self.get(name))
    }

    /// Whether a switch is on.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    /// A duration in nanoseconds.
    pub fn ns(&self, name: &str) -> u64 {
        let at = self.position(name);
        let Quantity::Time(unit_ns) = self.table[at].unit.quantity() else { panic!("{name} is no time") };
        self.values[at] * unit_ns
    }

    /// The share `name` of a capacity, rounded down.
    pub fn share(&self, name: &str, capacity: u64) -> u64 {
        (u128::from(capacity) * u128::from(self.get(name)) / 100) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Parameter] = &[
        Parameter::ms("wait", 500, 2, "Time."),
        Parameter::share("part", 25, "Share."),
        Parameter::switch("merges", true, "Switch."),
        Parameter { name: "region", unit: Unit::Sectors, default: 8, min: 1, max: 1 << 40, help: "Size." },
        Parameter { name: "depth", unit: Unit::Count("requests"), default: 16, min: 1, max: 64, help: "Number." },
    ];

    const OWNER: Owner = Owner { kind: "scheduler", name: "cfq", parameter: "tunable" };

    #[test]
    fn changes_lie_on_top_of_defaults() {
        let settings = Settings::new(OWNER, TABLE, &[("wait".into(), 3), ("merges".into(), 0)]).unwrap();
        assert_eq!((settings.get("wait"), settings.ns("wait")), (3, 3_000_000));
        assert_eq!((settings.given("wait"), settings.given("depth"), settings.get("depth")), (Some(3), None, 16));
        assert_eq!((settings.is_set("merges"), settings.share("part", u64::MAX)), (false, u64::MAX / 4));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |name: &str, value| Settings::new(OWNER, TABLE, &[(name.into(), value)]).unwrap_err().to_string();
        assert_eq!(refused("wait", 1), "tunable `wait` of scheduler `cfq` is 1, but must lie in 2..=3600000 ms");
        assert_eq!(
            refused("what", 1),
            "scheduler `cfq` has no tunable `what`; it has wait, part, merges, region, depth"
        );
        let none = Settings::new(OWNER, &[], &[("what".into(), 1)]).unwrap_err();
        assert_eq!(none.to_string(), "scheduler `cfq` has no tunable `what`; it has none");
    }

    #[test]
    fn values_are_written_and_read_as_quantities() {
        let written: Vec<String> = TABLE.iter().map(|parameter| parameter.unit.write(parameter.default)).collect();
        assert_eq!(written, ["500ms", "25", "true", "4KiB", "16"]);
        let [wait, _, _, region, depth] = TABLE else { panic!("five parameters") };
        assert_eq!((wait.in_units(7_000_000), region.in_units(1024), depth.in_units(7)), (Ok(7), Ok(2), Ok(7)));
        assert_eq!(wait.in_units(7_500_000).unwrap_err(), "7.5ms is not a multiple of 1ms; write 7ms or 8ms");
        assert_eq!(region.in_units(100).unwrap_err(), "100B is not a multiple of 512B; write 512B");
    }
}
