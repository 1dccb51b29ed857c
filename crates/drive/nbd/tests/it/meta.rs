//! Tests of listing and selecting metadata contexts.

use std::sync::Arc;

use ssdlab_nbd::{Entry, Host, Memory, Security};

use crate::peer::{ACK, Peer, Rep, error, queries, request};
use crate::probe::Probe;

const LIST: u32 = 9;
const SET: u32 = 10;
const CONTEXT: &str = "base:allocation";

fn peer() -> Peer {
    let mut peer = Peer::greeted(Arc::new(Probe::default()));
    assert_eq!(peer.option_kind(8, &[]), ACK);
    peer
}

fn context(option: u32, id: u8) -> Vec<Rep> {
    let data = [&[0, 0, 0, id], CONTEXT.as_bytes()].concat();
    vec![Rep { option, kind: 4, data }, Rep { option, kind: ACK, data: vec![] }]
}

fn nothing(option: u32) -> Vec<Rep> {
    vec![Rep { option, kind: ACK, data: vec![] }]
}

#[test]
fn listing_finds_the_context_without_query_by_namespace_and_by_name() {
    let found: [&[&str]; 4] = [&[], &["base:"], &[CONTEXT], &["x-other:", "base:"]];
    for asked in found {
        assert_eq!(peer().option(LIST, &queries("disk", asked)), context(LIST, 0), "{asked:?}");
    }
    let unknown: [&[&str]; 3] = [&["x-other:"], &["base:dirty"], &["qemu:dirty-bitmap:a", ""]];
    for asked in unknown {
        assert_eq!(peer().option(LIST, &queries("disk", asked)), nothing(LIST), "{asked:?}");
    }
}

#[test]
fn listing_needs_no_structured_replies_but_selecting_does() {
    let mut peer = Peer::greeted(Arc::new(Probe::default()));
    assert_eq!(peer.option(LIST, &queries("", &[])), context(LIST, 0));
    assert_eq!(peer.option_kind(SET, &queries("", &[CONTEXT])), error(3));
}

#[test]
fn selecting_requires_the_full_name() {
    assert_eq!(peer().option(SET, &queries("disk", &["x-other:a", CONTEXT])), context(SET, 1));
    let unknown: [&[&str]; 3] = [&[], &["base:"], &["base:dirty", "x-other:"]];
    for asked in unknown {
        assert_eq!(peer().option(SET, &queries("disk", asked)), nothing(SET), "{asked:?}");
    }
}

#[test]
fn an_unknown_export_has_no_contexts() {
    for number in [LIST, SET] {
        assert_eq!(peer().option_kind(number, &queries("disc", &[])), error(6));
    }
}

#[test]
fn inconsistent_lengths_are_invalid() {
    let good = queries("disk", &[CONTEXT]);
    let mut cases: Vec<Vec<u8>> = (0..good.len()).map(|end| good[..end].to_vec()).collect();
    cases.push([&good[..], b"x"].concat());
    cases.push(b"\0\0\0\x04disk\xff\xff\xff\xff".to_vec());
    for number in [LIST, SET] {
        for data in &cases {
            assert_eq!(peer().option_kind(number, data), error(3), "{data:?}");
        }
    }
}

/// Returns the error of a block status request after the options `options`.
fn block_status_after(options: &[(u32, Vec<u8>)], host: Host, export: &str) -> u16 {
    let mut peer = Peer::new(Arc::new(host));
    peer.answer_greeting(3);
    for (number, data) in options {
        peer.option(*number, data);
    }
    peer.go(export);
    peer.send(&request(0, 7, 1, 0, 512));
    peer.chunk().kind
}

#[test]
fn the_last_selection_for_the_chosen_export_counts() {
    let host = || {
        let entries = ["disk", "other"].map(|name| Entry::new(name, Arc::new(Memory::new(4096))));
        Host::new(entries.to_vec(), Security::Plain)
    };
    let (status, failed) = (5, 0x8001);
    let structured = (8, vec![]);
    let select = |name: &str, asked: &[&str]| (SET, queries(name, asked));
    let cases = [
        (vec![structured.clone(), select("disk", &[CONTEXT])], "disk", status),
        (vec![structured.clone(), select("", &[CONTEXT])], "disk", status),
        (vec![structured.clone(), select("disk", &[CONTEXT])], "other", failed),
        (vec![structured.clone(), select("disk", &[CONTEXT]), select("disk", &[])], "disk", failed),
        (vec![structured.clone(), select("disk", &[CONTEXT]), select("disc", &[CONTEXT])], "disk", failed),
        (vec![structured.clone(), select("disk", &[CONTEXT]), (SET, vec![0; 3])], "disk", failed),
        (vec![structured, (LIST, queries("disk", &[CONTEXT]))], "disk", failed),
    ];
    for (options, export, kind) in cases {
        assert_eq!(block_status_after(&options, host(), export), kind, "{options:?} {export}");
    }
}
