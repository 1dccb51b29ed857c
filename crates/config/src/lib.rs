//! Configuration in three stages: options as written, merged with their origins, settings checked across options.
//!
//! One table, [`OPTIONS`], declares every option; reading, suggestions, the JSON schema and the reference page follow
//! from it. Nothing here opens a file: callers hand in text with the name it goes by.

mod block;
mod cache;
mod config;
mod defaults;
mod device;
mod document;
mod drive;
mod error;
mod ftl;
mod host;
mod nand;
mod options;
mod parameters;
mod presets;
mod reference;
mod render;
mod schema;
mod settings;
mod value;
mod workload;

pub use config::{Config, Layer, Leaf};
pub use device::DeviceFigures;
pub use error::{ConfigError, Violation};
pub use options::{Case, Derived, Fallback, Is, Kind, OPTIONS, OptionSpec, SECTIONS, Variant};
pub use presets::{DEFAULT_PRESET, Preset, presets};
pub use reference::{presets_markdown, reference_markdown};
pub use schema::json_schema;
pub use settings::Settings;
