//! Configuration in three stages: reads layers of TOML, merges them with their origins, and checks settings across
//! options.
//!
//! One table, [`OPTIONS`], declares every option. Reading, ranges, suggestions, help, the JSON schema and the reference
//! page are derived from it. Each section is a file or folder below `sections/` with its options, its reader and its
//! checks. The table is rebuilt whenever a registry of policies or schedulers gains an entry. Positions in errors come
//! from the TOML parser.
//!
//! This crate opens no files: callers pass the text of configurations with its origin.

mod checker;
mod config;
mod document;
mod drive;
mod error;
mod explain;
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
mod value;
mod what_if;

pub use config::{Config, Leaf};
pub use document::Layer;
pub use error::{ConfigError, Violation};
pub use explain::Stated;
pub use kind::{Kind, Step, Variant};
pub use presets::{DEFAULT_PRESET, Preset, presets};
pub use reference::{presets_markdown, reference_markdown};
pub use registry::{OPTIONS, renamed};
pub use schema::json_schema;
pub use settings::Settings;
pub use table::{Case, Derived, Fallback, Is, OptionSpec};
