//! Goal: pipelined requests have the same effect on an export as on an array of bytes, in every reply layout and in
//! pieces of any size. Method: random requests.

use std::sync::Arc;

use proptest::prelude::*;
use ssdlab_nbd::{Memory, Next};

use crate::peer::{Chunk, Peer, extended, request, u32_of, u64_of};

const SIZE: usize = 256 << 10;

#[derive(Clone, Debug)]
enum Op {
    Read { df: bool },
    Write { byte: u8, fua: bool },
    Trim,
    Zeroes { no_hole: bool },
    Status { one: bool },
    Flush,
    Cache,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Simple,
    Structured,
    Extended,
}

fn ops() -> impl Strategy<Value = Vec<(Op, usize, usize)>> {
    let op = prop_oneof![
        4 => any::<bool>().prop_map(|df| Op::Read { df }),
        4 => any::<(u8, bool)>().prop_map(|(byte, fua)| Op::Write { byte, fua }),
        1 => Just(Op::Trim),
        2 => any::<bool>().prop_map(|no_hole| Op::Zeroes { no_hole }),
        1 => any::<bool>().prop_map(|one| Op::Status { one }),
        1 => Just(Op::Flush),
        1 => Just(Op::Cache),
    ];
    // Offsets and lengths are either arbitrary, or near the boundaries of pages and of the export's chunks.
    let place = prop_oneof![0..SIZE, (0..SIZE / 4096).prop_map(|page| page * 4096)];
    let bytes = prop_oneof![1..9000_usize, (1..20_usize).prop_map(|pages| pages * 4096), Just(SIZE)];
    prop::collection::vec((op, place, bytes), 1..60)
}

/// Expected reply to a request.
enum Expected {
    Done,
    Data { bytes: Vec<u8>, df: bool },
    Status { bytes: usize, one: bool },
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Combines the chunks of a reply; returns the bytes of the reply.
fn reassembled(offset: usize, bytes: usize, chunks: &[Chunk]) -> Vec<u8> {
    let mut data = vec![None; bytes];
    for chunk in chunks {
        let at = u64_of(&chunk.data[..8]) as usize - offset;
        let part = match chunk.kind {
            1 => chunk.data[8..].to_vec(),
            2 => vec![0; u32_of(&chunk.data[8..12]) as usize],
            other => panic!("chunk of type {other}"),
        };
        for (place, byte) in data[at..at + part.len()].iter_mut().zip(part) {
            assert!(place.replace(byte).is_none(), "chunks overlap");
        }
    }
    data.into_iter().map(|byte| byte.expect("chunks cover the request")).collect()
}

fn check_status(model: &[u8], offset: usize, bytes: usize, one: bool, chunk: &Chunk, shape: Shape) {
    let extents: Vec<(usize, u64)> = if shape == Shape::Extended {
        assert_eq!(chunk.kind, 6);
        chunk.data[8..].chunks(16).map(|e| (u64_of(&e[..8]) as usize, u64_of(&e[8..]))).collect()
    } else {
        assert_eq!(chunk.kind, 5);
        chunk.data[4..].chunks(8).map(|e| (u32_of(&e[..4]) as usize, u32_of(&e[4..]).into())).collect()
    };
    assert!(!extents.is_empty() && (!one || extents.len() == 1));
    let mut at = offset;
    for (length, status) in &extents {
        assert!(*length > 0);
        assert!(*status == 0 || *status == 3 && is_zero(&model[at..at + length]), "status {status} at {at}");
        at += length;
    }
    assert!(if one { at <= offset + bytes } else { at == offset + bytes });
    assert!(extents.windows(2).all(|pair| pair[0].1 != pair[1].1), "adjacent extents must differ");
}

fn run(shape: Shape, ops: &[(Op, usize, usize)], piece: usize) {
    let export = Arc::new(Memory::new(SIZE as u64));
    let mut peer = match shape {
        Shape::Simple => Peer::simple(export),
        Shape::Structured => Peer::structured(export),
        Shape::Extended => Peer::extended(export),
    };
    let mut model = vec![0; SIZE];
    let mut sent = Vec::new();
    let mut expected = Vec::new();
    let structured = shape != Shape::Simple;
    for (cookie, (op, offset, bytes)) in ops.iter().enumerate() {
        let (mut offset, mut bytes) = (*offset, (*bytes).min(SIZE - offset));
        let (command, flags, payload, reply) = match *op {
            Op::Read { df } => {
                let df = df && structured;
                let data = model[offset..offset + bytes].to_vec();
                (0, if df { 4 } else { 0 }, vec![], Expected::Data { bytes: data, df })
            }
            Op::Write { byte, fua } => {
                model[offset..offset + bytes].fill(byte);
                (1, u16::from(fua), vec![byte; bytes], Expected::Done)
            }
            Op::Trim | Op::Zeroes { .. } => {
                model[offset..offset + bytes].fill(0);
                let no_hole = matches!(op, Op::Zeroes { no_hole: true });
                let command = if matches!(op, Op::Trim) { 4 } else { 6 };
                (command, if no_hole { 2 } else { 0 }, vec![], Expected::Done)
            }
            // Only sessions with a metadata context may request the block status, which is compared with the current
            // model.
            Op::Status { one } if structured => (7, if one { 8 } else { 0 }, vec![], Expected::Status { bytes, one }),
            Op::Status { .. } | Op::Cache => (5, 0, vec![], Expected::Done),
            Op::Flush => {
                (offset, bytes) = (0, 0);
                (3, 0, vec![], Expected::Done)
            }
        };
        let cookie = cookie as u64;
        sent.extend(if shape == Shape::Extended {
            let flags = flags | if payload.is_empty() { 0 } else { 32 };
            extended(flags, command, cookie, offset as u64, bytes as u64)
        } else {
            request(flags, command, cookie, offset as u64, bytes as u32)
        });
        sent.extend(payload);
        let then = matches!(reply, Expected::Status { .. }).then(|| model.clone());
        expected.push((cookie, offset, reply, then));
    }
    for part in sent.chunks(piece) {
        assert_eq!(peer.send(part), Next::Receive);
    }
    for (cookie, offset, reply, then) in expected {
        // An empty read needs no chunk.
        if shape == Shape::Simple || shape == Shape::Structured && matches!(reply, Expected::Done) {
            assert_eq!(peer.simple_reply(), (0, cookie));
            if let Expected::Data { bytes, .. } = reply {
                assert!(peer.take(bytes.len()) == bytes, "read {cookie}");
            }
            continue;
        }
        let mut chunks = Vec::new();
        while chunks.last().is_none_or(|chunk: &Chunk| !chunk.done) {
            let extended = shape == Shape::Extended;
            chunks.push(if extended { peer.extended_chunk(offset as u64) } else { peer.chunk() });
        }
        assert!(chunks.iter().all(|chunk| chunk.cookie == cookie));
        match reply {
            Expected::Done => assert_eq!((chunks.len(), chunks[0].kind), (1, 0)),
            Expected::Data { bytes, df } => {
                assert!(!df || chunks.len() == 1 && chunks[0].kind == 1);
                assert!(reassembled(offset, bytes.len(), &chunks) == bytes, "read {cookie}");
            }
            Expected::Status { bytes, one } => {
                check_status(&then.expect("kept"), offset, bytes, one, &chunks[0], shape);
            }
        }
    }
    assert!(peer.received.is_empty());
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(150))]

    #[test]
    fn requests_change_an_export_like_an_array(
        shape in prop_oneof![Just(Shape::Simple), Just(Shape::Structured), Just(Shape::Extended)],
        ops in ops(),
        piece in prop_oneof![1..100_usize, Just(4096), Just(1 << 20)],
    ) {
        run(shape, &ops, piece);
    }
}
