//! Generates interleaved sequential sub-streams and random requests.

use ssdlab_core::parameter::percent;
use ssdlab_core::units::write_bytes;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::check::{STREAMS_MAX, WHOLE, down, ensure, in_percent, numbered};
use super::space::{PART_MAX, RequestTarget, Space};
use crate::TraceError;

pub(super) static INFO: PatternInfo = Info {
    name: "streams",
    help: "random requests mixed with sequential runs of `length` pages in `streams` interleaved streams; a page has \
           the size `workload.align`",
    source: "",
    parameters: PARAMETERS,
    role: PatternRules::of::<Interleaved>(),
};

const ALL: [u64; 2] = [0, percent(100)];

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "streams",
        Unit::Count("streams"),
        4,
        [1, STREAMS_MAX - 1],
        "Number of concurrent sequential streams.",
    )
    .example(8),
    Parameter::new(
        "length",
        Unit::Count("pages"),
        64,
        [2, u64::MAX],
        "Number of pages in a sequential run; each run starts at a random page.",
    )
    .example(256),
    Parameter::new(
        "sequential",
        Unit::Share,
        percent(50),
        ALL,
        "Share of the requests in sequential runs; all others go to random pages.",
    )
    .example(percent(90)),
    Parameter::new(
        "block",
        Unit::Bytes,
        128 << 10,
        [512, PART_MAX],
        "Block size. The first page of each block is its header.",
    )
    .example(256 << 10),
    Parameter::new(
        "sub_block",
        Unit::Bytes,
        32 << 10,
        [512, PART_MAX],
        "Sub-block size; must divide the block size. The first page of each sub-block is its header.",
    )
    .example(16 << 10),
    Parameter::new("block_headers", Unit::Share, 0, ALL, "Share of the sequential runs that start at a block header.")
        .example(percent(25)),
    Parameter::new(
        "sub_block_headers",
        Unit::Share,
        0,
        ALL,
        "Share of the sequential runs that start at a sub-block header, which may be a block header.",
    )
    .example(percent(25)),
    Parameter::new(
        "shuffle",
        Unit::Share,
        percent(100),
        ALL,
        "Chance of switching to the next stream after a sequential request: at 100% the streams alternate page by \
         page, at 0% run by run.",
    )
    .example(percent(50)),
    Parameter::switch("random_headers", true, "Lets random requests access block headers.").example(0),
];

/// Values of [`PARAMETERS`]. The pages of the parameters are called slots here: aligned addresses divide the device
/// into slots. The runs are called sub-streams: a stream is a sequence of sub-streams. A request counts once for each
/// slot that it touches. A request that would pass the end of a sub-stream starts another sub-stream.
#[derive(Clone, Debug)]
struct Streams {
    streams: u64,
    length: u64,
    sequential: f64,
    block_bytes: u64,
    sub_block_bytes: u64,
    block_headers: f64,
    sub_block_headers: f64,
    shuffle: f64,
    random_headers: bool,
}

impl Streams {
    fn new(settings: &Settings) -> Self {
        Self {
            streams: settings.get("streams"),
            length: settings.get("length"),
            sequential: settings.fraction("sequential"),
            block_bytes: settings.get("block"),
            sub_block_bytes: settings.get("sub_block"),
            block_headers: settings.fraction("block_headers"),
            sub_block_headers: settings.fraction("sub_block_headers"),
            shuffle: settings.fraction("shuffle"),
            random_headers: settings.is_set("random_headers"),
        }
    }
}

/// Checks three rules. The shares of sub-streams that start at block headers and at sub-block headers add up to at most
/// 100 %. The sub-block size divides the block size. A sub-stream fits into the span.
fn check(options: &Streams, space: Space) -> Result<(), TraceError> {
    let Space { align, span, largest, .. } = space;
    let both = options.block_headers + options.sub_block_headers;
    let (sub_headers, headers) = (in_percent(options.sub_block_headers), in_percent(options.block_headers));
    let (total, most) = (in_percent(both), in_percent(down(1.0 - options.block_headers)));
    let why =
        format!("the share {sub_headers} is too large: with block_headers = {headers}, the sum is {total}, over 100%");
    ensure!(both <= WHOLE, "sub_block_headers", "{why}; lower it to {most}");
    space.check_slots("block", options.block_bytes)?;
    space.check_slots("sub_block", options.sub_block_bytes)?;
    let divisor = greatest_common_divisor(options.block_bytes, options.sub_block_bytes);
    let sizes = [options.sub_block_bytes, options.block_bytes, divisor];
    let [sub_block, block, divisor] = sizes.map(write_bytes);
    let is_divisor = options.block_bytes.is_multiple_of(options.sub_block_bytes);
    let why = format!("the sub-block size {sub_block} does not divide the block size {block}; set it to {divisor}");
    ensure!(is_divisor, "sub_block", "{why}");
    let (length, slots) = (options.length, span / align);
    let [slot, two, half, all] = [align, 2 * align, 1 << (span / 2).max(1).ilog2(), span].map(write_bytes);
    let why = format!("a run needs two slots of {slot}, but the span of {all} has only one");
    let is_large = slots >= 2 || span >= 1024;
    ensure!(is_large, "span_bytes", "the span is too small: {why}; raise it to {two}");
    ensure!(slots >= 2, "align_bytes", "the alignment is too large: {why}; lower it to {half}");
    let needed = largest.div_ceil(align);
    let (size, most) = (write_bytes(largest), write_bytes(slots * align));
    let why = format!("the request size {size} exceeds the aligned part of the span; lower it to {most}");
    ensure!(needed <= slots, "sizes", "{why}");
    let why = format!("the run length of {length} slots of {slot}");
    ensure!(length <= slots, "length", "{why} exceeds the span of {all}; lower it to {slots}");
    ensure!(needed <= length, "length", "{why} is smaller than a request of {size}; raise it to {needed}");
    let why = "random_headers = false leaves no slot for random requests, because every slot is a block header; set it \
               to true";
    ensure!(random_slots(options, space) > 0 || options.sequential >= 1.0, "random_headers", "{why}");
    Ok(())
}

/// Returns the number of slots that random requests can use.
fn random_slots(options: &Streams, space: Space) -> u64 {
    let starts = space.starts();
    if options.random_headers { starts } else { starts - starts.div_ceil(options.block_bytes / space.align) }
}

fn greatest_common_divisor(first: u64, second: u64) -> u64 {
    if second == 0 { first } else { greatest_common_divisor(second, first % second) }
}

#[derive(Debug)]
struct Interleaved {
    options: Streams,
    align: u64,
    /// Number of slots per block and per sub-block.
    block: u64,
    sub_block: u64,
    /// Number of slots where a sub-stream can start without passing the end of the span.
    starts: u64,
    random_slots: u64,
    streams: Vec<SubStream>,
    turn: usize,
}

/// Position of a stream in its current sub-stream: the next slot, and the number of slots left.
#[derive(Clone, Copy, Debug, Default)]
struct SubStream {
    next_slot: u64,
    slots_left: u64,
}

impl Addresses for Interleaved {
    const STREAMS: bool = true;

    fn check(settings: &Settings, space: Space) -> Result<(), TraceError> {
        check(&Streams::new(settings), space)
    }

    fn new(settings: &Settings, space: Space, _: &mut Rng) -> Self {
        let options = Streams::new(settings);
        Self {
            align: space.align,
            block: options.block_bytes / space.align,
            sub_block: options.sub_block_bytes / space.align,
            starts: space.span / space.align - options.length + 1,
            random_slots: random_slots(&options, space),
            streams: vec![SubStream::default(); options.streams as usize],
            turn: 0,
            options,
        }
    }

    fn streams(&self) -> Vec<String> {
        let mut names = numbered("seq", self.streams.len());
        names.push("random".into());
        names
    }

    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget {
        let (slot, stream) = if rng.unit() < self.options.sequential {
            self.next_sequential(u64::from(bytes).div_ceil(self.align), rng)
        } else {
            (self.random_slot(rng), self.streams.len())
        };
        RequestTarget { offset: slot * self.align, bytes, stream: stream as u16 + 1 }
    }
}

impl Interleaved {
    /// Returns the slot and stream index of a sequential request of `slots` slots.
    fn next_sequential(&mut self, slots: u64, rng: &mut Rng) -> (u64, usize) {
        // If the request is longer than the rest of the sub-stream, that rest is skipped, and the next stream takes
        // over, as at the end of every sub-stream.
        while (1..slots).contains(&self.streams[self.turn].slots_left) {
            self.streams[self.turn].slots_left = 0;
            self.advance();
        }
        let turn = self.turn;
        if self.streams[turn].slots_left == 0 {
            self.streams[turn] = SubStream { next_slot: self.start(rng), slots_left: self.options.length };
        }
        let sub_stream = &mut self.streams[turn];
        let slot = sub_stream.next_slot;
        sub_stream.next_slot += slots;
        sub_stream.slots_left -= slots;
        if sub_stream.slots_left == 0 || rng.unit() < self.options.shuffle {
            self.advance();
        }
        (slot, turn)
    }

    fn advance(&mut self) {
        self.turn = (self.turn + 1) % self.streams.len();
    }

    /// Draws the first slot for a new sub-stream.
    fn start(&self, rng: &mut Rng) -> u64 {
        let Streams { block_headers, sub_block_headers, .. } = self.options;
        let unit = match rng.unit() {
            kind if kind < block_headers => self.block,
            kind if kind < block_headers + sub_block_headers => self.sub_block,
            _ => 1,
        };
        rng.below(self.starts.div_ceil(unit)) * unit
    }

    fn random_slot(&self, rng: &mut Rng) -> u64 {
        let slot = rng.below(self.random_slots);
        // Block headers (the first slot of each block) are not counted in the drawn number. Adding the number of
        // headers up to the drawn slot gives its position.
        if self.options.random_headers { slot } else { slot + slot / (self.block - 1) + 1 }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::parameter::decimal;

    use super::*;
    use crate::testing::{generate, refusal, workload};
    use crate::{Generator, Pattern, Request, Workload};

    const SLOT: u64 = 4096;
    /// Number of slots per block.
    const BLOCK: u64 = 32;
    const SUB_BLOCK: u64 = 8;

    fn options() -> Streams {
        Streams {
            streams: 4,
            length: 64,
            sequential: 0.5,
            block_bytes: BLOCK * SLOT,
            sub_block_bytes: SUB_BLOCK * SLOT,
            block_headers: 0.0,
            sub_block_headers: 0.0,
            shuffle: 1.0,
            random_headers: true,
        }
    }

    /// Workload of single pages in 16,384 slots.
    fn pages(options: Streams) -> Workload {
        let pattern = INFO.with(&[
            options.streams,
            options.length,
            decimal(options.sequential),
            options.block_bytes,
            options.sub_block_bytes,
            decimal(options.block_headers),
            decimal(options.sub_block_headers),
            decimal(options.shuffle),
            options.random_headers.into(),
        ]);
        Workload { pattern: Pattern::Addresses(pattern), sizes: vec![(SLOT as u32, 1.0)], ..workload("uniform", &[]) }
    }

    fn slots(requests: &[Request], stream: u16) -> Vec<u64> {
        requests.iter().filter(|r| r.stream == stream).map(|r| r.offset / SLOT).collect()
    }

    /// Returns the first slot of every sub-stream. Fails if a sub-stream is incomplete, except the last sub-stream of a
    /// stream.
    fn sub_streams(requests: &[Request], options: &Streams) -> Vec<u64> {
        let mut starts = Vec::new();
        for stream in 1..=options.streams as u16 {
            for run in slots(requests, stream).chunks(options.length as usize) {
                assert!(run.windows(2).all(|pair| pair[1] == pair[0] + 1), "stream {stream}: {run:?}");
                starts.push(run[0]);
            }
        }
        starts
    }

    fn share(values: &[u64], test: impl Fn(u64) -> bool) -> f64 {
        values.iter().filter(|&&value| test(value)).count() as f64 / values.len() as f64
    }

    #[test]
    fn each_request_is_sequential_by_its_own_draw() {
        for sequential in [0.0, 0.3, 1.0] {
            let requests = generate(&pages(Streams { sequential, ..options() }));
            let kinds: Vec<u64> = requests.iter().map(|r| u64::from(r.stream <= 4)).collect();
            // The standard deviation of the sequential fraction is below 0.0016; the bound is six times that.
            assert!((share(&kinds, |kind| kind == 1) - sequential).abs() < 0.01);
            // A request is sequential or random independently of the previous request.
            let both: Vec<u64> = kinds.windows(2).map(|pair| pair[0] * pair[1]).collect();
            assert!((share(&both, |both| both == 1) - sequential * sequential).abs() < 0.01);
        }
    }

    #[test]
    fn sub_streams_are_contiguous_and_start_anywhere() {
        let options = options();
        let starts = sub_streams(&generate(&pages(options.clone())), &options);
        assert!((780..=784).contains(&starts.len()), "{}", starts.len());
        // The tolerances fit 782 sub-streams, which start at a block with probability 1/32 and at a sub-block with
        // probability 1/8.
        assert!(share(&starts, |slot| slot.is_multiple_of(BLOCK)) < 0.07);
        assert!((share(&starts, |slot| slot.is_multiple_of(SUB_BLOCK)) - 0.125).abs() < 0.07);
        assert!((starts.iter().sum::<u64>() as f64 / starts.len() as f64 / 8160.0 - 1.0).abs() < 0.15);
    }

    #[test]
    fn headers_have_their_shares() {
        for (block_headers, sub_block_headers) in [(1.0, 0.0), (0.0, 1.0), (0.3, 0.5), (0.5, 0.0)] {
            let options = Streams { block_headers, sub_block_headers, sequential: 1.0, length: 16, ..options() };
            let starts = sub_streams(&generate(&pages(options.clone())), &options);
            // Of 32 sub-block headers, 8 are block headers; a random start may also be a header by chance.
            let anywhere = 1.0 - block_headers - sub_block_headers;
            let blocks = block_headers + sub_block_headers / 4.0 + anywhere / 32.0;
            let sub_blocks = block_headers + sub_block_headers + anywhere / 8.0;
            // With 6,250 sub-streams, the standard deviation of each measured fraction is below 0.0064. The bound is
            // five times that.
            assert!((share(&starts, |slot| slot.is_multiple_of(BLOCK)) - blocks).abs() < 0.032);
            assert!((share(&starts, |slot| slot.is_multiple_of(SUB_BLOCK)) - sub_blocks).abs() < 0.032);
        }
    }

    #[test]
    fn shuffling_sets_how_finely_streams_interleave() {
        let order = |shuffle| -> Vec<u16> {
            let options = Streams { shuffle, sequential: 1.0, ..options() };
            generate(&pages(options)).iter().map(|r| r.stream).collect()
        };
        assert!(order(1.0).iter().enumerate().all(|(index, &stream)| stream as usize == index % 4 + 1));
        assert!(order(0.0).iter().enumerate().all(|(index, &stream)| stream as usize == index / 64 % 4 + 1));
        let half = order(0.5);
        let moves = half.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64 / 1e5;
        // The stream changes after half of the requests. In the other half, it changes at the end of a sub-stream,
        // after one request in 64.
        assert!((moves - (0.5 + 0.5 / 64.0)).abs() < 0.01, "{moves}");
        assert!(half.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] % 4 + 1));
    }

    #[test]
    fn random_requests_avoid_headers_if_configured() {
        let random = |random_headers| {
            let options = Streams { sequential: 0.0, random_headers, ..options() };
            slots(&generate(&pages(options)), 5)
        };
        assert!((share(&random(true), |slot| slot.is_multiple_of(BLOCK)) - 1.0 / 32.0).abs() < 0.004);
        let kept = random(false);
        assert_eq!(share(&kept, |slot| slot.is_multiple_of(BLOCK)), 0.0);
        // Random requests reach all slots except block headers equally often, also at both ends of the span.
        let place = |slot: u64| share(&kept, |other| other % BLOCK == slot);
        assert!((1..BLOCK).all(|slot| (place(slot) - 1.0 / 31.0).abs() < 0.004));
        assert!(kept.iter().any(|&slot| slot < 100) && kept.iter().any(|&slot| slot >= 16_384 - 100));
    }

    /// Requests of several sizes follow each other without gaps inside a sub-stream, and no request passes the end of
    /// its sub-stream. Fewer slots stay unused at the end than the largest request needs.
    #[test]
    fn requests_of_several_sizes_fill_a_sub_stream() {
        let options = Streams { sequential: 1.0, length: 10, shuffle: 0.7, ..options() };
        let sizes = vec![(512, 1.0), (5000, 1.0), (16_384, 1.0)];
        let requests = generate(&Workload { sizes, ..pages(options) });
        for stream in 1..=4 {
            let (mut run, mut expected) = (0, None);
            for request in requests.iter().filter(|r| r.stream == stream) {
                if expected != Some(request.offset) {
                    assert!(run == 0 || run > 10 - 4, "{run} slots");
                    run = 0;
                }
                let slots = u64::from(request.bytes).div_ceil(SLOT);
                run += slots;
                assert!(run <= 10);
                expected = (run < 10).then_some(request.offset + slots * SLOT);
            }
        }
    }

    #[test]
    fn streams_are_named() {
        let generator = Generator::new(&pages(Streams { streams: 2, ..options() })).unwrap();
        assert_eq!(generator.streams(), ["", "seq1", "seq2", "random"]);
    }

    #[test]
    fn impossible_streams_are_rejected() {
        let refused = |options| refusal(&pages(options));
        assert_eq!(refused(options()), "");
        assert_eq!(
            refused(Streams { length: 16_385, ..options() }),
            "workload length: the run length of 16385 slots of 4KiB exceeds the span of 64MiB; lower it to 16384"
        );
        assert_eq!(refused(Streams { length: 16_384, ..options() }), "");
        assert!(
            refused(Streams { sub_block_bytes: 12 << 10, ..options() })
                .contains("the sub-block size 12KiB does not divide the block size 128KiB; set it to 4KiB")
        );
        assert!(refused(Streams { block_bytes: 6000, ..options() }).contains("set it to 4KiB"));
        let headers = Streams { block_headers: 0.75, sub_block_headers: 0.5, ..options() };
        assert!(refused(headers).contains("the sum is 125%, over 100%; lower it to 25%"));
        let headers = Streams { block_bytes: 4096, sub_block_bytes: 4096, random_headers: false, ..options() };
        assert!(refused(headers.clone()).contains("random_headers: random_headers = false leaves no slot"));
        assert_eq!(refused(Streams { sequential: 1.0, ..headers }), "");
        let large = Workload { sizes: vec![(300_000, 1.0)], ..pages(options()) };
        assert!(refusal(&large).contains("raise it to 74"));
    }
}
