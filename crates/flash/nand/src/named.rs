//! Macro for enums whose variants have names in results.

/// Defines an enum, with a number and a name for each variant.
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $kind:ident { $($(#[$doc:meta])* $member:ident = $number:literal, $name:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum $kind {
            $($(#[$doc])* $member = $number),+
        }

        impl $kind {
            /// All variants, in the order of their numbers.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$member),+];

            /// Returns the variant's name, as used in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$member => $name),+
                }
            }
        }
    };
}

pub(crate) use named_enum;
