//! Tests of structured replies: data, holes, errors with messages, block status.

use std::sync::Arc;

use ssdlab_nbd::{BlockSizes, Errno, Extent, Features};

use crate::peer::{Chunk, Peer, request, u32_of, u64_of};
use crate::probe::Probe;

const READ: u16 = 0;
const WRITE: u16 = 1;
const STATUS: u16 = 7;
const DF: u16 = 4;
const REQ_ONE: u16 = 8;
const EINVAL: u32 = 22;
const EOVERFLOW: u32 = 75;

fn written(ranges: &[(u64, u32)]) -> Peer {
    let mut peer = Peer::structured(Arc::new(Probe::default()));
    for (offset, bytes) in ranges {
        peer.send(&[request(0, WRITE, 7, *offset, *bytes), vec![0xab; *bytes as usize]].concat());
        assert_eq!(peer.simple_reply(), (0, 7), "only reads must be answered by chunks");
    }
    peer
}

/// Reads a range; returns the chunks of the reply: offset, length, and true for a hole.
fn pieces(peer: &mut Peer, flags: u16, offset: u64, bytes: u32) -> Vec<(u64, usize, bool)> {
    peer.send(&request(flags, READ, 8, offset, bytes));
    let mut pieces = Vec::new();
    loop {
        let Chunk { done, kind, cookie, data } = peer.chunk();
        assert_eq!(cookie, 8);
        let at = u64_of(&data[..8]);
        pieces.push(match kind {
            1 => (at, data.len() - 8, false),
            2 => (at, u32_of(&data[8..12]) as usize, true),
            other => panic!("chunk of type {other}"),
        });
        if done {
            assert!(peer.received.is_empty());
            return pieces;
        }
    }
}

#[test]
fn data_is_sent_in_one_chunk_with_its_offset() {
    let mut peer = written(&[(512, 1024)]);
    peer.send(&request(0, READ, 8, 500, 1024));
    let chunk = peer.chunk();
    assert_eq!((chunk.done, chunk.kind, chunk.cookie), (true, 1, 8));
    assert_eq!(chunk.data, [&500_u64.to_be_bytes()[..], &[0; 12], &[0xab; 1012]].concat());
}

#[test]
fn zeroes_are_sent_as_holes_of_whole_pages() {
    let mut peer = written(&[(4096, 4096), (16_384, 1)]);
    assert_eq!(pieces(&mut peer, 0, 0, 4096), [(0, 4096, true)]);
    assert_eq!(
        pieces(&mut peer, 0, 0, 20_480),
        [(0, 4096, true), (4096, 4096, false), (8192, 8192, true), (16_384, 4096, false)]
    );
    assert_eq!(pieces(&mut peer, 0, 100, 4000), [(100, 4000, false)], "the range has no whole page to omit");
    assert_eq!(pieces(&mut peer, 0, 8000, 8400), [(8000, 192, false), (8192, 8192, true), (16_384, 16, false)]);
}

#[test]
fn df_sends_zeroes_in_one_chunk() {
    let mut peer = written(&[(4096, 4096)]);
    assert_eq!(pieces(&mut peer, DF, 0, 65_536), [(0, 65_536, false)]);
}

#[test]
fn df_on_an_oversized_read_is_an_overflow() {
    let sizes = BlockSizes { maximum: 65_536, ..BlockSizes::default() };
    let mut peer = Peer::structured(Arc::new(Probe::new(sizes, Features::default())));
    for (flags, errno) in [(DF, EOVERFLOW), (0, EINVAL)] {
        peer.send(&request(flags, READ, 8, 0, 65_537));
        assert_eq!(peer.chunk().error(), (errno, "the request exceeds the maximum block size".to_owned()));
    }
    assert_eq!(pieces(&mut peer, DF, 0, 65_536).len(), 1);
}

#[test]
fn errors_are_chunks_with_messages() {
    let cases = [
        (0, READ, 1 << 20, 512, "the range exceeds the export"),
        (2, READ, 0, 512, "unsupported flag for this command"),
        (0, 8, 0, 0, "unsupported command"),
        (0, 3, 1, 0, "a flush must have offset and length 0"),
        (0, STATUS, 0, 0, "the range is empty"),
        (0, STATUS, 1 << 20, 1, "the range exceeds the export"),
        (DF, STATUS, 0, 1, "unsupported flag for this command"),
    ];
    for (flags, command, offset, bytes, words) in cases {
        let mut peer = Peer::structured(Arc::new(Probe::default()));
        peer.send(&request(flags, command, 5, offset, bytes));
        let chunk = peer.chunk();
        assert_eq!((chunk.cookie, chunk.error()), (5, (EINVAL, words.to_owned())));
        assert!(peer.received.is_empty(), "an error must have no data");
    }
    let probe = Probe::default();
    *probe.fails.lock().unwrap() = Some(Errno::Io);
    let mut peer = Peer::structured(Arc::new(probe));
    for command in [READ, STATUS] {
        peer.send(&request(0, command, 5, 0, 512));
        assert_eq!(peer.chunk().error(), (5, String::new()));
    }
}

#[test]
fn an_empty_read_has_an_empty_reply() {
    let mut peer = written(&[]);
    peer.send(&request(0, READ, 8, 0, 0));
    assert_eq!(peer.chunk(), Chunk { done: true, kind: 0, cookie: 8, data: vec![] });
}

fn extent(bytes: u64, hole: bool, zero: bool) -> Extent {
    Extent { bytes, hole, zero }
}

/// Requests the block status; returns the lengths and flags of the extents in the reply.
fn status(probe: Probe, flags: u16, offset: u64, bytes: u32) -> Vec<(u32, u32)> {
    let mut peer = Peer::structured(Arc::new(probe));
    peer.send(&request(flags, STATUS, 6, offset, bytes));
    let chunk = peer.chunk();
    assert_eq!((chunk.done, chunk.kind, chunk.cookie), (true, 5, 6));
    assert_eq!(chunk.data[..4], [0, 0, 0, 1], "the chunk must belong to the selected context");
    chunk.data[4..].chunks(8).map(|extent| (u32_of(&extent[..4]), u32_of(&extent[4..]))).collect()
}

#[test]
fn block_status_reports_runs_of_equal_status() {
    let extents = || {
        let [data, hole, zero] = [(false, false), (true, true), (false, true)];
        [(1000, data), (24, data), (4096, hole), (512, zero), (9000, data)].map(|(n, (h, z))| extent(n, h, z)).to_vec()
    };
    let probe = || Probe::default().with_extents(extents());
    assert_eq!(status(probe(), 0, 0, 8192), [(1024, 0), (4096, 3), (512, 2), (2560, 0)]);
    assert_eq!(status(probe(), 0, 1020, 5), [(4, 0), (1, 3)]);
    assert_eq!(status(probe(), REQ_ONE, 0, 8192), [(1024, 0)]);
    assert_eq!(status(probe(), REQ_ONE, 1024, 100), [(100, 3)]);
    assert_eq!(status(probe(), 1, 1024, 100), [(100, 3)], "FUA must be allowed for every command");
}

#[test]
fn the_extents_of_a_block_status_are_limited() {
    let probe = Probe::default().with_extents((0..10_000).map(|n| extent(16, n % 2 == 0, false)).collect());
    let extents = status(probe, 0, 0, 160_000);
    assert_eq!(extents.len(), 4096);
    assert!(extents.iter().all(|(bytes, _)| *bytes == 16));
}
