//! Sentences that describe steps and spans. Names of FTLs, victim policies and maps come from their registries.

use ssdlab_core::{Choice, Info};
use ssdlab_ftl::FtlChoice;

use crate::label::Labelled;
use crate::span::{Span, What};
use crate::{Drive, Entry, Op, Ram, Scheme, State, Step};

/// Returns a sentence for each step and a summary of each span. The recording starts in the state `start`.
pub(crate) fn sentences(
    drive: &Drive,
    choice: &FtlChoice,
    start: &State,
    steps: &[Step],
    spans: &[Span],
    ram: &[Ram],
) -> (Vec<String>, Vec<String>) {
    let writer = Writer { drive, choice, steps, spans, ram };
    let mut after = Labelled::new(drive, start);
    let (mut sentences, mut summaries) = (Vec::new(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        let before = after.clone();
        after.apply(at, step);
        sentences.push(writer.step(at, &before, &after));
        let begun = spans[summaries.len()..].iter().take_while(|span| span.from == at);
        summaries.extend(begun.map(|span| writer.span(span, &before)));
    }
    (sentences, summaries)
}

/// Returns the title of an FTL with its victim policy and map.
pub(crate) fn title(choice: &FtlChoice) -> String {
    match choice {
        FtlChoice::Log(choice, _) => short(choice),
        FtlChoice::Page(options, map) => {
            let map = if map.info.name == "ram" { String::new() } else { format!(", map: {}", short(map)) };
            let slc = if options.slc.is_some() { ", SLC cache" } else { "" };
            format!("Page mapping, {}{map}{slc}", short(&options.gc))
        }
    }
}

/// Returns a short title of a registered entry: its help text up to the first colon, or its name if there is no colon.
fn short<R>(choice: &Choice<R>) -> String {
    let Info { name, help, .. } = choice.info;
    help.split_once(": ").map_or_else(|| name.replace('_', " "), |(title, _)| title.into())
}

/// Returns the help text of a registered entry for use within a sentence: with a lower-case first letter and without
/// the final period.
fn in_sentence<R>(choice: &Choice<R>) -> String {
    let help = choice.info.help.trim_end_matches('.');
    let (first, rest) = help.split_at(1);
    format!("{}{rest}", first.to_lowercase())
}

fn plural(count: usize, noun: &str) -> String {
    let ending = match (count, noun) {
        (1, _) => "",
        (_, "copy") => return format!("{count} copies"),
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

fn costs(reads: usize, programs: usize, erases: usize) -> String {
    format!("{}, {}, {}", plural(reads, "read"), plural(programs, "program"), plural(erases, "erase"))
}

fn pages(first: u32, count: u32) -> String {
    if count == 1 { format!("page {first}") } else { format!("pages {first} to {}", first + count - 1) }
}

fn entry_name(entry: &Entry) -> String {
    let what = if entry.count == 1 { "entry" } else { "segment" };
    format!("The {what} of {}", pages(entry.first, entry.count))
}

fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

fn cause(step: &Step) -> &'static str {
    match *step {
        Step::Read { cause, .. }
        | Step::Program { cause, .. }
        | Step::Copy { cause, .. }
        | Step::Erase { cause, .. } => cause,
        _ => "",
    }
}

struct Writer<'a> {
    drive: &'a Drive,
    choice: &'a FtlChoice,
    steps: &'a [Step],
    spans: &'a [Span],
    ram: &'a [Ram],
}

impl Writer<'_> {
    fn is_log(&self) -> bool {
        matches!(self.choice, FtlChoice::Log(..))
    }

    /// Returns the map entries in RAM before step `at`.
    fn ram_before(&self, at: usize) -> &[Entry] {
        let seen = self.ram.iter().enumerate().rfind(|(number, ram)| *number == 0 || ram.step < at);
        seen.map_or(&[], |(_, ram)| &ram.entries)
    }

    fn span(&self, span: &Span, before: &Labelled<'_>) -> String {
        let inside = &self.steps[span.from..=span.to];
        let count = |kind: fn(&Step) -> bool| inside.iter().filter(|step| kind(step)).count();
        let erased = count(|step| matches!(step, Step::Erase { .. }));
        match &span.what {
            What::Request => String::new(),
            What::Merge { lbn, kind, copies, erases, sources, host } => {
                let cost = costs(*copies as usize, *copies as usize, *erases as usize);
                let from: Vec<String> = sources.iter().map(|source| before.block(source.block)).collect();
                let host = if *host { ", including the host's page" } else { "" };
                let pages = if from.is_empty() {
                    "nothing to copy".into()
                } else {
                    format!("newest pages from {}", from.join(", "))
                };
                match *kind {
                    "switch" => format!("Switch merge of block {lbn}: the log block becomes the data block; {cost}."),
                    "partial" => format!(
                        "Partial merge of block {lbn}: the log block is completed and becomes the data block; \
                         {pages}{host}; {cost}."
                    ),
                    _ => format!("Full merge of block {lbn}: {pages}{host}; {cost}."),
                }
            }
            What::Reclaim { block, .. } => {
                let within = |other: &&Span| span.from <= other.from && other.to <= span.to;
                let merges = self.spans.iter().filter(within);
                let merged = merges.filter(|other| matches!(other.what, What::Merge { .. })).count();
                let merged = if merged == 0 { "no logical block".into() } else { plural(merged, "logical block") };
                let copies = count(|step| matches!(step, Step::Copy { .. }));
                format!(
                    "Reclaiming {}, the oldest block of the full log: {merged} merged; {}.",
                    before.block(*block),
                    costs(copies, copies, erased)
                )
            }
            What::Collection { block, valid, reason } => {
                // Counts only steps of the garbage collection itself, because host requests can interrupt background
                // GC.
                let own = |step: &&Step| ["gc", "map_gc", "map_update", "fold"].contains(&cause(step));
                let done = |kind: fn(&Step) -> bool| inside.iter().filter(own).filter(|step| kind(step)).count();
                let cost = costs(
                    done(|step| matches!(step, Step::Read { .. } | Step::Copy { .. })),
                    done(|step| matches!(step, Step::Program { .. } | Step::Copy { .. })),
                    erased,
                );
                let valid = plural(*valid as usize, "valid page");
                format!("Collection of {} ({}): {valid}; {cost}.", before.block(*block), self.victim_reason(reason))
            }
            What::Miss { lpn } => {
                let (old, new) = (self.ram_before(span.from), self.ram_before(span.from + 1));
                let gone = old.iter().find(|old| new.iter().all(|entry| entry.first != old.first));
                let left = gone.map_or(String::new(), |gone| {
                    let then = if gone.dirty {
                        ", and its dirty map page is written back"
                    } else {
                        " without a write, because it is clean"
                    };
                    format!(" {} is evicted{then}.", entry_name(gone))
                });
                let read = if inside.iter().any(|step| matches!(step, Step::Read { cause: "map_load", .. })) {
                    format!("The map page of page {lpn} is read.")
                } else {
                    "No map page holds the entry yet.".into()
                };
                format!("Miss: the entry of page {lpn} is not in RAM.{left} {read}")
            }
        }
    }

    fn victim_reason(&self, reason: &str) -> String {
        match (reason, self.choice) {
            ("yield", _) => {
                "the policy's choice would free nothing, so the block with the fewest valid pages is chosen".into()
            }
            ("map_full", _) => {
                "space for map pages is short, so the block with the fewest valid pages is chosen".into()
            }
            ("failed", _) => "a program failed".into(),
            ("fold", _) => "free space is short, so the oldest block of the SLC cache is folded".into(),
            (_, FtlChoice::Page(options, _)) => in_sentence(&options.gc),
            (_, FtlChoice::Log(choice, _)) => in_sentence(choice),
        }
    }

    fn step(&self, at: usize, before: &Labelled<'_>, after: &Labelled<'_>) -> String {
        match self.steps[at] {
            Step::Request { op, page, count } => {
                let does = match op {
                    Op::Write => "writes",
                    Op::Read => "reads",
                    Op::Trim => "trims",
                };
                format!("The host {does} {}.", pages(page, count))
            }
            Step::Blank { lpn } => {
                format!("Page {lpn} was never written: it reads as zeros, without a flash operation.")
            }
            Step::Read { ppn, cause } => {
                let name = before.state.pages[ppn as usize].lpn.map_or(String::new(), |lpn| before.page(lpn));
                let why = match cause {
                    "host" => " for the host",
                    "rmw" => " to complete a page",
                    "map_load" => " to load its entries into RAM",
                    "map_write_back" => " before it is written back",
                    "map_update" => " before it is rewritten",
                    "map_gc" => " to be collected",
                    _ => "",
                };
                format!("{} is read from {}{why}.", capitalized(&name), after.place(ppn))
            }
            Step::Program { ppn, lpn, role, cause } => self.program(before, &after.place(ppn), lpn, role, cause),
            Step::Copy { from, to, lpn, role, cause, newest } => {
                let why = match (newest, role, cause) {
                    (false, ..) => "it is an older copy; the newest copy stays in another log block",
                    (_, "sequential", _) => "its place in the sequential log block of its logical block is free",
                    (.., "gc" | "map_gc") => "it is valid, and its block is about to be erased",
                    (.., "fold") => "it moves out of the SLC cache",
                    (.., "switch_merge") => "for the switch merge",
                    (.., "partial_merge") => "it completes the log block",
                    (.., "full_merge") => "it is the newest copy",
                    (.., "second_chance") => "it is still valid and gets a second chance",
                    (.., "isolation") => "it is still valid and cold, so it goes to the isolation area",
                    (.., other) => other,
                };
                format!("Copies {} from {} to {}: {why}.", before.page(lpn), before.place(from), after.place(to))
            }
            Step::Erase { block, .. } if self.is_log() => {
                format!("Erases {}; PBN {block} is free.", before.block(block))
            }
            Step::Erase { block, .. } => format!("Erases {}.", before.block(block)),
            Step::Trim { lpn, .. } => {
                // A recording has a separate trim step for each page.
                let found = before.state.map[lpn as usize].is_some();
                let what = if found { "its copy is now outdated" } else { "it held no data" };
                format!("Page {lpn} is trimmed: {what}.")
            }
            Step::Captured { lpn } => format!("Page {lpn} is captured: it is now in a sequential log block."),
            Step::Merged { lbn, copies, erases, data, .. } => {
                let (copies, erases) = (plural(copies as usize, "copy"), plural(erases as usize, "data block"));
                let now = data.map_or(String::new(), |pbn| format!("; PBN {pbn} is {} now", after.block(pbn)));
                format!("Block {lbn} is merged: {copies}, {erases} erased{now}.")
            }
            Step::Reclaimed { associated, copies, erases } => {
                let merged = plural(associated as usize, "logical block");
                let (copies, erases) = (plural(copies as usize, "copy"), plural(erases as usize, "erase"));
                format!("The page waited {}: {merged} merged, {copies}, {erases}.", self.awaited(at))
            }
            Step::LookedUp { lpn, hit, .. } => {
                let found = if hit { "in RAM (hit)" } else { "not in RAM (miss)" };
                format!("Looks up page {lpn} in the map: its entry is {found}.")
            }
            Step::Victim { block, valid, reason } => {
                let valid = plural(valid as usize, "valid page");
                let name = before.block(block);
                if reason == "fold" {
                    format!("Free space is short: {name} of the SLC cache is folded, with {valid}.")
                } else {
                    format!("Free pages are short: {name} is the victim, with {valid}.")
                }
            }
            Step::Opened { block, role, frontier } => {
                let name = if self.is_log() { "PBN " } else { "B" };
                format!("Opens {name}{block} as {}.", self.opened_use(role, frontier))
            }
            Step::Bad { block } => format!("Block {block} has failed and is retired."),
            Step::Retired { block, written, reason } => {
                let why = match reason {
                    "full" => "is full, and the host writes its logical block again",
                    "completed" => "holds all pages of its logical block in order",
                    "evicted" => "is evicted because all log blocks are in use",
                    "oldest" => "is the oldest of the full random log and is reclaimed",
                    "broken" => "is closed because the new page does not continue its sequence",
                    "restarted" => "is replaced because the first page of a logical block starts a new sequence",
                    "merged" => "is merged along with its logical block",
                    "drained" => "has no valid page left",
                    other => other,
                };
                let pages = self.drive.pages_per_block;
                format!("{} {why} ({written} of its {pages} pages programmed).", before.block(block))
            }
            Step::Rotated { block } => {
                let name = before.block(block);
                format!("Every page of {name} is valid: all pages get their second chance in place, without a copy.")
            }
            Step::Drained { lpn } => {
                format!("The isolation area is full: the logical block of its oldest valid page, {lpn}, is merged.")
            }
        }
    }

    fn opened_use(&self, role: &str, frontier: u8) -> String {
        match role {
            "log" => "a log block".into(),
            "sequential" => "a sequential log block".into(),
            "isolation" => "an isolation block".into(),
            "map" => "a block of map pages".into(),
            "slc" => "a block of the SLC cache".into(),
            _ => match (&self.drive.ftl, frontier) {
                (Scheme::Log(_), _) => "a data block".into(),
                (Scheme::Page(page), _) if page.survivors != "own" => "a block to write".into(),
                (_, 0) => "a block for host pages".into(),
                (_, 1) => "a block for GC copies".into(),
                (_, stream) => format!("a block of stream {stream}"),
            },
        }
    }

    /// Returns the reason why a host page had to wait for a reclaim: for space in the log, or for the merge of a
    /// sequential log block.
    fn awaited(&self, reclaimed: usize) -> &'static str {
        let mut written = 0;
        for step in self.steps[..reclaimed].iter().rev() {
            match step {
                Step::Drained { .. } | Step::Retired { reason: "full" | "evicted" | "oldest" | "drained", .. } => {
                    return "for space in the log";
                }
                Step::Request { .. } => break,
                step => written += usize::from(matches!(step, Step::Program { cause: "host", .. })),
            }
            if written == 2 {
                break;
            }
        }
        "for the merge of a sequential log block"
    }

    fn program(&self, before: &Labelled<'_>, at: &str, lpn: u32, role: &str, cause: &str) -> String {
        let old = before.state.map[lpn as usize];
        let outdated = old.map_or(String::new(), |old| format!(" The copy at {} is outdated.", before.place(old)));
        match role {
            "map" => {
                let why = match cause {
                    "map_write_back" => "with its dirty entries",
                    "map_update" => "because GC moved pages whose entries are not in RAM",
                    _ => "",
                };
                let map_page = lpn - self.drive.logical_pages;
                format!("Map page {map_page} is written to {at}, {why}.{outdated}")
            }
            _ if !self.is_log() => format!("Page {lpn} is appended at {at}.{outdated}"),
            "log" => format!("{}: it goes to the log, at {at}.{outdated}", self.why_to_log(lpn, before)),
            "sequential" => format!("Page {lpn} goes to the sequential log, in its place at {at}.{outdated}"),
            _ if old.is_none() => {
                format!("The place of page {lpn} in its data block is erased, so the page is written there, at {at}.")
            }
            _ => format!("Host page {lpn} is written during the merge, at {at}.{outdated}"),
        }
    }

    /// Returns the reason why a page is not written in place. The FTL decides this before it makes room in the log.
    fn why_to_log(&self, lpn: u32, before: &Labelled<'_>) -> String {
        let size = self.drive.pages_per_block;
        let written = |ppn: u32| before.state.pages[ppn as usize].lpn.is_some();
        let data = before.data_block(lpn / size).map(|block| block * size);
        if data.is_some_and(|first| written(first + lpn % size)) {
            return format!("The place of page {lpn} in its data block is already programmed");
        }
        if before.state.map[lpn as usize].is_some() {
            return format!("Page {lpn} has a copy in the log");
        }
        if self.drive.ascending && data.is_some_and(|first| (first + lpn % size + 1..first + size).any(written)) {
            return format!(
                "The place of page {lpn} in its data block is erased, but later pages are programmed, and the chip \
                 requires ascending order"
            );
        }
        format!("The log was chosen while the place of page {lpn} in its data block was still programmed")
    }
}
