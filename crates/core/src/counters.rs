//! `counters!`: a plain struct of `u64` counts whose arithmetic, documentation and table export all
//! come from one declaration, so that no field can be forgotten in a subtraction or a report.

/// One counter as data, for tables and exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// Field name, in the field's standard terms.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// The count.
    pub value: u64,
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

        impl $name {
            /// Every counter with its name, unit and meaning, in declaration order.
            pub fn rows(&self) -> Vec<$crate::counters::CounterRow> {
                vec![$($crate::counters::CounterRow {
                    name: stringify!($field), unit: $unit, help: $help, value: self.$field,
                }),+]
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
        let rows: Vec<_> = sum.rows().iter().map(|row| (row.name, row.unit, row.value)).collect();
        assert_eq!(rows, [("reads", "pages", 4), ("erases", "blocks", 7)]);
    }
}
