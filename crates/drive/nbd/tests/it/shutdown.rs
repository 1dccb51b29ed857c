//! Tests of the shutdown: replies of sessions, and the end of the server.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use ssdlab_nbd::{Ending, Entry, Errno, Host, Memory, Next, Options, Security, ServerError};

use crate::peer::{ACK, Peer, choice, error, option, request};
use crate::probe::Probe;
use crate::server::{Running, connect};

const ESHUTDOWN: u32 = 108;

fn stopping(enter: bool) -> Peer {
    let host = Arc::new(Host::new(vec![Entry::new("disk", Arc::new(Memory::new(4096)))], Security::Plain));
    let mut peer = Peer::new(host.clone());
    peer.answer_greeting(3);
    if enter {
        peer.go("disk");
    }
    host.stop();
    peer
}

#[test]
fn all_options_but_abort_are_refused() {
    for number in [3, 5, 6, 7, 8, 9, 10, 11, 77] {
        let mut peer = stopping(false);
        assert_eq!(peer.option_kind(number, &choice("disk", &[])), error(7), "option {number}");
        assert_eq!(peer.option_kind(2, &[]), ACK);
    }
    assert_eq!(stopping(false).send(&option(1, b"disk")), Next::Close);
}

#[test]
fn refused_requests_keep_the_stream_in_sync() {
    let mut peer = stopping(true);
    peer.send(&[request(0, 1, 1, 0, 512), vec![0; 512], request(0, 3, 2, 0, 0)].concat());
    assert_eq!((peer.simple_reply(), peer.simple_reply()), ((ESHUTDOWN, 1), (ESHUTDOWN, 2)));
    assert_eq!(peer.send(&request(0, 2, 3, 0, 0)), Next::Close);
}

#[test]
fn a_stopped_server_answers_flushes_and_ends() {
    let probe = Arc::new(Probe::default());
    let server = Running::new(probe.clone(), Options::default());
    let mut client = connect(&server.path);
    client.write_all(&[request(0, 1, 1, 0, 512), vec![1; 512]].concat()).unwrap();
    let mut reply = [0; 16];
    client.read_exact(&mut reply).unwrap();
    server.handle.stop();
    client.write_all(&request(0, 3, 2, 0, 0)).unwrap();
    client.read_exact(&mut reply).unwrap();
    assert_eq!(reply[4..8], ESHUTDOWN.to_be_bytes());
    assert_eq!(client.read(&mut reply).unwrap(), 0, "the connection must end after the reply");
    let path = server.path.clone();
    assert_eq!(server.ended().unwrap(), Ending::Graceful);
    assert_eq!(probe.calls(), ["write 0+512", "flush"]);
    assert!(!path.exists(), "the socket must be removed");
}

#[test]
fn a_failed_final_flush_is_an_error() {
    let probe = Arc::new(Probe::default());
    *probe.fails.lock().unwrap() = Some(Errno::Io);
    let server = Running::new(probe, Options::default());
    server.handle.stop();
    let error = server.ended().unwrap_err();
    assert!(matches!(&error, ServerError::Flush { name, errno: Errno::Io } if name == "disk"));
    assert!(error.to_string().contains("could not be flushed"));
}

#[test]
fn a_second_stop_ends_at_once_without_flushing() {
    let probe = Arc::new(Probe::default());
    let server = Running::new(probe.clone(), Options { stop: Duration::from_secs(3600), ..Options::default() });
    // The client reads no replies, so a graceful stop would wait for an hour.
    let mut client = connect(&server.path);
    client.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let reads = request(0, 0, 1, 0, 1 << 20).repeat(64);
    while client.write(&reads).is_ok() {}
    server.handle.stop();
    server.handle.stop();
    assert_eq!(server.ended().unwrap(), Ending::AtOnce);
    assert!(!probe.calls().contains(&"flush".to_owned()));
}

#[test]
fn unread_replies_delay_a_graceful_stop_only_up_to_the_limit() {
    let server =
        Running::new(Arc::new(Probe::default()), Options { stop: Duration::from_millis(50), ..Options::default() });
    let mut client = connect(&server.path);
    client.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let reads = request(0, 0, 1, 0, 1 << 20).repeat(64);
    let blocked = std::iter::repeat_with(|| client.write(&reads)).find_map(Result::err).unwrap();
    assert_eq!(blocked.kind(), ErrorKind::WouldBlock);
    let handle = server.handle.clone();
    handle.stop();
    assert_eq!((server.ended().unwrap(), handle.cut_off()), (Ending::Graceful, 1));
}
