//! Runs the fuzzer's body on seeded mutations of valid conversations; fast enough for every test run.
//!
//! A failure prints its seed; `fuzz/` runs the same body for longer.

use ssdlab_core::Rng;
use ssdlab_nbd::fuzz;

use crate::peer::{choice, extended, option, queries, request};

/// Valid conversations; the first byte selects phase, export and pieces, as in the fuzzer.
fn samples() -> Vec<Vec<u8>> {
    let negotiation = [
        vec![0, 0, 0, 3],
        option(3, &[]),
        option(9, &queries("", &["base:"])),
        option(8, &[]),
        option(10, &queries("", &["base:allocation"])),
        option(6, &choice("", &[1, 2, 3])),
        option(5, &[]),
        option(7, &choice("", &[3])),
    ]
    .concat();
    let compact = [
        [request(1, 1, 1, 512, 4096), vec![0x25; 4096]].concat(),
        request(0, 0, 2, 0, 65_536),
        request(4, 0, 3, 0, 4096),
        request(1, 4, 4, 512, 512),
        request(18, 6, 5, 0, 1 << 20),
        request(8, 7, 6, 0, 1 << 20),
        request(0, 5, 7, 0, 4096),
        request(0, 3, 8, 0, 0),
        request(0, 2, 9, 0, 0),
    ]
    .concat();
    let wide = [
        [extended(33, 1, 1, 512, 4096), vec![0x21; 4096]].concat(),
        extended(0, 0, 2, 0, 65_536),
        [extended(32, 7, 3, 0, 100), vec![0; 100]].concat(),
        extended(0, 7, 4, 0, 1 << 20),
        extended(0, 6, 5, 0, 1 << 20),
        extended(0, 3, 6, 0, 0),
    ]
    .concat();
    let phases = [(0, &negotiation), (1, &compact), (2, &compact), (3, &compact), (4, &wide)];
    let choices = [0, 8, 16, 32, 64, 8 | 64];
    let sample = |(phase, bytes): &(u8, &Vec<u8>), choice: u8| [&[phase | choice], &bytes[..]].concat();
    phases.iter().flat_map(|phase| choices.map(|choice| sample(phase, choice))).collect()
}

/// Values that are likely to break a server.
const TOKENS: [&[u8]; 8] = [
    b"",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\0\0\x10\0",
    b"IHAVEOPT",
    b"\x25\x60\x95\x13",
    b"\x21\xe4\x1c\x71",
];

fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let until = (at + rng.below(12) as usize).min(bytes.len());
        let token = TOKENS[rng.below(TOKENS.len() as u64) as usize];
        match rng.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..until)),
            3 => drop(bytes.splice(at..until, token.iter().copied())),
            // Replaces bytes without changing the length, so that later bytes keep their positions.
            4 if at + token.len() <= bytes.len() => bytes[at..at + token.len()].copy_from_slice(token),
            _ => bytes.insert(at, rng.below(256) as u8),
        }
    }
}

fn survives(bytes: &[u8], what: &str) {
    let run = std::panic::catch_unwind(|| fuzz::body(bytes));
    assert!(run.is_ok(), "{what}: {}", bytes.escape_ascii());
}

#[test]
fn mutated_conversations_do_not_panic_or_exceed_the_memory_bound() {
    for (number, good) in samples().iter().enumerate() {
        survives(good, "a valid conversation");
        for seed in 0..150 {
            let mut rng = Rng::named(seed, &format!("conversation {number}"));
            let mut bytes = good.clone();
            mutate(&mut bytes, &mut rng);
            survives(&bytes, &format!("conversation {number} seed {seed}"));
        }
    }
}

#[test]
fn random_bytes_do_not_panic() {
    for seed in 0..500 {
        let mut rng = Rng::named(seed, "noise");
        let bytes: Vec<u8> = (0..rng.below(400)).map(|_| rng.below(256) as u8).collect();
        survives(&bytes, &format!("noise seed {seed}"));
    }
}
