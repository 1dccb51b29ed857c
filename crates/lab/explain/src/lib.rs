//! Records the steps of an FTL on a few requests, for a drive small enough to draw.
//!
//! [`record`] runs an unmodified FTL and records its output: every flash operation and decision is a [`Step`]. A
//! [`State`] holds all that a picture of the drive shows, and [`State::apply`] advances it by one step. A viewer can
//! step backward from a few saved states. A copied page is the newest copy if its source was the newest copy. States do
//! not use the FTL's own map; tests compare the states with the map. Related steps form a [`Span`], such as a merge
//! with its copies and erases. Sentences describe each step and sum up each span.
//!
//! Input and output are JSON ([`answer`]). The Python package and the web page call the same function; the web page
//! runs this crate as WebAssembly. Viewers that cannot apply steps request pictures, as [`Frame`]s.

mod answer;
mod drive;
mod frame;
mod label;
mod record;
mod sentence;
mod span;
mod state;
mod step;

pub use answer::{Op, Request, answer};
pub use drive::{Drive, LogScheme, Named, PageScheme, Scheme, Slc, Times};
pub use frame::{Block, Frame, Page};
pub use record::{End, Entry, MOST_PAGES, MOST_STEPS, Ram, Recording, record};
pub use span::{Source, Span, What};
pub use state::{BlockState, PageState, State, Use};
pub use step::Step;
