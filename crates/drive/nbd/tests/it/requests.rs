//! Tests of all commands with simple replies: their calls of the export, and their errors.

use std::sync::Arc;

use ssdlab_nbd::{BlockSizes, Errno, Features, Memory, Next};

use crate::peer::{Peer, request};
use crate::probe::{Probe, SIZE};

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISC: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const ZEROES: u16 = 6;
const STATUS: u16 = 7;

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const FAST: u16 = 16;

const EPERM: u32 = 1;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const ENOTSUP: u32 = 95;

const COOKIE: u64 = 0x0102_0304_0506_0708;

/// Sends a request, with a payload if it is a write; returns its error and the calls of the export.
fn reply_of(probe: Probe, flags: u16, command: u16, offset: u64, bytes: u32) -> (u32, Vec<String>) {
    let probe = Arc::new(probe);
    let mut peer = Peer::simple(probe.clone());
    let mut sent = request(flags, command, COOKIE, offset, bytes);
    if command == WRITE {
        sent.extend(vec![0xab; bytes as usize]);
    }
    sent.extend(request(0, FLUSH, 9, 0, 0));
    peer.send(&sent);
    let (error, cookie) = peer.simple_reply();
    assert_eq!(cookie, COOKIE);
    if command == READ && error == 0 {
        peer.take(bytes as usize);
    }
    assert_eq!(
        peer.simple_reply(),
        (probe.fails.lock().unwrap().map_or(0, |errno| errno as u32), 9),
        "reply to the flush"
    );
    assert!(peer.received.is_empty());
    let mut calls = probe.calls();
    assert_eq!(calls.pop().unwrap(), "flush");
    (error, calls)
}

fn default_reply(flags: u16, command: u16, offset: u64, bytes: u32) -> (u32, Vec<String>) {
    reply_of(Probe::default(), flags, command, offset, bytes)
}

#[test]
fn every_command_reaches_the_export_with_its_flags() {
    let cases = [
        (0, READ, "read 4096+512"),
        (FUA, READ, "read 4096+512"),
        (0, WRITE, "write 4096+512"),
        (FUA, WRITE, "write 4096+512 fua"),
        (0, TRIM, "trim 4096+512"),
        (FUA, TRIM, "trim 4096+512 fua"),
        (0, CACHE, "cache 4096+512"),
        (FUA, CACHE, "cache 4096+512"),
        (0, ZEROES, "zero 4096+512"),
        (FUA, ZEROES, "zero 4096+512 fua"),
        (NO_HOLE, ZEROES, "zero 4096+512 no_hole"),
        (FAST, ZEROES, "zero 4096+512 fast"),
    ];
    for (flags, command, call) in cases {
        assert_eq!(default_reply(flags, command, 4096, 512), (0, vec![call.to_owned()]));
    }
    assert_eq!(default_reply(0, FLUSH, 0, 0), (0, vec!["flush".to_owned()]));
    assert_eq!(default_reply(FUA, FLUSH, 0, 0), (0, vec!["flush".to_owned()]));
    assert_eq!(default_reply(NO_HOLE | FAST, ZEROES, 0, 512).0, ENOTSUP, "the error comes from the export");
}

#[test]
fn only_bytes_within_the_export_can_be_used() {
    for (command, errno) in [(READ, EINVAL), (WRITE, ENOSPC), (TRIM, EINVAL), (CACHE, EINVAL), (ZEROES, ENOSPC)] {
        assert_eq!(default_reply(0, command, SIZE - 1, 1).0, 0, "command {command}");
        for (offset, bytes) in [(SIZE - 1, 2), (SIZE, 1), (u64::MAX, 1), (u64::MAX - 511, 512), (1 << 63, 4096)] {
            let reply = default_reply(0, command, offset, bytes);
            assert_eq!(reply, (errno, vec![]), "command {command} at {offset}+{bytes}");
        }
    }
}

#[test]
fn unaligned_requests_are_invalid() {
    let probe = || Probe::new(BlockSizes { minimum: 4096, ..BlockSizes::default() }, Features::default());
    for command in [READ, WRITE, TRIM, CACHE, ZEROES] {
        for (offset, bytes) in [(512, 4096), (0, 512), (4095, 4097)] {
            assert_eq!(reply_of(probe(), 0, command, offset, bytes), (EINVAL, vec![]), "{command} {offset}+{bytes}");
        }
        assert_eq!(reply_of(probe(), 0, command, 8192, 4096).0, 0);
    }
}

#[test]
fn requests_with_data_beyond_the_maximum_size_are_invalid() {
    let probe = || Probe::new(BlockSizes { maximum: 8192, ..BlockSizes::default() }, Features::default());
    for command in [READ, WRITE] {
        assert_eq!(reply_of(probe(), 0, command, 0, 8193), (EINVAL, vec![]));
        assert_eq!(reply_of(probe(), 0, command, 0, 8192).0, 0);
    }
    for command in [TRIM, CACHE, ZEROES] {
        assert_eq!(reply_of(probe(), 0, command, 0, 1 << 20).0, 0);
    }
}

#[test]
fn an_oversized_write_is_skipped() {
    let mut peer = Peer::simple(Arc::new(Probe::default()));
    peer.send(&request(0, WRITE, 1, 0, 100 << 20));
    assert_eq!(peer.simple_reply(), (EINVAL, 1));
    for _ in 0..100 {
        assert_eq!(peer.send(&vec![0x25; 1 << 20]), Next::Receive);
    }
    peer.send(&request(0, FLUSH, 2, 0, 0));
    assert_eq!(peer.simple_reply(), (0, 2));
}

#[test]
fn unknown_commands_and_flags_are_invalid() {
    assert_eq!(default_reply(0, 8, 0, 0), (EINVAL, vec![]), "RESIZE is not supported");
    assert_eq!(default_reply(0, 0xffff, 0, 512), (EINVAL, vec![]));
    assert_eq!(default_reply(0, STATUS, 0, 512), (EINVAL, vec![]), "no context can be selected");
    for command in [READ, WRITE, FLUSH, TRIM, CACHE, ZEROES] {
        let known = FUA | if command == ZEROES { NO_HOLE | FAST } else { 0 };
        for flag in (0..16).map(|bit| 1 << bit).filter(|flag| flag & known == 0) {
            let bytes = if command == FLUSH { 0 } else { 512 };
            assert_eq!(default_reply(flag, command, 0, bytes), (EINVAL, vec![]), "command {command} flag {flag:#x}");
        }
    }
}

#[test]
fn commands_that_are_not_offered_are_invalid() {
    let probe = || Probe::new(BlockSizes::default(), Features { trim: false, cache: false, ..Features::default() });
    for command in [TRIM, CACHE] {
        assert_eq!(reply_of(probe(), 0, command, 0, 512), (EINVAL, vec![]));
    }
}

#[test]
fn a_read_only_export_cannot_be_written() {
    let probe = || Probe::new(BlockSizes::default(), Features { read_only: true, ..Features::default() });
    for command in [WRITE, TRIM, ZEROES] {
        assert_eq!(reply_of(probe(), 0, command, 0, 512), (EPERM, vec![]));
    }
    for command in [READ, CACHE] {
        assert_eq!(reply_of(probe(), 0, command, 0, 512).0, 0);
    }
}

#[test]
fn a_flush_has_no_range() {
    assert_eq!(default_reply(0, FLUSH, 512, 0), (EINVAL, vec![]));
    assert_eq!(default_reply(0, FLUSH, 0, 512), (EINVAL, vec![]));
}

#[test]
fn empty_requests_succeed_and_do_nothing() {
    for command in [READ, WRITE, TRIM, CACHE, ZEROES] {
        assert_eq!(default_reply(0, command, 512, 0), (0, vec![]), "command {command}");
    }
}

#[test]
fn errors_of_the_export_keep_their_numbers() {
    let all = [
        (Errno::Perm, 1),
        (Errno::Io, 5),
        (Errno::NoMem, 12),
        (Errno::Inval, 22),
        (Errno::NoSpc, 28),
        (Errno::Overflow, 75),
        (Errno::NotSup, 95),
        (Errno::Shutdown, 108),
    ];
    for (errno, number) in all {
        for command in [READ, WRITE, TRIM, CACHE, ZEROES] {
            let probe = Probe::default();
            *probe.fails.lock().unwrap() = Some(errno);
            assert_eq!(reply_of(probe, 0, command, 0, 512).0, number, "command {command}");
        }
    }
}

#[test]
fn reads_return_written_data() {
    let mut peer = Peer::simple(Arc::new(Probe::default()));
    let data: Vec<u8> = (0..70_000_u32).map(|n| n as u8 ^ (n >> 8) as u8).collect();
    peer.send(&[&request(0, WRITE, 1, 65_000, 70_000)[..], &data].concat());
    assert_eq!(peer.simple_reply(), (0, 1));
    peer.send(&request(0, READ, 2, 64_999, 70_002));
    assert_eq!(peer.simple_reply(), (0, 2));
    assert_eq!(peer.take(70_002), [&[0], &data[..], &[0]].concat());
    peer.send(&request(0, ZEROES, 3, 65_001, 2));
    peer.send(&request(0, READ, 4, 65_000, 4));
    assert_eq!((peer.simple_reply(), peer.simple_reply()), ((0, 3), (0, 4)));
    assert_eq!(peer.take(4), [data[0], 0, 0, data[3]]);
}

#[test]
fn a_write_larger_than_the_first_buffer_arrives_whole_in_any_pieces() {
    let data: Vec<u8> = (0..9_u32 << 20).map(|n| (n / 3) as u8).collect();
    for piece in [30_000, 1 << 20, 10 << 20] {
        let mut peer = Peer::simple(Arc::new(Memory::new(16 << 20)));
        let write = |cookie| [request(0, WRITE, cookie, 5, data.len() as u32), data.clone()].concat();
        for part in [write(1), request(0, FLUSH, 2, 0, 0), write(3), request(0, FLUSH, 4, 0, 0)].concat().chunks(piece)
        {
            assert_eq!(peer.send(part), Next::Receive);
        }
        for cookie in 1..5 {
            assert_eq!(peer.simple_reply(), (0, cookie));
        }
        peer.send(&request(0, READ, 5, 5, data.len() as u32));
        assert_eq!(peer.simple_reply(), (0, 5));
        assert!(peer.take(data.len()) == data);
    }
}

#[test]
fn requests_before_a_disconnection_are_answered() {
    let mut peer = Peer::simple(Arc::new(Probe::default()));
    let bytes = [request(0, FLUSH, 1, 0, 0), request(0, DISC, 2, 0, 0), request(0, FLUSH, 3, 0, 0)].concat();
    assert_eq!(peer.send(&bytes), Next::Close);
    assert_eq!(peer.simple_reply(), (0, 1));
    assert!(peer.received.is_empty());
}

#[test]
fn another_magic_number_ends_the_connection() {
    for magic in [[0x25, 0x60, 0x95, 0x14], [0x21, 0xe4, 0x1c, 0x71]] {
        let mut peer = Peer::simple(Arc::new(Probe::default()));
        let mut bytes = request(0, FLUSH, 1, 0, 0);
        bytes[..4].copy_from_slice(&magic);
        assert_eq!(peer.send(&bytes), Next::Close);
        assert!(peer.received.is_empty());
    }
}
