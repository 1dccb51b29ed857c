//! Types and ranges of options, and the variants that an option may have as values.

/// Type and range of an option; ranges include both ends.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the comment of each variant states the unit of `min` and `max`")]
pub enum Kind {
    /// A size, such as `"4KiB"`; the range is in bytes.
    Bytes { min: u64, max: u64 },
    /// A duration, such as `"25us"`; the range is in nanoseconds.
    Nanos { min: u64, max: u64 },
    /// The duration of an operation on every page, or one duration per page type, such as `"40us,80us"`; the maximum is
    /// in nanoseconds.
    Durations { max: u64 },
    /// A percentage, such as `"7%"`; the range is in percent.
    Percent { min: f64, max: f64 },
    /// A whole number.
    Count { min: u64, max: u64 },
    /// A list of up to `most` whole numbers, such as `"4,2,1"`.
    Counts { min: u64, max: u64, most: usize },
    /// A number that may have a fraction.
    Float { min: f64, max: f64 },
    /// A Boolean: `true` or `false`.
    Bool,
    /// A positive rate of events, such as `"20k/s"`.
    Rate,
    /// A bandwidth, such as `"600MB/s"`; `"none"` is unlimited.
    Bandwidth,
    /// Request sizes: `"4KiB"`, or a mix of sizes with shares, `"4KiB:70%,64KiB:30%"`.
    Sizes,
    /// Queues of a workload, such as `"1:fixed:10k/s:50%,6:poisson:15k/s:1%"`; `"none"` for no queues.
    Queues,
    /// Length of an address range in the device: a size, or `"device"` for the whole device.
    Span,
    /// Number of log blocks: a number such as `40`, `"3%"` of the data blocks, or `"all"`.
    LogSpace,
    /// One of several variants.
    Choice(&'static [Variant]),
    /// A number of the given type that must also satisfy the given rules.
    Stepped(&'static Kind, &'static [Step]),
}

/// Rule that restricts the values of a number, given in its base unit: bytes, nanoseconds or percent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The value must be a multiple of this number.
    Multiple(u64),
    /// The value must be a power of two.
    PowerOfTwo,
    /// The value must be a multiple of the value of the option with this key.
    MultipleOf(&'static str),
    /// The value must be a divisor of the value of the option with this key.
    DivisorOf(&'static str),
}

/// One possible value of a [`Kind::Choice`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Name of the variant in settings.
    pub name: &'static str,
    /// Help text of the variant.
    pub help: &'static str,
}

impl Kind {
    /// Creates the type of an option from the names and help texts of its variants. The list of variants is never
    /// freed. So only the option table, which is rarely rebuilt, may call this function.
    pub(crate) fn of_names(names: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let variants: Vec<Variant> = names.into_iter().map(|(name, help)| Variant { name, help }).collect();
        Self::Choice(variants.leak())
    }

    /// Returns the rules for the option's values; empty if every value in range is allowed.
    pub const fn steps(&self) -> &'static [Step] {
        match self {
            Self::Stepped(_, steps) => steps,
            _ => &[],
        }
    }

    /// Restricts the option's values by the given rules. The type is never freed, like the list of variants in
    /// [`Self::of_names`].
    pub(crate) fn stepped(self, steps: &'static [Step]) -> Self {
        Self::Stepped(Box::leak(Box::new(self)), steps)
    }
}

/// Variants of an option, each with the value it represents. Help, schema, messages and settings all use this list.
pub(crate) struct Choices<T, const N: usize> {
    variants: [Variant; N],
    values: [T; N],
}

impl<T: Copy, const N: usize> Choices<T, N> {
    pub const fn new(table: [(&'static str, &'static str, T); N]) -> Self {
        let mut variants = [Variant { name: "", help: "" }; N];
        let mut values = [table[0].2; N];
        let mut at = 0;
        while at < N {
            let (name, help, value) = table[at];
            variants[at] = Variant { name, help };
            values[at] = value;
            at += 1;
        }
        Self { variants, values }
    }

    pub const fn kind(&'static self) -> Kind {
        Kind::Choice(&self.variants)
    }

    /// Returns the value that the variant `name` represents.
    pub fn get(&self, name: &str) -> Option<T> {
        let at = self.variants.iter().position(|variant| variant.name == name)?;
        Some(self.values[at])
    }
}
