//! Serves memory over NBD. The tests with real clients use this program, and it shows how to set up a server.
//!
//! ```text
//! memory (--socket PATH | --listen ADDRESS)... [--size BYTES] [--block-size BYTES] [--read-only] [--tls FOLDER]
//! ```
//! The program ends at the end of its standard input.
#![allow(clippy::print_stderr, reason = "an example prints messages for its user")]

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use ssdlab_nbd::{Address, BlockSizes, Entry, Features, Memory, Options, Server, Sockets, Tls};

fn main() -> Result<(), Box<dyn Error>> {
    let mut addresses = Vec::new();
    let mut size = 1 << 30;
    let (mut sizes, mut features, mut options) = (BlockSizes::default(), Features::default(), Options::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("option {name} needs a value"));
        match name.as_str() {
            "--socket" => addresses.push(Address::Unix(value()?.into())),
            "--listen" => addresses.push(Address::Tcp(value()?.parse()?)),
            "--size" => size = value()?.parse()?,
            "--block-size" => sizes.minimum = value()?.parse()?,
            "--read-only" => features.read_only = true,
            "--tls" => options.tls = Some(Tls::load(Path::new(&value()?), true, false)?),
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    let export = Memory::new(size).with_block_sizes(sizes).with_features(features);
    let server = Server::new(Sockets::bind(&addresses)?, vec![Entry::new("memory", Arc::new(export))], options);
    for address in server.addresses() {
        eprintln!("listening at {address:?}");
    }
    let handle = server.handle();
    thread::spawn(move || {
        // An error counts as the end of the input.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        handle.stop();
    });
    server.run()?;
    Ok(())
}
