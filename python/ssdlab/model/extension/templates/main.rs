//! The `ssdlab` command with the component of this crate compiled in.

use std::process::ExitCode;

fn main() -> ExitCode {
    ssdlab::main(env!("CARGO_MANIFEST_DIR"))
}
