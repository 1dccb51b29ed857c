//! Tests of the rights of clients without TLS, on sessions. The module `tls` tests the encryption.

use std::sync::Arc;

use ssdlab_nbd::{Entry, Host, Memory, Next, Security};

use crate::peer::{ACK, Peer, choice, error, option, queries};

const STARTTLS: u32 = 5;
const TLS_REQUIRED: u32 = 5;

/// Creates a client of a host with an open export, and with a secret export if connections may be encrypted.
fn peer(security: Security) -> Peer {
    let mut entries = vec![Entry::new("open", Arc::new(Memory::new(512)))];
    if security != Security::Plain {
        entries.push(Entry { tls_only: true, ..Entry::new("secret", Arc::new(Memory::new(512))) });
    }
    let mut peer = Peer::new(Arc::new(Host::new(entries, security)));
    peer.answer_greeting(3);
    peer
}

fn secured(security: Security) -> Peer {
    let mut peer = peer(security);
    assert_eq!(peer.option_kind(STARTTLS, &[]), ACK);
    assert_eq!(peer.next, Next::StartTls);
    peer.session.tls_started();
    peer
}

#[test]
fn a_plain_server_refuses_tls_and_continues() {
    let mut peer = peer(Security::Plain);
    assert_eq!(peer.option_kind(STARTTLS, &[]), error(2));
    peer.go("open");
}

#[test]
fn tls_starts_only_once() {
    for security in [Security::Selective, Security::Forced] {
        let mut peer = secured(security);
        assert_eq!(peer.option_kind(STARTTLS, &[]), error(3));
        peer.go("secret");
    }
}

#[test]
fn a_forcing_server_refuses_all_but_tls_and_abort() {
    for number in [3, 6, 7, 8, 9, 10, 11, 77] {
        let mut peer = peer(Security::Forced);
        assert_eq!(peer.option_kind(number, &[]), error(TLS_REQUIRED), "option {number}");
        assert_eq!(peer.option_kind(2, &[]), ACK);
    }
    assert_eq!(peer(Security::Forced).send(&option(1, b"open")), Next::Close);
}

#[test]
fn a_selective_server_hides_exports_that_require_tls() {
    let mut peer = peer(Security::Selective);
    assert_eq!(peer.option(3, &[]).len(), 2, "the open export and the acknowledgement");
    for number in [6, 7] {
        assert_eq!(peer.option_kind(number, &choice("secret", &[])), error(TLS_REQUIRED));
    }
    assert_eq!(peer.option_kind(9, &queries("secret", &[])), error(TLS_REQUIRED));
    peer.go("open");
    let mut secured = secured(Security::Selective);
    assert_eq!(secured.option(3, &[]).len(), 3);
}

#[test]
fn a_selective_server_ends_a_connection_that_names_a_secret_export() {
    assert_eq!(peer(Security::Selective).send(&option(1, b"secret")), Next::Close);
    assert_eq!(secured(Security::Selective).send(&option(1, b"secret")), Next::Receive);
}

#[test]
fn negotiation_before_tls_is_discarded() {
    let mut peer = peer(Security::Selective);
    assert_eq!(peer.option_kind(8, &[]), ACK);
    assert_eq!(peer.option(10, &queries("open", &["base:allocation"])).len(), 2);
    assert_eq!(peer.option_kind(STARTTLS, &[]), ACK);
    peer.session.tls_started();
    assert_eq!(peer.option_kind(10, &queries("open", &["base:allocation"])), error(3), "structured replies are off");
}

#[test]
fn bytes_sent_before_tls_starts_end_the_connection() {
    let mut peer = peer(Security::Selective);
    let bytes = [option(STARTTLS, &[]), option(3, &[])].concat();
    assert_eq!(peer.send(&bytes), Next::Close);
}

#[test]
#[should_panic(expected = "requires TLS, but TLS is turned off")]
fn an_export_cannot_require_tls_on_a_plain_server() {
    let entry = Entry { tls_only: true, ..Entry::new("", Arc::new(Memory::new(512))) };
    Host::new(vec![entry], Security::Plain);
}
