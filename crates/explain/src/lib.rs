//! An FTL step by step: what it does with a few requests on a drive small enough to draw.
//!
//! [`record`] runs an FTL as it is and hears all that it emits: every flash operation and every decision is a [`Step`].
//! A [`State`] is what a picture shows; [`State::apply`] leads it from one step to the next, so a reader who keeps a
//! few states can go forward and back. A copy is the newest if its source was; the FTL's own map is not asked, and
//! tests compare the two. Steps that belong together are a [`Span`], such as a merge with its copies and erases.
//!
//! Everything goes in and out as data ([`answer`]): the Python package and the page itself, where this crate runs as
//! WebAssembly, call the same function. Sentences are the page's business.

mod answer;
mod drive;
mod record;
mod span;
mod state;
mod step;

pub use answer::answer;
pub use drive::{Drive, LogScheme, MOST_PAGES, Named, PageScheme, Scheme, Times};
pub use record::{End, Entry, MOST_STEPS, Op, Ram, Recording, Request, record};
pub use span::{Source, Span, What};
pub use state::{BlockState, PageState, State, Use};
pub use step::Step;
