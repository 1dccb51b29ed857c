//! Configuration in three stages: options as written, merged with their origins, settings checked across options.
//!
//! One table, [`OPTIONS`], declares every option; reading, suggestions, the JSON schema and the reference page follow
//! from it. Nothing here opens a file: callers hand in text with the name it goes by.

mod checker;
mod config;
mod defaults;
mod document;
mod error;
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

pub use config::{Config, Layer, Leaf};
pub use error::{ConfigError, Violation};
pub use figures::DeviceFigures;
pub use kind::{Kind, Variant};
pub use presets::{DEFAULT_PRESET, Preset, presets};
pub use reference::{presets_markdown, reference_markdown};
pub use registry::OPTIONS;
pub use schema::json_schema;
pub use settings::Settings;
pub use table::{Case, Derived, Fallback, Is, OptionSpec};
