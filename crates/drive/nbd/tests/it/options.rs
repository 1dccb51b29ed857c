//! Tests of options that do not select an export, and of their errors.

use std::sync::Arc;

use ssdlab_nbd::{Entry, Host, Memory, Next, Security};

use crate::peer::{ACK, Peer, Rep, error, option};
use crate::probe::Probe;

fn peer() -> Peer {
    Peer::greeted(Arc::new(Probe::default()))
}

#[test]
fn abort_is_acknowledged_and_ends_the_connection_whatever_its_data() {
    for data in [&b""[..], b"data", &[0; 100_000]] {
        let mut peer = peer();
        assert_eq!(peer.option_kind(2, data), ACK);
        assert_eq!(peer.next, Next::Close);
    }
}

#[test]
fn list_names_every_export_with_its_description() {
    let entries = vec![Entry::new("disk", Arc::new(Probe::default())), Entry::new("ü", Arc::new(Memory::new(512)))];
    let mut peer = Peer::new(Arc::new(Host::new(entries, Security::Plain)));
    peer.answer_greeting(3);
    let server = |data: &[u8]| Rep { option: 3, kind: 2, data: data.to_vec() };
    let second = "\0\0\0\x02ümemory; data is lost when the server exits".as_bytes();
    let ack = Rep { option: 3, kind: ACK, data: vec![] };
    assert_eq!(peer.option(3, &[]), [server(b"\0\0\0\x04diska probe"), server(second), ack]);
}

#[test]
fn data_for_an_option_without_data_is_invalid() {
    for number in [3, 5, 8, 11] {
        let mut peer = peer();
        assert_eq!(peer.option_kind(number, b"x"), error(3), "option {number}");
        assert_eq!(peer.option_kind(8, &[]), ACK, "the next option must be handled");
    }
}

#[test]
fn negotiation_continues_after_an_unknown_option() {
    for (number, data) in [(0, &b""[..]), (4, b"peek"), (12, b""), (99, &[7; 1000]), (u32::MAX, &[7; 100_000])] {
        let mut peer = peer();
        assert_eq!(peer.option_kind(number, data), error(1), "option {number}");
        assert_eq!(peer.option_kind(8, &[]), ACK);
    }
}

#[test]
fn negotiation_continues_after_an_oversized_option() {
    for number in [3, 5, 6, 7, 8, 9, 10, 11] {
        let mut peer = peer();
        let mut bytes = option(number, &vec![0; (64 << 10) + 1]);
        bytes.extend(option(8, &[]));
        for piece in bytes.chunks(1000) {
            peer.send(piece);
        }
        let refused = peer.rep();
        assert_eq!((refused.option, refused.kind), (number, error(9)));
        assert_eq!(peer.rep(), Rep { option: 8, kind: ACK, data: vec![] });
    }
    assert_eq!(peer().send(&option(1, &vec![0; 100_000])), Next::Close, "EXPORT_NAME has no reply");
}

#[test]
fn structured_replies_may_be_repeated_but_not_after_extended_headers() {
    let mut peer = peer();
    assert_eq!(peer.option_kind(8, &[]), ACK);
    assert_eq!(peer.option_kind(8, &[]), ACK);
    assert_eq!(peer.option_kind(11, &[]), ACK);
    assert_eq!(peer.option_kind(8, &[]), error(10), "extended headers required");
    assert_eq!(peer.option_kind(11, &[]), ACK);
}

#[test]
fn errors_carry_a_message() {
    let replies = peer().option(77, &[]);
    assert_eq!(String::from_utf8(replies[0].data.clone()).unwrap(), "unknown option");
}
