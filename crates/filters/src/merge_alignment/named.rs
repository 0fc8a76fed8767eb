//! A macro for enums whose variants have command-line names.

/// Implements `NAMES`, `name` and `FromStr` for an enum, from a list of names and variants.
macro_rules! named {
    ($type:ty, $($name:literal => $value:expr),+) => {
        impl $type {
            pub const NAMES: &'static [(&'static str, $type)] = &[$(($name, $value)),+];

            pub fn name(self) -> &'static str {
                Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
            }
        }

        impl std::str::FromStr for $type {
            type Err = readmill_record::Error;

            fn from_str(text: &str) -> readmill_record::Result<Self> {
                let found = Self::NAMES.iter().find(|(name, _)| *name == text);
                let names: Vec<_> = Self::NAMES.iter().map(|(name, _)| *name).collect();
                let wrong = || readmill_record::Error::usage(format!("{text:?} is none of {}", names.join(", ")));
                found.map(|(_, value)| *value).ok_or_else(wrong)
            }
        }
    };
}

pub(super) use named;
