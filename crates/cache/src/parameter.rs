//! Parameters as data: every policy declares a table, from which settings, ranges and help are generated.

use crate::CacheError;

/// One parameter of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in configurations.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// What the paper says, or what the policy's file says where the paper says nothing.
    pub default: u64,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// One sentence.
    pub help: &'static str,
}

impl Parameter {
    /// A share of the capacity, 1 to 100 percent.
    pub(crate) const fn share(name: &'static str, default: u64, help: &'static str) -> Self {
        Self { name, unit: "%", default, min: 1, max: 100, help }
    }
}

/// A value for each parameter of one policy.
#[derive(Clone, Debug)]
pub struct Settings {
    table: &'static [Parameter],
    values: Vec<u64>,
}

impl Settings {
    /// Defaults of `table` with `changes` on top.
    pub(crate) fn new(
        policy: &'static str,
        table: &'static [Parameter],
        changes: &[(String, u64)],
    ) -> Result<Self, CacheError> {
        let mut values: Vec<u64> = table.iter().map(|parameter| parameter.default).collect();
        for (name, value) in changes {
            let Some(at) = table.iter().position(|parameter| parameter.name == name) else {
                let known = table.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".into() } else { known };
                return Err(CacheError::UnknownParameter { policy, name: name.clone(), known });
            };
            let Parameter { name, min, max, unit, .. } = table[at];
            if !(min..=max).contains(value) {
                return Err(CacheError::OutOfRange { policy, name, value: *value, min, max, unit });
            }
            values[at] = *value;
        }
        Ok(Self { table, values })
    }

    /// The value of a parameter, in its unit.
    pub fn get(&self, name: &str) -> u64 {
        let at = self.table.iter().position(|parameter| parameter.name == name);
        self.values[at.expect("a policy asks for parameters of its own table")]
    }

    /// The share `name` of a capacity, rounded down.
    pub(crate) fn share(&self, name: &str, capacity: u64) -> u64 {
        (u128::from(capacity) * u128::from(self.get(name)) / 100) as u64
    }
}
