//! Damaged and unusual test files of every format, each with the result expected from the format's reader.
//!
//! [`kinds`] must provide inputs for every format; [`Kinds`] has one field per kind of input. Expected requests and
//! messages were derived by hand from the format descriptions.

use super::volume::{self, VOLUME_NAME};
use super::{FORMATS, Format};
use crate::testing::{detect_bytes, read_with};
use crate::{Columns, Op, ReadOptions, Request, Target};

/// Expected request: time in ns since the first request, operation, offset, bytes.
type Row = (u64, Op, u64, u32);

/// Expected result of reading a given input.
enum Outcome {
    Reads(Vec<Row>),
    /// Reading fails with an error message that begins with the given text.
    Fails(&'static str),
    /// The test case does not apply, because the format cannot express the input. The text explains why.
    Never(&'static str),
}

struct Case {
    input: Vec<u8>,
    outcome: Outcome,
}

/// Inputs of a format: a valid file, and a file for each type of damage or unusual content.
struct Kinds {
    /// Two valid requests.
    good: Case,
    /// The file ends inside its last record.
    truncated: Case,
    /// Two records without a separator, or two files concatenated.
    joined: Case,
    /// A record with an empty field, or a file with only a header.
    empty: Case,
    /// Two requests out of order: the request with the later time comes first.
    reordered: Case,
    negative: Case,
    /// A file with a number that exceeds 64 bits, either as written or after conversion.
    huge: Case,
    quoted: Case,
    commented: Case,
    /// A number in a notation other than decimal.
    non_decimal: Case,
}

impl Kinds {
    /// Returns all inputs, each with the name of its field.
    fn all(self) -> [(&'static str, Case); 10] {
        let Self { good, truncated, joined, empty, reordered, negative, huge, quoted, commented, non_decimal } = self;
        [
            ("good", good),
            ("truncated", truncated),
            ("joined", joined),
            ("empty", empty),
            ("reordered", reordered),
            ("negative", negative),
            ("huge", huge),
            ("quoted", quoted),
            ("commented", commented),
            ("non-decimal", non_decimal),
        ]
    }
}

fn reads(input: impl Into<Vec<u8>>, rows: &[Row]) -> Case {
    Case { input: input.into(), outcome: Outcome::Reads(rows.to_vec()) }
}

fn fails(input: impl Into<Vec<u8>>, message: &'static str) -> Case {
    Case { input: input.into(), outcome: Outcome::Fails(message) }
}

fn never(why: &'static str) -> Case {
    Case { input: Vec::new(), outcome: Outcome::Never(why) }
}

/// Inputs of a text format: a header, two valid rows, and faulty replacements for the second row. Each replacement
/// comes with the expected error message, without the leading word "memory".
struct Text {
    header: &'static str,
    first: &'static str,
    second: &'static str,
    rows: [Row; 2],
    truncated: (&'static str, &'static str),
    joined: &'static str,
    empty: (&'static str, &'static str),
    negative: (&'static str, &'static str),
    huge: (&'static str, &'static str),
    quoted: (&'static str, &'static str),
    non_decimal: (&'static str, &'static str),
}

impl Text {
    fn kinds(self) -> Kinds {
        let Self { header, first, second, rows, .. } = self;
        let case = |(row, message)| fails(format!("{header}{first}\n{row}\n"), message);
        Kinds {
            good: reads(format!("{header}{first}\n{second}\n"), &rows),
            truncated: fails(format!("{header}{first}\n{}", self.truncated.0), self.truncated.1),
            joined: fails(format!("{header}{first}{second}\n"), self.joined),
            empty: case(self.empty),
            reordered: reads(format!("{header}{second}\n{first}\n"), &rows),
            negative: case(self.negative),
            huge: case(self.huge),
            quoted: case(self.quoted),
            commented: reads(format!("# by hand, 1\n{header}{first}\n# more\n{second}\n"), &rows),
            non_decimal: case(self.non_decimal),
        }
    }
}

/// Creates the inputs of a binary format. Inputs with signs, quotes, comments or other number notations are omitted,
/// because binary formats cannot express them.
fn binary(good: Case, truncated: Case, joined: Case, empty: Case, reordered: Case, huge: Case) -> Kinds {
    let text = "numbers are binary";
    Kinds {
        good,
        truncated,
        joined,
        empty,
        reordered,
        negative: never("numbers in binary formats are unsigned"),
        huge,
        quoted: never(text),
        commented: never(text),
        non_decimal: never(text),
    }
}

/// Creates the inputs of a binary format that consists of a header and records. The first two records are valid and are
/// read as `rows`; `huge` is a record with a huge number.
fn records(
    header: &[u8],
    two: [Vec<u8>; 2],
    rows: [Row; 2],
    cut: &'static str,
    huge: (Vec<u8>, &'static str),
) -> Kinds {
    let file = |parts: &[&[u8]]| [&[header], parts].concat().concat();
    let [first, second] = &two;
    let good = file(&[first, second]);
    let truncated = fails(&good[..good.len() - 1], cut);
    let joined = if header.is_empty() {
        let (start, gap) = (rows[0], rows[1].0);
        assert!(gap > 0);
        // The second copy begins at the same time as the first. Sorting by time therefore moves its first request ahead
        // of the first copy's second request.
        reads([&good[..], &good].concat(), &[start, start, rows[1], rows[1]])
    } else {
        fails([&good[..], &good].concat(), "memory:record")
    };
    let empty =
        if header.is_empty() { fails("", "memory: is empty") } else { fails(header, "memory: contains no requests") };
    let reordered = reads(file(&[second, first]), &rows);
    binary(reads(good, &rows), truncated, joined, empty, reordered, fails(file(&[first, &huge.0]), huge.1))
}

fn fio(version: u8) -> Kinds {
    // Version 2 logs contain wait lines; version 3 logs have a timestamp on each line.
    let two = version == 2;
    let title = format!("fio version {version} iolog\n");
    let (first, wait, second, later) = if two {
        ("f read 512 4096", "f wait 500\n", "f write 8192 512", "f ")
    } else {
        ("100 f read 512 4096", "", "600 f write 8192 512", "600 f ")
    };
    let rows = [(0, Op::Read, 512, 4096), (500_000, Op::Write, 8192, 512)];
    let case = |row: &str, message| fails(format!("{title}{first}\n{later}{row}\n"), message);
    let joined =
        if two { "memory:2: field \"length\": \"4096f\" is not a whole" } else { "memory:2: \"f\" follows the last" };
    Kinds {
        good: reads(format!("{title}{first}\n{wait}{second}\n"), &rows),
        truncated: fails(format!("{title}{first}\n{later}write 8192"), "memory:3: field \"length\" is missing"),
        joined: fails(format!("{title}{first}{second}\n"), joined),
        empty: case("write", "memory:3: field \"offset\" is missing"),
        reordered: if two { never("waits are relative") } else { reads(format!("{title}{second}\n{first}\n"), &rows) },
        negative: case("write -8192 512", "memory:3: field \"offset\": \"-8192\" is negative"),
        huge: case(
            "write 99999999999999999999 512",
            "memory:3: field \"offset\": \"99999999999999999999\" does not fit",
        ),
        quoted: case("write \"8192\" 512", "memory:3: field \"offset\": \"\\\"8192\\\"\" is not a whole number"),
        commented: reads(format!("{title}# by hand\n{first}\n#\n{wait}{second}\n"), &rows),
        non_decimal: case("write 0x2000 512", "memory:3: field \"offset\": \"0x2000\" is not a whole number"),
    }
}

fn vscsi(version: u8) -> Kinds {
    let record = |command: u16, bytes: u32, block: u64, time: u64| {
        let (words, command) = ([7, bytes, 1].map(u32::to_le_bytes), command.to_le_bytes());
        let (block, time) = (block.to_le_bytes(), time.to_le_bytes());
        match version {
            1 => [words.as_flattened(), &command, &[0, 1], &block, &time].concat(),
            _ => [&command, &[0, 2][..], words.as_flattened(), &block, &time, &[0; 8]].concat(),
        }
    };
    let two = [record(0x28, 4096, 8, 100), record(0x2A, 512, 16, 103)];
    let cut = if version == 1 {
        "memory: the file ends inside record 2 (31 bytes left at byte 32)"
    } else {
        "memory: the file ends inside record 2 (39 bytes left at byte 40)"
    };
    let huge = (
        record(0x28, 4096, u64::MAX, 100),
        if version == 1 {
            "memory:record 2 at byte 32: field \"block\""
        } else {
            "memory:record 2 at byte 40: field \"block\""
        },
    );
    records(b"", two, [(0, Op::Read, 4096, 4096), (3_000, Op::Write, 8192, 512)], cut, huge)
}

/// Returns valid and damaged test inputs in the given format.
fn kinds(format: Format) -> Kinds {
    match format.name {
        "ssdlab-csv" => Text {
            header: "time_ns,op,sector,bytes,flags,pid\n",
            first: "1000,R,8,512,0x1,7",
            second: "3000,W,16,4096,0x2,7",
            rows: [(0, Op::Read, 4096, 512), (2000, Op::Write, 8192, 4096)],
            truncated: ("3000,W,16,40", ": the last line (line 3) is truncated"),
            joined: ":2: \"W\" follows the last column",
            empty: ("3000,W,,4096,0x2,7", ":3: field \"sector\" is missing"),
            negative: ("3000,W,-16,4096,0x2,7", ":3: field \"sector\": \"-16\" is negative"),
            huge: (
                "3000,W,36028797018963968,4096,0x2,7",
                ":3: field \"sector\": \"36028797018963968\" exceeds 64 bits when",
            ),
            quoted: ("3000,\"W\",\"16\",4096,0x2,7", ":3: field \"sector\": \"\\\"16\\\"\" is not a whole number"),
            non_decimal: ("3000,W,0x10,4096,0x2,7", ":3: field \"sector\": \"0x10\" is not a whole number"),
        }
        .kinds(),
        "msr" => Text {
            header: "",
            first: "128166372003061629,hm,0,Read,8192,4096,1000",
            second: "128166372003061639,hm,0,Write,512,1024,10",
            rows: [(0, Op::Read, 8192, 4096), (1000, Op::Write, 512, 1024)],
            truncated: ("128166372003061639,hm,0,Write,512,10", ": the last line (line 2) is truncated"),
            // The response time 1000 of the first record and the timestamp of the second form one number:
            // 1000128166372003061639, with 22 digits.
            joined: ":1: field \"ResponseTime\": \"1000128166372003061639\" does not fit 64 bits",
            empty: ("128166372003061639,hm,0,Write,,1024,10", ":2: field \"Offset\" is missing"),
            negative: ("128166372003061639,hm,0,Write,-512,1024,10", ":2: field \"Offset\": \"-512\" is negative"),
            huge: (
                "999999999999999999,hm,0,Write,512,1024,10",
                ":2: field \"Timestamp\": \"999999999999999999\" exceeds",
            ),
            quoted: ("\"128166372003061639\",hm,0,Write,512,1024,10", ":2: field \"Timestamp\": \"\\\"12816637"),
            non_decimal: (
                "128166372003061639,hm,0,Write,512.0,1024,10",
                ":2: field \"Offset\": \"512.0\" is not a whole",
            ),
        }
        .kinds(),
        "spc" => Text {
            header: "",
            first: "0,8,4096,r,0.5",
            second: "0,16,512,W,0.75",
            rows: [(0, Op::Read, 4096, 4096), (250_000_000, Op::Write, 8192, 512)],
            truncated: ("0,16,512,W", ":2: field \"Timestamp\" is missing"),
            // The format allows additional fields, but not a second opcode.
            joined: ":1: \"W\" is the opcode of a second record on this line",
            empty: ("0,16,,W,0.75", ":2: field \"Size\" is missing"),
            negative: ("0,16,512,W,-0.75", ":2: field \"Timestamp\": \"-0.75\" is negative"),
            huge: ("0,99999999999999999999,512,W,0.75", ":2: field \"LBA\": \"99999999999999999999\" does not fit 64"),
            quoted: ("0,\"16\",512,W,0.75", ":2: field \"LBA\": \"\\\"16\\\"\" is not a whole number"),
            non_decimal: ("0,16,5e2,W,0.75", ":2: field \"Size\": \"5e2\" is not a whole number"),
        }
        .kinds(),
        "systor17" => Text {
            header: "Timestamp,Response,IOType,LUN,Offset,Size\n",
            first: "1455592800.5,0.001,R,0,4096,512",
            second: "1455592800.75,,W,0,8192,1024",
            rows: [(0, Op::Read, 4096, 512), (250_000_000, Op::Write, 8192, 1024)],
            truncated: ("1455592800.75,,W,0,8192", ":3: field \"Size\" is missing"),
            joined: ":2: field \"Size\": \"5121455592800.75\" is not a whole number",
            empty: ("1455592800.75,,W,0,,1024", ":3: field \"Offset\" is missing"),
            negative: ("1455592800.75,,W,0,-8192,1024", ":3: field \"Offset\": \"-8192\" is negative"),
            huge: (
                "1455592800.75,,W,0,99999999999999999999,1024",
                ":3: field \"Offset\": \"99999999999999999999\" does not fit",
            ),
            quoted: ("1455592800.75,,W,\"0\",8192,1024", ":3: field \"LUN\": \"\\\"0\\\"\" is not a whole number"),
            non_decimal: ("1455592800.75,,W,0,0x2000,1024", ":3: field \"Offset\": \"0x2000\" is not a whole number"),
        }
        .kinds(),
        "alibaba" => Text {
            header: "",
            first: "4,R,8192,4096,1577808000000626",
            second: "4,W,512,1024,1577808000000629",
            rows: [(0, Op::Read, 8192, 4096), (3000, Op::Write, 512, 1024)],
            truncated: ("4,W,512,10", ":2: field \"timestamp\" is missing"),
            joined: ":1: \"W\" follows the last column",
            empty: ("4,W,,1024,1577808000000629", ":2: field \"offset\" is missing"),
            negative: ("4,W,512,-1,1577808000000629", ":2: field \"length\": \"-1\" is negative"),
            huge: ("4,W,18446744073709551615,1024,1577808000000629", ":2: field \"offset\" is too large"),
            quoted: (
                "\"4\",W,512,1024,1577808000000629",
                ":2: field \"device_id\": \"\\\"4\\\"\" is not a whole number",
            ),
            non_decimal: ("4,W,512,1024.5,1577808000000629", ":2: field \"length\": \"1024.5\" is not a whole number"),
        }
        .kinds(),
        "tencent" => Text {
            header: "",
            first: "1538323199,8,16,0,1576",
            second: "1538323200,0,8,1,1576",
            rows: [(0, Op::Read, 4096, 8192), (1_000_000_000, Op::Write, 0, 4096)],
            truncated: ("1538323200,0,8,1", ":2: field \"VolumeID\" is missing"),
            joined: ":1: \"0\" follows the last column",
            empty: ("1538323200,,8,1,1576", ":2: field \"Offset\" is missing"),
            negative: ("1538323200,-8,8,1,1576", ":2: field \"Offset\": \"-8\" is negative"),
            huge: (
                "1538323200,36028797018963968,8,1,1576",
                ":2: field \"Offset\": \"36028797018963968\" exceeds 64 bits when",
            ),
            quoted: ("1538323200,0,\"8\",1,1576", ":2: field \"Size\": \"\\\"8\\\"\" is not a whole number"),
            non_decimal: ("1538323200,0,8,0x1,1576", ":2: field \"IOType\": \"0x1\" is not a whole number"),
        }
        .kinds(),
        "fiu" => Text {
            header: "",
            first: "1000 7 a b 8 8 W 6 0 b14a9b5c5d4a0bd9d8b3c2dd4a6d5f0b",
            second: "1500 7 a b 16 16 R 6 0 b14a9b5c5d4a0bd9d8b3c2dd4a6d5f0b",
            rows: [(0, Op::Write, 4096, 4096), (500, Op::Read, 8192, 8192)],
            truncated: ("1500 7 a b 16 16 R 6 0", ":2: field \"major\": \"R\" is not a whole number"),
            joined: ":1: field \"process\": \"a b 8 8 W 6 0 b14a9b5c5d4a0bd9d8b3c2dd4a6d5f0b1500 7 a b",
            empty: ("1500 7", ":2: field \"process\" is missing"),
            negative: ("1500 7 a -16 16 R 6 0 b14a", ":2: field \"lba\": \"-16\" is negative"),
            huge: (
                "1500 7 a 36028797018963968 8 R 6 0 b14a",
                ":2: field \"lba\": \"36028797018963968\" exceeds 64 bits when",
            ),
            quoted: ("1500 7 a \"16\" 16 R 6 0 b14a", ":2: field \"lba\": \"\\\"16\\\"\" is not a whole number"),
            non_decimal: ("1500 7 a 16 0x10 R 6 0 b14a", ":2: field \"size\": \"0x10\" is not a whole number"),
        }
        .kinds(),
        "blkparse" => Text {
            header: "",
            first: "  8,0 1 1 0.000000001 1 Q W 8 + 8 [x]",
            second: "  8,0 1 2 0.000000005 1 Q R 16 + 16 [my y]",
            rows: [(0, Op::Write, 4096, 4096), (4, Op::Read, 8192, 8192)],
            truncated: ("  8,0 1 2 0.000000005 1 Q R 16 + 1", ":2: field \"process\" is missing"),
            joined: ":1: \"8,0 1 2 0.000000005 1 Q R 16 + 16 [my y]\" is a second record on this line",
            empty: ("  8,0 1 2 0.000000005 1 Q", ":2: field \"RWBS\" is missing"),
            negative: (
                "  8,0 1 2 0.000000005 1 Q R -16 + 16 [y]",
                ":2: field \"process\": \"-16 + 16 [y]\" is not a process",
            ),
            huge: (
                "8,0 1 2 0.5 1 Q R 99999999999999999999 + 8 [y]",
                ":2: field \"sector\": \"99999999999999999999\" does not fit",
            ),
            quoted: ("\"8,0\" 1 2 0.5 1 Q R 16 + 8 [y]", ":2: field \"device\": \"\\\"8,0\\\"\" is not MAJOR,MINOR"),
            non_decimal: ("8,0 1 2 0.5 1 Q R 0x10 + 8 [y]", ":2: field \"sector\": \"0x10\" is not a whole number"),
        }
        .kinds(),
        "ftrace" => Text {
            header: "",
            first: "  a-1 [000] d..1. 10.000001: block_rq_issue: 8,0 W 4096 () 8 + 8 [a]",
            second: "  b-2 [001] d..1. 10.000003: block_rq_issue: 8,0 R 8192 () 16 + 16 none,0,0 [b]",
            rows: [(0, Op::Write, 4096, 4096), (2000, Op::Read, 8192, 8192)],
            truncated: (
                "  b-2 [001] d..1. 10.000003: block_rq_issue: 8,0 R 8192 () 16 + 1",
                ":2: field \"process\" is missing",
            ),
            joined: ":1: \"block_rq_issue: 8,0 W 4096 () 8 + 8 [a]  b-2 [001]",
            empty: ("  b-2 [001] d..1. 10.000003: block_rq_issue:", ":2: field \"device\" is missing"),
            negative: (
                "b-2 [1] 10.3: block_rq_issue: 8,0 R 0 () 16 + -8 [b]",
                ":2: field \"sectors\": \"-8\" is negative",
            ),
            huge: (
                "b-2 [1] 10.3: block_rq_issue: 8,0 R 0 () 36028797018963968 + 8 [b]",
                ":2: field \"sector\": \"36028797018963968\" exceeds",
            ),
            quoted: (
                "b-2 [1] 10.3: block_rq_issue: \"8,0\" R 0 () 8 + 8 [b]",
                ":2: field \"device\": \"\\\"8,0\\\"\" is not MAJOR",
            ),
            non_decimal: (
                "b-2 [1] 10.3: block_rq_issue: 8,0 R 0 () 8 + 0x8 [b]",
                ":2: field \"sectors\": \"0x8\" is not a whole",
            ),
        }
        .kinds(),
        "etw" => Kinds {
            // File names are always quoted; numbers are decimal or hexadecimal.
            quoted: reads(
                "DiskRead, 1400, a (1), 5, 0xf, 0x2000, 0x1000, 400, 2, 0x6, 9, Normal, x, 0xf, \"C:\\a, b\"\n",
                &[(0, Op::Read, 8192, 4096)],
            ),
            non_decimal: reads(
                "DiskRead, 1400, a (1), 5, 0xf, 8192, 0x1000, 400, 2, 0x6, 9, Normal, x, 0xf, \"C:\\a\"\n",
                &[(0, Op::Read, 8192, 4096)],
            ),
            ..Text {
                header: "",
                first: "DiskRead, 1400, a (1), 5, 0xf, 0x2000, 0x1000, 400, 2, 0x6, 9, Normal, x, 0xf, \"C:\\a\"",
                second: "DiskWrite, 1900, a (1), 5, 0xf, 0x200, 0x400, 300, 2, 0x6, 9, Normal, x, 0xf, \"C:\\b\"",
                // Start time is the end time minus the elapsed time. Difference of the two start times: (1900 - 300) us
                // - (1400 - 400) us = 600 us.
                rows: [(0, Op::Read, 8192, 4096), (600_000, Op::Write, 512, 1024)],
                truncated: ("DiskWrite, 1900, a (1), 5, 0xf, 0x200, 0x4", ":2: field \"ElapsedTime\" is missing"),
                joined: ":1: \"1900\" follows the last column",
                empty: ("DiskWrite, 1900, a (1), 5, 0xf, , 0x400, 300, 2", ":2: field \"ByteOffset\" is missing"),
                negative: (
                    "DiskWrite, -1900, a (1), 5, 0xf, 0x200, 0x400, 300, 2",
                    ":2: field \"TimeStamp\": \"-1900\" is neg",
                ),
                huge: (
                    "DiskWrite, 1900, a (1), 5, 0xf, 0x10000000000000000, 0x400, 300, 2",
                    ":2: field \"ByteOffset\": \"0x10000000000000000\" does not fit 64 bits",
                ),
                quoted: ("", ""),
                non_decimal: ("", ""),
            }
            .kinds()
        },
        "fio2" => fio(2),
        "fio3" => fio(3),
        "mqsim" | "ssdsim" => Text {
            header: "",
            first: "1000 4 8 8 1",
            second: "1500 4 16 16 0",
            rows: [(0, Op::Read, 4096, 4096), (500, Op::Write, 8192, 8192)],
            truncated: ("1500 4 16 16", ":2: field \"type\" is missing"),
            // The last field of the first record and the first field of the second run together as 11500, which is not
            // a valid type. The reader reports the surplus fields instead of this invalid type.
            joined: ":1: \"4\" follows the last column",
            empty: ("1500 4 16", ":2: field \"sectors\" is missing"),
            negative: ("1500 4 -16 16 0", ":2: field \"start_sector\": \"-16\" is negative"),
            huge: (
                "1500 4 36028797018963968 8 0",
                ":2: field \"start_sector\": \"36028797018963968\" exceeds 64 bits when",
            ),
            quoted: ("1500 4 \"16\" 16 0", ":2: field \"start_sector\": \"\\\"16\\\"\" is not a whole number"),
            non_decimal: ("1500.5 4 16 16 0", ":2: field \"arrival\": \"1500.5\" is not a whole number"),
        }
        .kinds(),
        "disksim" => Kinds {
            // The flags field is hexadecimal; in 1b, bit 0 is set, so the request is a read.
            non_decimal: reads(
                "0.5 0 8 8 1\n1.5 0 16 16 1b\n",
                &[(0, Op::Read, 4096, 4096), (1_000_000, Op::Read, 8192, 8192)],
            ),
            ..Text {
                header: "",
                first: "0.5 0 8 8 1",
                second: "1.5 0 16 16 0",
                rows: [(0, Op::Read, 4096, 4096), (1_000_000, Op::Write, 8192, 8192)],
                truncated: ("1.5 0 16 16", ":2: field \"flags\" is missing"),
                joined: ":1: field \"flags\": \"11.5\" is not a hexadecimal number",
                empty: ("1.5 0 16", ":2: field \"bcount\" is missing"),
                negative: ("-1.5 0 16 16 0", ":2: field \"arrival\": \"-1.5\" is negative"),
                huge: (
                    "1.5 0 36028797018963968 8 0",
                    ":2: field \"blkno\": \"36028797018963968\" exceeds 64 bits when",
                ),
                quoted: ("\"1.5\" 0 16 16 0", ":2: field \"arrival\": \"\\\"1.5\\\"\" is not a number"),
                non_decimal: ("", ""),
            }
            .kinds()
        },
        "cache-csv" => Text {
            header: "clock_time,obj_id,obj_size,next_access_vtime\n",
            first: "10,7,512,-1",
            second: "12,9,64,-1",
            rows: [(0, Op::Read, 7, 512), (2_000_000_000, Op::Read, 9, 64)],
            truncated: ("12,9,64", ":3: field \"next_access_vtime\" is missing"),
            joined: ":2: field \"next_access_vtime\": \"-112\" is negative",
            empty: ("12,,64,-1", ":3: field \"obj_id\" is missing"),
            negative: ("12,-9,64,-1", ":3: field \"obj_id\": \"-9\" is negative"),
            huge: ("12,9,4294967296,-1", ":3: field \"obj_size\": \"4294967296\" exceeds 32 bits"),
            quoted: ("12,\"9\",64,-1", ":3: field \"obj_id\": \"\\\"9\\\"\" is not a whole number"),
            non_decimal: ("12.5,9,64,-1", ":3: field \"clock_time\": \"12.5\" is not a whole number"),
        }
        .kinds(),
        // Fields may be quoted.
        "columns" => Kinds {
            quoted: reads(
                "5,R,4096,512\n\"7\",\"W\",\"0\",\"64\"\n",
                &[(0, Op::Read, 4096, 512), (2, Op::Write, 0, 64)],
            ),
            ..Text {
                header: "t,o,a,s\n",
                first: "5,R,4096,512",
                second: "7,W,0,64",
                rows: [(0, Op::Read, 4096, 512), (2, Op::Write, 0, 64)],
                truncated: ("7,W,0", ": the last line (line 3) is truncated"),
                joined: ":2: \"W\" is beyond the last column",
                empty: ("7,W,,64", ":3: field \"offset\" is missing"),
                negative: ("7,W,-1,64", ":3: field \"offset\": \"-1\" is "),
                huge: (
                    "7,W,99999999999999999999,64",
                    ":3: field \"offset\": \"99999999999999999999\" does not fit 64 bits",
                ),
                quoted: ("", ""),
                non_decimal: ("7,W,0,6x4", ":3: field \"size\": \"6x4\" is not a whole number"),
            }
            .kinds()
        },
        "blktrace" => {
            let event = |time: u64, sector: u64, bytes: u32, mask: u32| {
                let words = [bytes, mask << 16 | 1, 5, 8 << 20, 0, 0].map(u32::to_le_bytes);
                let (time, sector) = (time.to_le_bytes(), sector.to_le_bytes());
                [&0x6561_7407_u32.to_le_bytes()[..], &[0; 4], &time, &sector, words.as_flattened()].concat()
            };
            let two = [event(100, 8, 4096, 1), event(130, 16, 512, 2)];
            let huge = (event(130, u64::MAX, 512, 2), "memory:record 2 at byte 48: field \"offset\" is too large");
            let cut = "memory: the file ends inside record 2 (47 bytes left at byte 48)";
            records(b"", two, [(0, Op::Read, 4096, 4096), (30, Op::Write, 8192, 512)], cut, huge)
        }
        "vscsi1" => vscsi(1),
        "vscsi2" => vscsi(2),
        "oracle-general" => {
            let record = |seconds: u32, object: u64, bytes: u32| {
                let next = (-1_i64).to_le_bytes();
                [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &bytes.to_le_bytes(), &next].concat()
            };
            let two = [record(10, 7, 512), record(12, 9, 64)];
            let huge = (record(12, u64::MAX, 512), "memory:record 2 at byte 24: field \"offset\" is too large");
            let cut = "memory: the file ends inside record 2 (23 bytes left at byte 24)";
            records(b"", two, [(0, Op::Read, 7, 512), (2_000_000_000, Op::Read, 9, 64)], cut, huge)
        }
        "lcs" => {
            // Version 1: oracleGeneral records after a header.
            let mut header = [0x1234_5678_9abc_def0_u64, 1].map(u64::to_le_bytes).as_flattened().to_vec();
            header.resize(8192, 0);
            let record = |seconds: u32, object: u64, bytes: u32| {
                [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &bytes.to_le_bytes(), &[0xFF; 8]].concat()
            };
            let two = [record(10, 7, 512), record(12, 9, 64)];
            let huge = (record(12, u64::MAX, 512), "memory:record 3 at byte 8216: field \"offset\" is too large");
            let cut = "memory: the file ends inside record 3 (23 bytes left at byte 8216)";
            records(&header, two, [(0, Op::Read, 7, 512), (2_000_000_000, Op::Read, 9, 64)], cut, huge)
        }
        "ssdlab-volume" => {
            let mut header = volume::head(false).to_vec();
            volume::name(VOLUME_NAME, "7", &mut header);
            let record = |time_ns, op, offset, bytes| {
                volume::record(&Request { time_ns, offset, bytes, op, flags: 0, stream: 0 }).to_vec()
            };
            let two = [record(5, Op::Read, 4096, 512), record(9, Op::Write, 0, 64)];
            let huge =
                (record(9, Op::Write, u64::MAX, 64), "memory:record 4 at byte 72: field \"offset\" is too large");
            let cut = "memory: the file ends inside record 4 (23 bytes left at byte 72)";
            records(&header, two, [(0, Op::Read, 4096, 512), (4, Op::Write, 0, 64)], cut, huge)
        }
        name => panic!("format {name} has no test inputs; add them here"),
    }
}

/// Compares a reader's result with the expected result; returns the difference, if any.
fn wrong(options: &ReadOptions, kind: &str, case: &Case) -> Option<String> {
    let result = read_with(&case.input, options);
    match (&case.outcome, result) {
        (Outcome::Never(why), _) => why.is_empty().then(|| "has no reason".into()),
        (Outcome::Fails(message), Err(error)) => {
            let message = if message.starts_with(':') { format!("memory{message}") } else { (*message).into() };
            let error = error.to_string();
            (!error.starts_with(&message) || error.contains('\n')).then_some(error)
        }
        (Outcome::Fails(_), Ok((requests, _))) => Some(format!("{requests:?}")),
        (Outcome::Reads(_), Err(error)) => Some(error.to_string()),
        (Outcome::Reads(rows), Ok((requests, report))) => {
            let read: Vec<Row> =
                requests.iter().map(|request| (request.time_ns, request.op, request.offset, request.bytes)).collect();
            let counts = report.counts;
            let moved = counts.out_of_order > 0;
            let right = read == *rows
                && moved == matches!(kind, "reordered" | "joined")
                && (counts.unknown_op, counts.zero_length, counts.bad_lines) == (0, 0, 0);
            (!right).then(|| format!("{read:?} {counts:?}"))
        }
    }
}

#[test]
fn every_kind_of_input_has_its_expected_result_in_every_format() {
    let mut failures = Vec::new();
    for &format in FORMATS.iter() {
        let columns = (format.name == "columns").then(Columns::default);
        let options = ReadOptions { format: Some(format), columns, ..ReadOptions::default() };
        for (kind, case) in kinds(format).all() {
            let wrong = wrong(&options, kind, &case);
            failures.extend(wrong.map(|why| format!("{} {kind} {}: {why}", format.name, case.input.escape_ascii())));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn valid_rows_are_detected_as_their_format() {
    for &format in FORMATS.iter().filter(|format| !["columns", "ssdsim"].contains(&format.name)) {
        assert_eq!(detect_bytes(&kinds(format).good.input).unwrap(), format.name);
    }
}

#[test]
fn a_text_without_requests_is_an_error() {
    for &format in FORMATS.iter() {
        let columns = (format.name == "columns").then(Columns::default);
        let options = ReadOptions { format: Some(format), columns, ..ReadOptions::default() };
        let message = |text: &[u8]| read_with(text, &options).unwrap_err().to_string();
        assert_eq!(message(b""), "memory: is empty; there is nothing to replay", "{}", format.name);
        if is_text(format) {
            for text in [&b"\n \t\r\n\n"[..], b"# only\n", b"\xEF\xBB\xBF# a\n\n# b"] {
                let expected = "memory: contains no requests; use a trace with reads or writes";
                assert_eq!(message(text), expected, "{} {}", format.name, text.escape_ascii());
            }
        }
    }
}

fn is_text(format: Format) -> bool {
    !matches!(kinds(format).quoted.outcome, Outcome::Never(_))
}

/// In text formats, a last line without a newline only causes a note. If the lines of a format end with a bracket or a
/// quote, a truncated last line is an error.
#[test]
fn a_last_line_without_newline_is_noted() {
    for &format in FORMATS.iter().filter(|format| is_text(format)) {
        let columns = (format.name == "columns").then(Columns::default);
        let options = ReadOptions { format: Some(format), columns, ..ReadOptions::default() };
        let whole = kinds(format).good.input;
        let text = whole.trim_ascii_end();
        let (requests, report) = read_with(text, &options).unwrap();
        assert_eq!(requests, read_with(&whole, &options).unwrap().0);
        let line = text.split(|&byte| byte == b'\n').count();
        let closed = matches!(format.name, "blkparse" | "ftrace" | "etw");
        let note = (!closed).then(|| format!("memory:{line}: the last line has no newline and may be truncated"));
        assert_eq!(report.notes, Vec::from_iter(note), "{}", format.name);
        let (_, report) = read_with(&[&whole[..], b"# end"].concat(), &options).unwrap();
        assert!(report.notes.is_empty() || format.name == "ftrace", "{} {:?}", format.name, report.notes);
    }
}

/// If an error message suggests a layout for `--columns`, checks that this layout reads the file. The test files
/// contain quoted numbers, numbers in other notations, and text keys.
#[test]
fn the_layout_in_an_error_reads_the_lines() {
    let mut advised = Vec::new();
    for &format in FORMATS.iter().filter(|format| is_text(format)) {
        let Kinds { good, quoted, non_decimal, .. } = kinds(format);
        let whole = String::from_utf8(good.input.clone()).unwrap();
        let keyed = whole.replace(",9,", ",k9,");
        for text in [quoted.input, non_decimal.input, keyed.into_bytes()] {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            let Err(error) = read_with(&text, &options) else { continue };
            let error = error.to_string();
            let Some((_, rest)) = error.split_once("; read it with --columns ") else { continue };
            let columns = Columns::parse(rest.strip_suffix(" or pass --skip-bad").unwrap()).unwrap();
            let read = |target, text: &[u8]| {
                let columns = Some(columns.clone());
                read_with(text, &ReadOptions { columns, target, ..ReadOptions::default() }).unwrap().0
            };
            let expected = read_with(&good.input, &options).unwrap().0;
            assert_eq!(read(Target::Drive, &good.input), expected, "{}", format.name);
            let (kept, detected) = (read(Target::CountedObjects, &text), detect_bytes(&text));
            assert_eq!(kept.len(), expected.len(), "{error}");
            if let Err(other) = detected {
                assert!(other.to_string().contains("comes closest); read it with --columns"), "{other}");
            }
            advised.push(format.name);
        }
    }
    advised.dedup();
    assert_eq!(advised, ["ssdlab-csv", "msr", "spc", "systor17", "alibaba", "cache-csv"]);
}
