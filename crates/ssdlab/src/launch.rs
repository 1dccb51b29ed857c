//! Entry point for a crate with components: runs `ssdlab` with the components compiled in.

use std::env::args_os;
use std::io::Error;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Runs the `ssdlab` command with the arguments of this program, after compiling in the components of the crate in
/// `directory`:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     ssdlab::main(env!("CARGO_MANIFEST_DIR"))
/// }
/// ```
/// For example, `cargo run --release -- run trace.csv -s ftl=mine` works in the directory of the crate. `ssdlab build`
/// first builds the command if the sources have changed.
#[allow(clippy::print_stderr, reason = "this is a program")]
pub fn main(directory: &str) -> ExitCode {
    launch(directory).unwrap_or_else(|error| {
        eprintln!("ssdlab: {error}; install ssdlab in the active Python environment");
        ExitCode::from(2)
    })
}

/// Builds the command and replaces this process with it. Returns the exit status of the build if the build fails.
fn launch(directory: &str) -> Result<ExitCode, Error> {
    // Prefers the environment of a repository clone, because its `ssdlab` matches the sources of this crate.
    let cloned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/ssdlab");
    let ssdlab = if cloned.exists() { cloned } else { "ssdlab".into() };
    let built = Command::new(ssdlab).args(["build", "--with", directory]).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Ok(ExitCode::from(2));
    }
    let command = String::from_utf8_lossy(&built.stdout);
    Err(Command::new(command.trim_end()).args(args_os().skip(1)).exec())
}
