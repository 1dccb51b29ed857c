//! Entry point of a crate of components: runs `ssdlab` with these components compiled in.

use std::env::args_os;
use std::io::Error;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Runs the command line of ssdlab with the components of the crate in `directory`, and the arguments of this program:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     ssdlab::main(env!("CARGO_MANIFEST_DIR"))
/// }
/// ```
/// So `cargo run --release -- run trace.csv -s ftl=mine` works in the directory of the crate. `ssdlab build` builds the
/// command first, unless the sources are unchanged.
#[allow(clippy::print_stderr, reason = "this is a program")]
pub fn main(directory: &str) -> ExitCode {
    launch(directory).unwrap_or_else(|error| {
        eprintln!("ssdlab: {error}; install ssdlab in the active Python environment");
        ExitCode::from(2)
    })
}

/// Builds the command, and runs it in place of this program. Returns the exit status if it cannot be built.
fn launch(directory: &str) -> Result<ExitCode, Error> {
    // A clone's environment has priority, because its version of `ssdlab` fits the sources that this crate was built
    // from.
    let cloned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/ssdlab");
    let ssdlab = if cloned.exists() { cloned } else { "ssdlab".into() };
    let built = Command::new(ssdlab).args(["build", "--with", directory]).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Ok(ExitCode::from(2));
    }
    let command = String::from_utf8_lossy(&built.stdout);
    Err(Command::new(command.trim_end()).args(args_os().skip(1)).exec())
}
