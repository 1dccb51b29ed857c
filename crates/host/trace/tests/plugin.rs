//! A trace format registered from another crate is listed, detected, read and written like a built-in one.

use std::path::PathBuf;

use ssdlab_trace::formats::{Encoder, Entry, Fault, Io, Item, LineFormat, Stream, Supported, Tables, parse};
use ssdlab_trace::{FORMATS, FormatInfo, FormatRules, Op, ReadOptions, Request, Source, TraceReader, open_writer};

/// Lines such as `17us disk 4096+512`: time, device, offset and length of a read.
#[derive(Default)]
struct Plugin;

fn number<'a>(field: &'static str, text: Option<&'a str>) -> Result<u64, Fault<'a>> {
    let text = text.ok_or(Fault::missing(field))?;
    text.parse().map_err(|_| Fault::new(field, text.as_bytes(), "is not a whole number"))
}

impl LineFormat for Plugin {
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let text = std::str::from_utf8(line).map_err(|_| Fault::new("", line, "is not text"))?;
        let mut words = text.split(' ');
        let time_us = number("time", words.next().and_then(|time| time.strip_suffix("us")))?;
        let device = tables.device(words.next().ok_or(Fault::missing("device"))?.as_bytes());
        let mut extent = words.next().unwrap_or_default().split('+');
        let (offset, bytes) = (number("offset", extent.next())?, number("length", extent.next())?);
        let time_ns = time_us * 1000;
        Ok(Entry::Io(Io { time_ns, op: Op::Read, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

struct Writer;

impl Encoder for Writer {
    fn supported(&self) -> Supported {
        Supported { ops: &[Op::Read], unit_ns: 1000, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        out.extend(format!("{}us disk {}+{}\n", item.time, item.offset, item.bytes).bytes());
    }
}

static PLUGIN: FormatInfo = FormatInfo {
    name: "plugin",
    help: "Reads of a made-up tracer.",
    source: "",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(Writer)), ..FormatRules::lines::<Plugin>() },
};

fn read(path: PathBuf, options: &ReadOptions) -> (Vec<Request>, TraceReader) {
    let mut reader = TraceReader::open(&[path], options).unwrap();
    let mut requests = Vec::new();
    while reader.fill(&mut requests, 10).unwrap() > 0 {}
    (requests, reader)
}

/// Expected requests by hand: the first request is at time 0, and only its device is read.
#[test]
fn a_registered_format_is_detected_read_and_written() {
    FORMATS.register(&PLUGIN).expect("the registry is unused");
    assert!(parse("Plugin").unwrap() == &PLUGIN && parse("unknown").unwrap_err().to_string().contains("plugin"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("plugin.txt");
    std::fs::write(&path, "17us sda 4096+512\n19us sdb 0+8\n# later\n20us sda 8192+1024\n").unwrap();
    let (requests, reader) = read(path.clone(), &ReadOptions::default());
    let request = |time_ns, offset, bytes| Request { time_ns, offset, bytes, op: Op::Read, flags: 0, stream: 0 };
    assert_eq!(requests, [request(0, 4096, 512), request(3000, 8192, 1024)]);
    assert_eq!((reader.format().name, &reader.report().other_devices[..]), ("plugin", &[("sdb".into(), 1)][..]));

    let copy = folder.join("plugin-copy.txt");
    let mut writer = open_writer(&copy, &PLUGIN).unwrap();
    writer.write(&requests, &[String::new()]).unwrap();
    assert_eq!(writer.finish().unwrap().requests, 2);
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "0us disk 4096+512\n3us disk 8192+1024\n");
    assert_eq!(read(copy, &ReadOptions::default()).0, requests);

    std::fs::write(&path, "17us sda 4096+512\n19us sda x+8\n").unwrap();
    let options = ReadOptions { format: Some(&PLUGIN), ..ReadOptions::default() };
    let error = TraceReader::open(&[path], &options).unwrap().fill(&mut Vec::new(), 10).unwrap_err().to_string();
    assert!(
        error.ends_with("plugin.txt:2: field \"offset\": \"x\" is not a whole number; fix it or pass --skip-bad"),
        "{error}"
    );
}
