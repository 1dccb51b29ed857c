//! Tests of the greeting, and of clients without fixed newstyle.

use std::sync::Arc;

use ssdlab_nbd::Next;

use crate::peer::{ACK, Peer, option};
use crate::probe::Probe;

#[test]
fn the_server_greets_with_magic_numbers_and_two_flags() {
    let mut peer = Peer::of(Arc::new(Probe::default()));
    assert_eq!(peer.take(18), b"NBDMAGICIHAVEOPT\0\x03");
    assert!(peer.received.is_empty());
    assert_eq!(peer.next, Next::Receive);
}

#[test]
fn an_unknown_client_flag_ends_the_connection() {
    for flags in [4_u32, 1 << 16 | 3, 1 << 31] {
        let mut peer = Peer::of(Arc::new(Probe::default()));
        assert_eq!(peer.answer_greeting(flags), Next::Close, "flags {flags:#x}");
        assert!(peer.received.is_empty());
    }
}

/// Returns the reply to `EXPORT_NAME`: size, flags and zeroes.
fn export_name(flags: u32, name: &[u8]) -> (Next, Vec<u8>) {
    let mut peer = Peer::of(Arc::new(Probe::default()));
    peer.answer_greeting(flags);
    let next = peer.send(&option(1, name));
    (next, peer.received)
}

#[test]
fn export_name_is_followed_by_zeroes_unless_both_sides_waive_them() {
    // Size 1 MiB; flags: has flags, flush, FUA, trim, zeroes, multiple connections, cache, fast zeroes.
    let export = [0, 0, 0, 0, 0, 0x10, 0, 0, 0x0d, 0x6d];
    for flags in [0, 1] {
        assert_eq!(export_name(flags, b"disk"), (Next::Receive, [&export[..], &[0; 124]].concat()));
    }
    for flags in [2, 3] {
        assert_eq!(export_name(flags, b"disk"), (Next::Receive, export.to_vec()));
    }
    assert_eq!(export_name(3, b""), (Next::Receive, export.to_vec()), "the empty name must select the first export");
}

#[test]
fn export_name_has_no_reply_for_errors_and_ends_the_connection() {
    for name in [&b"disc"[..], b"\xff", &[b'a'; 4097]] {
        assert_eq!(export_name(3, name), (Next::Close, vec![]));
    }
}

#[test]
fn a_client_without_fixed_newstyle_may_only_use_export_name() {
    for number in [2, 3, 5, 6, 7, 8, 9, 10, 11, 99] {
        let mut peer = Peer::of(Arc::new(Probe::default()));
        peer.answer_greeting(0);
        assert_eq!(peer.send(&option(number, &[])), Next::Close, "option {number}");
        assert!(peer.received.is_empty());
    }
}

#[test]
fn an_option_with_another_magic_number_ends_the_connection() {
    let mut peer = Peer::greeted(Arc::new(Probe::default()));
    assert_eq!(peer.send(b"IHAVEOPU\0\0\0\x03\0\0\0\0"), Next::Close);
    assert!(peer.received.is_empty());
}

#[test]
fn bytes_may_arrive_one_by_one() {
    let mut peer = Peer::of(Arc::new(Probe::default()));
    peer.take(18);
    let mut bytes = vec![0, 0, 0, 3];
    bytes.extend(option(8, &[]));
    bytes.extend(option(7, &[0; 6]));
    for byte in &bytes {
        assert_eq!(peer.send(&[*byte]), Next::Receive);
    }
    assert_eq!((peer.rep().kind, peer.rep().kind, peer.rep().kind), (ACK, 3, ACK));
    assert!(peer.received.is_empty());
}
