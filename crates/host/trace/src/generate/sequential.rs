//! Generates sequential streams. Each stream cycles through its own part of the span.

use ssdlab_core::units::write_bytes;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::check::{STREAMS_MAX, numbered, wrong};
use super::space::{RequestTarget, Space};
use crate::TraceError;

pub(super) static INFO: PatternInfo = Info {
    name: "sequential",
    help: "`streams` interleaved sequential streams, each in its own part of the span",
    source: "",
    parameters: &[Parameter::new(
        "streams",
        Unit::Count("streams"),
        1,
        [1, STREAMS_MAX],
        "Number of interleaved streams.",
    )
    .example(4)],
    role: PatternRules::of::<Sequential>(),
};

/// Checks that the largest request fits into a stream's part of the span. All parts are equally large.
fn check(streams: u64, space: Space) -> Result<(), TraceError> {
    let Space { align, span, largest, .. } = space;
    let stretch = span / streams / align * align;
    if stretch >= largest {
        return Ok(());
    }
    let (size, all) = (write_bytes(largest), write_bytes(span));
    match span / largest.next_multiple_of(align) {
        // A partial slot at the end of the span belongs to no stream.
        0 => {
            let most = write_bytes(span / align * align);
            wrong(
                "sizes",
                format!("the request size {size} exceeds the aligned part of the span of {all}; lower it to {most}"),
            )
        }
        most => {
            let stretch = write_bytes(stretch);
            let why = format!(
                "the number of streams {streams} is too large: each gets {stretch} of the span of {all}, less than a \
                 request of {size}; lower it to {most}"
            );
            wrong("streams", why)
        }
    }
}

#[derive(Debug)]
struct Sequential {
    align: u64,
    /// Size in bytes of the part of the span that a stream uses.
    stretch: u64,
    /// Next byte of each stream, relative to the stream's part of the span.
    cursors: Vec<u64>,
    turn: usize,
}

impl Addresses for Sequential {
    const STREAMS: bool = true;

    fn check(settings: &Settings, space: Space) -> Result<(), TraceError> {
        check(settings.get("streams"), space)
    }

    fn new(settings: &Settings, space: Space, _: &mut Rng) -> Self {
        let streams = settings.get("streams");
        let Space { align, span, .. } = space;
        let stretch = span / streams / align * align;
        Self { align, stretch, cursors: vec![0; streams as usize], turn: 0 }
    }

    fn streams(&self) -> Vec<String> {
        numbered("seq", self.cursors.len())
    }

    fn next(&mut self, bytes: u32, _: &mut Rng) -> RequestTarget {
        let index = self.turn;
        self.turn = (index + 1) % self.cursors.len();
        let cursor = &mut self.cursors[index];
        if *cursor + u64::from(bytes) > self.stretch {
            *cursor = 0;
        }
        let offset = index as u64 * self.stretch + *cursor;
        *cursor += u64::from(bytes).next_multiple_of(self.align);
        RequestTarget { offset, bytes, stream: index as u16 + 1 }
    }
}
