//! The macro `counters!` declares a struct of `u64` counts, and generates its arithmetic, documentation, tables and
//! serialised form. No field can therefore be forgotten in a subtraction, a report or an export.

use std::ops::{AddAssign, Sub};

/// Name, unit and help text of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Field name of the counter, in standard storage terminology.
    pub name: &'static str,
    /// Unit of the counter's value.
    pub unit: &'static str,
    /// Help text of the counter, one sentence.
    pub help: &'static str,
}

/// A struct declared by [`counters!`](crate::counters!). It serialises as a map from counter names to values.
pub trait Counters: Copy + Default + AddAssign + Sub<Output = Self> {
    /// All counters of the struct, in the order of declaration.
    const COUNTERS: &'static [Counter];

    /// Returns the values of all counters in the order of declaration.
    fn values(&self) -> Vec<u64>;

    /// Returns every counter of the struct with its value.
    fn rows(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
        Self::COUNTERS.iter().zip(self.values())
    }

    /// Transposes several counter structs: returns every counter with its value in each struct.
    fn columns(all: impl Iterator<Item = Self>) -> impl Iterator<Item = (&'static Counter, Vec<u64>)> {
        let mut columns = vec![Vec::with_capacity(all.size_hint().0); Self::COUNTERS.len()];
        for counters in all {
            columns.iter_mut().zip(counters.values()).for_each(|(column, value)| column.push(value));
        }
        Self::COUNTERS.iter().zip(columns)
    }
}

/// Declares a counter struct: `counters! { /// doc  pub struct Name { field: "unit", "help"; ... } }`.
#[macro_export]
macro_rules! counters {
    ($(#[$doc:meta])* pub struct $name:ident { $($field:ident : $unit:literal, $help:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = concat!($help, " Unit: ", $unit, ".")] pub $field: u64,)+
        }

        impl $crate::counters::Counters for $name {
            const COUNTERS: &'static [$crate::counters::Counter] = &[$($crate::counters::Counter {
                name: stringify!($field), unit: $unit, help: $help,
            }),+];

            fn values(&self) -> Vec<u64> {
                vec![$(self.$field),+]
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map($crate::counters::Counters::rows(self).map(|(counter, value)| (counter.name, value)))
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;
            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field),+ }
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        /// Two counts.
        pub struct Two {
            reads: "pages", "Pages read.";
            erases: "blocks", "Blocks erased.";
        }
    }

    #[test]
    fn arithmetic_and_rows_cover_every_field() {
        let mut sum = Two { reads: 5, erases: 2 } - Two { reads: 1, erases: 2 };
        sum += Two { reads: 0, erases: 7 };
        let rows: Vec<_> =
            sum.rows().map(|(counter, value)| (counter.name, counter.unit, counter.help, value)).collect();
        assert_eq!(rows, [("reads", "pages", "Pages read.", 4), ("erases", "blocks", "Blocks erased.", 7)]);
    }

    #[test]
    fn structs_serialise_as_maps_in_declaration_order() {
        let json = serde_json::to_string(&Two { reads: 3, erases: 1 }).unwrap();
        assert_eq!(json, r#"{"reads":3,"erases":1}"#);
    }

    #[test]
    fn columns_have_an_entry_for_each_struct() {
        let all = [Two { reads: 3, erases: 1 }, Two { reads: 4, erases: 0 }];
        let columns: Vec<_> = Two::columns(all.into_iter()).map(|(counter, column)| (counter.name, column)).collect();
        assert_eq!(columns, [("reads", vec![3, 4]), ("erases", vec![1, 0])]);
        assert_eq!(Two::columns([].into_iter()).map(|(_, column)| column.len()).sum::<usize>(), 0);
    }
}
