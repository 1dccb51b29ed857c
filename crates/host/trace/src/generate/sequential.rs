//! Generates sequential streams. Each stream cycles through its own part of the span.

use ssdlab_core::units::write_bytes;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::check::{STREAMS_MAX, ensure, numbered};
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

/// Returns the size in bytes of the part of the span that each stream uses.
fn stretch(settings: &Settings, space: Space) -> u64 {
    space.span / settings.get("streams") / space.align * space.align
}

#[derive(Debug)]
struct Sequential {
    align: u64,
    stretch: u64,
    /// Next byte of each stream, relative to the stream's part of the span.
    cursors: Vec<u64>,
    turn: usize,
}

impl Addresses for Sequential {
    const STREAMS: bool = true;

    /// Checks that the largest request fits into a stream's part of the span.
    fn check(settings: &Settings, space: Space) -> Result<(), TraceError> {
        let Space { align, span, largest, .. } = space;
        let (streams, stretch) = (settings.get("streams"), stretch(settings, space));
        let (size, all) = (write_bytes(largest), write_bytes(span));
        let most = span / largest.next_multiple_of(align);
        // A partial slot at the end of the span belongs to no stream.
        let whole = write_bytes(span / align * align);
        let why = format!("the request size {size} exceeds the aligned part of the span of {all}; lower it to {whole}");
        ensure!(most > 0, "sizes", "{why}");
        let why = format!("each gets {} of the span of {all}, less than a request of {size}", write_bytes(stretch));
        let fits = stretch >= largest;
        ensure!(fits, "streams", "the number of streams {streams} is too large: {why}; lower it to {most}");
        Ok(())
    }

    fn new(settings: &Settings, space: Space, _: &mut Rng) -> Self {
        let cursors = vec![0; settings.get("streams") as usize];
        Self { align: space.align, stretch: stretch(settings, space), cursors, turn: 0 }
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
