//! Tables of parameters, from which settings, valid ranges and help texts are generated.

use std::fmt;

use crate::units::{write_bytes, write_nanos, write_percent};

/// Maximum number of parameters in a table.
pub const MOST: usize = 16;

/// One percent in parts per billion, the unit of [`Unit::Share`].
const PARTS_OF_PERCENT: f64 = 1e7;
/// Number of billionths in 1; [`Unit::Decimal`] values are stored in billionths.
const BILLIONTHS: f64 = 1e9;

/// Function that returns the names that a parameter accepts and their meanings, including names registered later.
#[derive(Clone, Copy)]
pub struct Names(fn() -> Vec<(&'static str, &'static str)>);

impl Names {
    /// Returns the names that the parameter accepts, each with its meaning.
    pub fn get(self) -> Vec<(&'static str, &'static str)> {
        (self.0)()
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Names {}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.get()).finish()
    }
}

/// Unit of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time in nanoseconds.
    Nanos,
    /// A time in milliseconds.
    Millis,
    /// A size in bytes.
    Bytes,
    /// A size in sectors of 512 bytes.
    Sectors,
    /// A size in KiB.
    KiB,
    /// A size in MiB.
    MiB,
    /// A percentage, stored as a whole number of percent.
    Percent,
    /// A fraction of a whole, stored in parts per billion and written in percent.
    Share,
    /// A number with up to nine decimal places, stored in billionths.
    Decimal,
    /// A switch: 1 for on, 0 for off.
    Switch,
    /// One of several names; the value is the index of the name.
    OneOf(Names),
    /// A count, with the plural noun for the counted items.
    Count(&'static str),
    /// A count fixed by the source (paper or program). Users cannot set it, but tests vary it.
    Fixed(&'static str),
}

/// Type of quantity that a [`Unit`] measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A duration; the value is the number of nanoseconds per unit.
    Time(u64),
    /// A size; the value is the number of bytes per unit.
    Size(u64),
    /// A plain number.
    Number,
    /// A fraction of a whole.
    Share,
    /// A number that may have decimal places.
    Decimal,
    /// A switch, on or off.
    Switch,
    /// One of several names, each with its meaning.
    Name(Names),
}

impl Unit {
    /// Returns the unit symbol that is written after a value, such as `ns`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Millis => "ms",
            Self::Bytes => "B",
            Self::Sectors => "sectors",
            Self::KiB => "KiB",
            Self::MiB => "MiB",
            Self::Percent => "%",
            Self::Share => "parts of a billion",
            Self::Decimal => "billionths",
            Self::Switch => "switch",
            Self::OneOf(_) => "(one of several)",
            Self::Count(name) | Self::Fixed(name) => name,
        }
    }

    /// Returns the quantity that the unit measures.
    pub const fn quantity(self) -> Quantity {
        match self {
            Self::Nanos => Quantity::Time(1),
            Self::Millis => Quantity::Time(1_000_000),
            Self::Bytes => Quantity::Size(1),
            Self::Sectors => Quantity::Size(512),
            Self::KiB => Quantity::Size(1 << 10),
            Self::MiB => Quantity::Size(1 << 20),
            Self::Percent | Self::Count(_) | Self::Fixed(_) => Quantity::Number,
            Self::Share => Quantity::Share,
            Self::Decimal => Quantity::Decimal,
            Self::Switch => Quantity::Switch,
            Self::OneOf(names) => Quantity::Name(names),
        }
    }

    /// Writes a value with its unit, as in configurations: `4KiB`, `500ms`, `16`, `20%`, `true`, `lru`.
    pub fn write(self, value: u64) -> String {
        match self.quantity() {
            Quantity::Time(unit_ns) => write_nanos(value * unit_ns),
            Quantity::Size(unit_bytes) => write_bytes(value * unit_bytes),
            Quantity::Number => value.to_string(),
            Quantity::Share => write_percent(value as f64 / PARTS_OF_PERCENT),
            Quantity::Decimal => format!("{:?}", value as f64 / BILLIONTHS),
            Quantity::Name(names) => names.get()[value as usize].0.into(),
            Quantity::Switch => (value != 0).to_string(),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One parameter of a scheduler, policy or other registered entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter in configurations; identical to the name in the kernel or paper, if there is one.
    pub name: &'static str,
    /// Unit of the parameter's value.
    pub unit: Unit,
    /// Default value from the source (paper or program), unless the help text or the component's file says otherwise.
    pub default: u64,
    /// Smallest value of the parameter.
    pub min: u64,
    /// Largest value of the parameter.
    pub max: u64,
    /// Example value for documents, if the default value is not a good example.
    pub example: Option<u64>,
    /// Help text of the parameter, one sentence.
    pub help: &'static str,
}

/// Converts percent to a value of [`Unit::Share`].
pub const fn percent(percent: u64) -> u64 {
    percent * PARTS_OF_PERCENT as u64
}

/// Converts a number to a value of [`Unit::Decimal`].
pub const fn decimal(number: f64) -> u64 {
    (number * BILLIONTHS + 0.5) as u64
}

impl Parameter {
    /// Creates a parameter with the range `[min, max]`.
    pub const fn new(name: &'static str, unit: Unit, default: u64, [min, max]: [u64; 2], help: &'static str) -> Self {
        Self { name, unit, default, min, max, example: None, help }
    }

    /// Creates a parameter that is a duration in milliseconds, at most an hour.
    pub const fn ms(name: &'static str, default: u64, min: u64, help: &'static str) -> Self {
        Self { name, unit: Unit::Millis, default, min, max: 3_600_000, example: None, help }
    }

    /// Creates a parameter that is a percentage from 1 to 100.
    pub const fn share(name: &'static str, default: u64, help: &'static str) -> Self {
        Self { name, unit: Unit::Percent, default, min: 1, max: 100, example: None, help }
    }

    /// Creates a parameter that is a switch.
    pub const fn switch(name: &'static str, default: bool, help: &'static str) -> Self {
        Self { name, unit: Unit::Switch, default: default as u64, min: 0, max: 1, example: None, help }
    }

    /// Creates a parameter whose value is one of several names; the first name is the default.
    pub const fn one_of(
        name: &'static str,
        names: fn() -> Vec<(&'static str, &'static str)>,
        help: &'static str,
    ) -> Self {
        let unit = Unit::OneOf(Names(names));
        Self { name, unit, default: 0, min: 0, max: u64::MAX, example: None, help }
    }

    /// Returns the largest value; for a parameter with named values, the index of the last name registered so far.
    pub fn largest(&self) -> u64 {
        match self.unit {
            Unit::OneOf(names) => names.get().len() as u64 - 1,
            _ => self.max,
        }
    }

    /// True if users cannot set the parameter.
    pub const fn is_fixed(&self) -> bool {
        matches!(self.unit, Unit::Fixed(_))
    }

    /// Returns a copy of the parameter with the given example value.
    pub const fn example(self, value: u64) -> Self {
        Self { example: Some(value), ..self }
    }

    /// Converts nanoseconds or bytes to the parameter's unit. The result must be a whole number of units; otherwise the
    /// error message suggests the next lower whole number, or the next higher one if the lower one is 0 or too small.
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
        let nearest = write(if below < self.min.max(1) { below + 1 } else { below });
        Err(format!("{written} is not a multiple of {}; set it to {nearest}", write(1)))
    }
}

/// Owner of a parameter table, such as a scheduler; used in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Type of the owner, such as `scheduler`.
    pub kind: &'static str,
    /// Name of the owner, such as `deadline`.
    pub name: &'static str,
    /// Noun for a parameter of this owner in messages, such as `tunable`.
    pub parameter: &'static str,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}

/// Error: an invalid change to a parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The owner has no parameter with the given name.
    #[error("{owner} has no {} `{name}`; available: {known}", owner.parameter)]
    Unknown {
        /// Policy, scheduler or other component to which the parameters belong.
        owner: Owner,
        /// The unknown parameter name.
        name: String,
        /// Names of all parameters of the owner, separated by commas.
        known: String,
    },
    /// The value is out of the parameter's range.
    #[error("{} `{name}` of {owner} is {value}, but must be from {min} to {max} {unit}", owner.parameter)]
    OutOfRange {
        /// Component to which the parameter belongs, such as a scheduler.
        owner: Owner,
        /// Name of the parameter.
        name: &'static str,
        /// Rejected value.
        value: u64,
        /// Smallest value of the parameter.
        min: u64,
        /// Largest value of the parameter.
        max: u64,
        /// Unit of the parameter.
        unit: Unit,
    },
}

/// Values of all parameters of a table.
#[derive(Clone, Copy)]
pub struct Settings {
    table: &'static [Parameter],
    values: [u64; MOST],
    /// For each parameter, true if its value was set explicitly.
    given: [bool; MOST],
}

impl Settings {
    /// Creates settings with the default values of `table`.
    pub const fn defaults(table: &'static [Parameter]) -> Self {
        assert!(table.len() <= MOST, "too many parameters in a table");
        let mut values = [0; MOST];
        let mut at = 0;
        while at < table.len() {
            values[at] = table[at].default;
            at += 1;
        }
        Self { table, values, given: [false; MOST] }
    }

    /// Creates settings from one value for each parameter of `table`, in the order of the table. Panics if the number
    /// of values differs from the number of parameters, or a value is out of range.
    pub const fn with(table: &'static [Parameter], values: &[u64]) -> Self {
        assert!(values.len() == table.len(), "one value per parameter");
        let mut settings = Self::defaults(table);
        let mut at = 0;
        while at < table.len() {
            assert!(table[at].min <= values[at] && values[at] <= table[at].max, "value out of range");
            settings.values[at] = values[at];
            settings.given[at] = true;
            at += 1;
        }
        settings
    }

    /// Creates settings from the defaults of `table` and the given changes.
    pub fn new<S: AsRef<str>>(
        owner: Owner,
        table: &'static [Parameter],
        changes: &[(S, u64)],
    ) -> Result<Self, ParameterError> {
        let mut settings = Self::defaults(table);
        for (name, value) in changes {
            let name = name.as_ref();
            let Some(at) = table.iter().position(|parameter| parameter.name == name) else {
                let known = table.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".into() } else { known };
                return Err(ParameterError::Unknown { owner, name: name.into(), known });
            };
            let Parameter { name, min, unit, .. } = table[at];
            let max = table[at].largest();
            if !(min..=max).contains(value) {
                return Err(ParameterError::OutOfRange { owner, name, value: *value, min, max, unit });
            }
            (settings.values[at], settings.given[at]) = (*value, true);
        }
        Ok(settings)
    }

    /// Returns the values of all parameters, in the order of the table.
    pub fn values(&self) -> &[u64] {
        &self.values[..self.table.len()]
    }

    fn position(&self, name: &str) -> usize {
        let at = self.table.iter().position(|parameter| parameter.name == name);
        at.expect("unknown parameter")
    }

    /// Returns the value of a parameter in the parameter's unit.
    pub fn get(&self, name: &str) -> u64 {
        self.values[self.position(name)]
    }

    /// Returns the value of a parameter if it was set explicitly, otherwise None.
    pub fn given(&self, name: &str) -> Option<u64> {
        self.given[self.position(name)].then(|| self.get(name))
    }

    /// True if the given switch is on.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    /// Returns the value of a duration parameter in nanoseconds.
    pub fn ns(&self, name: &str) -> u64 {
        let at = self.position(name);
        let Quantity::Time(unit_ns) = self.table[at].unit.quantity() else { panic!("{name} is not a duration") };
        self.values[at] * unit_ns
    }

    /// Returns the value of a [`Unit::Share`] parameter as a fraction of 1, such as 0.07 for 7 %.
    pub fn fraction(&self, name: &str) -> f64 {
        self.get(name) as f64 / PARTS_OF_PERCENT / 100.0
    }

    /// Returns the value of a [`Unit::Decimal`] parameter.
    pub fn decimal(&self, name: &str) -> f64 {
        self.get(name) as f64 / BILLIONTHS
    }

    /// Returns `capacity` times the percentage in parameter `name`, rounded down.
    pub fn share(&self, name: &str, capacity: u64) -> u64 {
        (u128::from(capacity) * u128::from(self.get(name)) / 100) as u64
    }
}

/// Settings are equal if their values are equal, whether set explicitly or by default.
impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.table == other.table && self.values == other.values
    }
}

impl Eq for Settings {}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values =
            self.table.iter().zip(self.values).map(|(parameter, value)| (parameter.name, parameter.unit.write(value)));
        f.debug_map().entries(values).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Parameter] = &[
        Parameter::ms("wait", 500, 2, "Time."),
        Parameter::share("part", 25, "Share."),
        Parameter::switch("merges", true, "Switch."),
        Parameter::new("region", Unit::Sectors, 8, [1, 1 << 40], "Size."),
        Parameter::new("depth", Unit::Count("requests"), 16, [1, 64], "Number."),
        Parameter::new("skew", Unit::Decimal, decimal(0.99), [decimal(0.01), decimal(10.0)], "Exponent."),
    ];

    const OWNER: Owner = Owner { kind: "scheduler", name: "cfq", parameter: "tunable" };

    #[test]
    fn changes_override_defaults() {
        let settings = Settings::new(OWNER, TABLE, &[("wait", 3), ("merges", 0)]).unwrap();
        assert_eq!((settings.get("wait"), settings.ns("wait")), (3, 3_000_000));
        assert_eq!((settings.given("wait"), settings.given("depth"), settings.get("depth")), (Some(3), None, 16));
        assert_eq!((settings.is_set("merges"), settings.share("part", u64::MAX)), (false, u64::MAX / 4));
        assert_eq!(settings.decimal("skew"), 0.99);
    }

    #[test]
    fn invalid_changes_are_rejected() {
        let refused = |name: &str, value| Settings::new(OWNER, TABLE, &[(name, value)]).unwrap_err().to_string();
        assert_eq!(refused("wait", 1), "tunable `wait` of scheduler `cfq` is 1, but must be from 2 to 3600000 ms");
        assert_eq!(
            refused("what", 1),
            "scheduler `cfq` has no tunable `what`; available: wait, part, merges, region, depth, skew"
        );
        let none = Settings::new(OWNER, &[], &[("what", 1)]).unwrap_err();
        assert_eq!(none.to_string(), "scheduler `cfq` has no tunable `what`; available: none");
    }

    #[test]
    fn values_are_written_and_read_as_quantities() {
        let written: Vec<String> = TABLE.iter().map(|parameter| parameter.unit.write(parameter.default)).collect();
        assert_eq!(written, ["500ms", "25", "true", "4KiB", "16", "0.99"]);
        let [wait, _, _, region, depth, _] = TABLE else { panic!("six parameters") };
        assert_eq!((wait.in_units(7_000_000), region.in_units(1024), depth.in_units(7)), (Ok(7), Ok(2), Ok(7)));
        assert_eq!(wait.in_units(7_500_000).unwrap_err(), "7.5ms is not a multiple of 1ms; set it to 7ms");
        assert_eq!(region.in_units(100).unwrap_err(), "100B is not a multiple of 512B; set it to 512B");
    }
}
