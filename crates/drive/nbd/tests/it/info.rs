//! Tests of the options `INFO` and `GO`.

use std::sync::Arc;

use ssdlab_nbd::{BlockSizes, Features, Memory};

use crate::peer::{ACK, Peer, Rep, choice, error, option, request};
use crate::probe::Probe;

/// Transmission flags of every export: has flags, flush, FUA, multiple connections.
const ALWAYS: u16 = 1 | 4 | 8 | 256;
/// Flags of every writable export: also write zeroes and fast zeroes.
const WRITABLE: u16 = 64 | 2048;
const TRIM: u16 = 32;
const CACHE: u16 = 1024;
const DF: u16 = 128;

fn replies(export: Probe, number: u32, requests: &[u16]) -> Vec<Vec<u8>> {
    let mut peer = Peer::greeted(Arc::new(export));
    let replies = peer.option(number, &choice("disk", requests));
    assert_eq!(replies.last(), Some(&Rep { option: number, kind: ACK, data: vec![] }));
    replies[..replies.len() - 1]
        .iter()
        .map(|reply| {
            assert_eq!((reply.option, reply.kind), (number, 3));
            reply.data.clone()
        })
        .collect()
}

fn export_info(flags: u16) -> Vec<u8> {
    [&[0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0][..], &flags.to_be_bytes()].concat()
}

#[test]
fn size_and_flags_are_always_sent_and_the_rest_on_request() {
    let sizes = BlockSizes { minimum: 512, preferred: 8192, maximum: 1 << 20 };
    let probe = || Probe::new(sizes, Features::default());
    let export = export_info(ALWAYS | WRITABLE | TRIM | CACHE);
    let name = b"\0\x01disk".to_vec();
    let description = b"\0\x02a probe".to_vec();
    let block_size = [0, 3, 0, 0, 2, 0, 0, 0, 0x20, 0, 0, 0x10, 0, 0].to_vec();
    for number in [6, 7] {
        assert_eq!(replies(probe(), number, &[]), vec![export.clone()]);
        assert_eq!(replies(probe(), number, &[3]), [export.clone(), block_size.clone()]);
        let all = [export.clone(), name.clone(), description.clone(), block_size.clone()];
        assert_eq!(replies(probe(), number, &[3, 2, 1, 0, 77, 3]), all, "unknown information requests must be ignored");
    }
}

#[test]
fn flags_match_the_capabilities_of_the_export() {
    let cases = [
        (Features { read_only: true, ..Features::default() }, ALWAYS | 2 | CACHE),
        (Features { rotational: true, ..Features::default() }, ALWAYS | WRITABLE | TRIM | CACHE | 16),
        (Features { trim: false, cache: false, ..Features::default() }, ALWAYS | WRITABLE),
    ];
    for (features, flags) in cases {
        let probe = Probe::new(BlockSizes::default(), features);
        assert_eq!(replies(probe, 6, &[]), [export_info(flags)], "{features:?}");
    }
}

#[test]
fn df_is_offered_with_structured_replies_only() {
    for number in [8, 11] {
        let mut peer = Peer::greeted(Arc::new(Probe::default()));
        peer.option_kind(number, &[]);
        let flags = ALWAYS | WRITABLE | TRIM | CACHE | DF;
        assert_eq!(peer.option(6, &choice("", &[]))[0].data, export_info(flags));
    }
}

#[test]
fn info_continues_negotiation_and_go_starts_transmission() {
    let mut peer = Peer::of(Arc::new(Probe::default()));
    peer.answer_greeting(1);
    assert_eq!(peer.option(6, &choice("disk", &[])).len(), 2);
    assert!(peer.session.is_negotiating());
    assert_eq!(peer.option(7, &choice("disk", &[])).len(), 2, "no data may follow the acknowledgement");
    peer.send(&request(0, 3, 1, 0, 0));
    assert_eq!(peer.simple_reply(), (0, 1));
}

#[test]
fn an_unknown_export_is_refused_by_name() {
    for number in [6, 7] {
        let mut peer = Peer::greeted(Arc::new(Probe::default()));
        let replies = peer.option(number, &choice("disc", &[3]));
        assert_eq!((replies.len(), replies[0].kind), (1, error(6)));
        assert_eq!(replies[0].data, b"export \"disc\" does not exist");
        peer.go("disk");
    }
}

#[test]
fn inconsistent_lengths_are_invalid() {
    let long = choice(&"a".repeat(4097), &[]);
    let cases: [&[u8]; 8] = [
        b"",
        b"\0\0\0",
        b"\0\0\0\x05disk\0\0",
        b"\0\0\0\x04disk\0",
        b"\0\0\0\x04disk\0\x01",
        b"\0\0\0\x04disk\0\0\0\x03",
        b"\0\0\0\x01\xff\0\0",
        &long,
    ];
    for number in [6, 7] {
        for data in cases {
            let mut peer = Peer::greeted(Arc::new(Probe::default()));
            assert_eq!(peer.option_kind(number, data), error(3), "{data:?}");
            peer.go("disk");
        }
    }
}

#[test]
fn an_export_with_an_empty_name_precedes_the_first() {
    use ssdlab_nbd::{Entry, Host, Security};
    let entries = vec![Entry::new("first", Arc::new(Memory::new(512))), Entry::new("", Arc::new(Memory::new(1024)))];
    let mut peer = Peer::new(Arc::new(Host::new(entries, Security::Plain)));
    peer.answer_greeting(3);
    peer.send(&option(1, b""));
    assert_eq!(peer.take(8), [0, 0, 0, 0, 0, 0, 4, 0]);
}
