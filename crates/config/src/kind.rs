//! What an option may be: its type and range, or the names there are to choose from.

/// Type and range of an option; both ends of a range are allowed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A size, `"4KiB"`.
    Bytes {
        /// Smallest, in bytes.
        min: u64,
        /// Largest, in bytes.
        max: u64,
    },
    /// A duration, `"25us"`.
    Nanos {
        /// Shortest, in nanoseconds.
        min: u64,
        /// Longest, in nanoseconds.
        max: u64,
    },
    /// A duration for all pages, or one for each page type: `"40us,80us"`.
    Durations {
        /// Longest, in nanoseconds.
        max: u64,
    },
    /// A share, `"7%"`.
    Percent {
        /// Smallest, in percent.
        min: f64,
        /// Largest, in percent.
        max: f64,
    },
    /// A whole number.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// Whole numbers, `"4,2,1"`.
    Counts {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// How many at most.
        most: usize,
    },
    /// A number.
    Float {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `true` or `false`.
    Bool,
    /// Events per second, `"20k/s"`; more than none.
    Rate,
    /// Bytes per second, `"600MB/s"`, or `"none"` for as many as there are.
    Bandwidth,
    /// Request sizes: `"4KiB"`, or a mix with shares, `"4KiB:70%,64KiB:30%"`.
    Sizes,
    /// A part of the device: a size, or `"device"` for all of it.
    Span,
    /// Log blocks: `40`, `"3%"` of the data blocks, or `"all"`.
    LogSpace,
    /// One of several variants.
    Choice(&'static [Variant]),
    /// A number of the given kind, of which only some values within the range are possible: those that meet all steps.
    Stepped(&'static Kind, &'static [Step]),
}

/// A rule that spaces the possible values of a number; in its base unit, which is a byte, a nanosecond or a percent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Multiples of this many base units.
    Multiple(u64),
    /// Powers of two.
    PowerOfTwo,
    /// Multiples of the value of the option with this key.
    MultipleOf(&'static str),
    /// Divisors of the value of the option with this key.
    DivisorOf(&'static str),
}

/// One value of a [`Kind::Choice`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// As written.
    pub name: &'static str,
    /// What choosing it means.
    pub help: &'static str,
}

impl Kind {
    /// One of the names that another crate lists, each with what it means. The list lives as long as the program: this
    /// is for the table of options, which is put together once.
    pub(crate) fn of_names(names: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let variants: Vec<Variant> = names.into_iter().map(|(name, help)| Variant { name, help }).collect();
        Self::Choice(variants.leak())
    }

    /// Rules that space its values; empty if every value within its range is possible by itself.
    pub const fn steps(&self) -> &'static [Step] {
        match self {
            Self::Stepped(_, steps) => steps,
            _ => &[],
        }
    }

    /// The same kind, spaced by `steps`. For the table of options, which is put together once.
    pub(crate) fn stepped(self, steps: &'static [Step]) -> Self {
        Self::Stepped(Box::leak(Box::new(self)), steps)
    }
}

/// The names of a choice, what they mean and what each comes to: the one list behind help, schema, messages and
/// settings.
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

    /// What `name` comes to.
    pub fn get(&self, name: &str) -> Option<T> {
        let at = self.variants.iter().position(|variant| variant.name == name)?;
        Some(self.values[at])
    }
}
