//! Function that the session fuzzer calls for each input. Tests also call it, with inputs that are mutated using a
//! fixed seed.

use std::sync::Arc;

use crate::export::{BlockSizes, Features};
use crate::protocol::{OPTION_MAGIC, option};
use crate::session::{Entry, Host, Next, Security, Session};
use crate::{Export, Memory};

/// Size of the fuzzed export in bytes.
const SIZE: u64 = 1 << 20;

/// Largest read or write of the fuzzed export in bytes.
const MAXIMUM: u32 = 64 << 10;

/// Feeds bytes to a session as if a client had sent them. The first byte selects the state of the negotiation, the
/// export, and the sizes of the pieces in which the bytes arrive. Panics if the session buffers more output than one
/// batch plus the largest read.
pub fn body(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let sizes =
        BlockSizes { minimum: if choice & 8 == 0 { 1 } else { 512 }, maximum: MAXIMUM, ..BlockSizes::default() };
    let features = Features { read_only: choice & 16 != 0, ..Features::default() };
    let export: Arc<dyn Export> = Arc::new(Memory::new(SIZE).with_block_sizes(sizes).with_features(features));
    let security = if choice & 32 == 0 { Security::Plain } else { Security::Selective };
    let mut session = Session::new(Arc::new(Host::new(vec![Entry::new("", export)], security)));
    let step = if choice & 64 == 0 { 7 } else { 4096 };
    for piece in prelude(choice & 7).chunks(4096).chain(data.chunks(step)) {
        if !feed(&mut session, piece) {
            return;
        }
    }
}

/// Returns the messages of a negotiation up to the given phase.
fn prelude(phase: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut option = |number: u32, data: &[u8]| {
        bytes.extend(OPTION_MAGIC.to_be_bytes());
        bytes.extend(number.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
    };
    match phase {
        0 => return Vec::new(),
        3 => option(option::STRUCTURED_REPLY, &[]),
        4 => option(option::EXTENDED_HEADERS, &[]),
        _ => {}
    }
    if phase >= 3 {
        option(option::SET_META_CONTEXT, b"\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation");
    }
    match phase {
        1 | 5.. => {}
        2 => option(option::EXPORT_NAME, &[]),
        _ => option(option::GO, &[0; 6]),
    }
    [&[0, 0, 0, 3], &bytes[..]].concat()
}

/// Passes bytes to the session; returns false if the session closes the connection.
fn feed(session: &mut Session, mut piece: &[u8]) -> bool {
    while !piece.is_empty() {
        let space = session.space();
        let bytes = space.len().min(piece.len());
        space[..bytes].copy_from_slice(&piece[..bytes]);
        session.received(bytes);
        piece = &piece[bytes..];
        loop {
            let next = session.advance();
            let output = session.output();
            let bytes = output.bytes().len();
            assert!(bytes < (128 << 10) + MAXIMUM as usize, "the session buffers too much output: {bytes} bytes");
            output.clear();
            match next {
                Next::Continue | Next::Room(_) => {}
                Next::Receive => break,
                Next::StartTls => session.tls_started(),
                Next::Close => return false,
            }
        }
    }
    true
}
