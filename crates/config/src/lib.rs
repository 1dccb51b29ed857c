//! Configuration in three stages: options as written, merged with their origins, settings checked across options.
//!
//! One table, [`OPTIONS`], declares every option; reading, ranges, suggestions, help, the JSON schema and the reference
//! page follow from it. It is put together from the sections, of which each is one file or folder below `sections/`
//! with its options, its reader and its checks. Policies and schedulers declare their parameters themselves, so the
//! table is built when it is first needed. Positions in errors come from the spans of the TOML parser.
//!
//! Nothing here opens a file: callers hand in text with the name it goes by.

mod checker;
mod config;
mod defaults;
mod document;
mod drive;
mod error;
mod explain;
mod figures;
mod kind;
mod parameters;
mod presets;
mod reference;
mod registry;
mod render;
mod schema;
mod sections;
mod settings;
mod table;
mod units;
mod value;
mod what_if;

pub use config::{Config, Layer, Leaf};
pub use error::{ConfigError, Violation};
pub use explain::Stated;
pub use figures::DeviceFigures;
pub use kind::{Kind, Step, Variant};
pub use presets::{DEFAULT_PRESET, Preset, presets};
pub use reference::{presets_markdown, reference_markdown};
pub use registry::OPTIONS;
pub use schema::json_schema;
pub use settings::Settings;
pub use table::{Case, Derived, Fallback, Is, OptionSpec};
