//! Reference page of trace formats: description, source and use.

use ssdlab_trace::FORMATS;
use std::fmt::Write;

/// Returns the reference page of trace formats in Markdown.
pub fn formats_markdown() -> String {
    let mut page = String::from(
        "# Trace formats\n\n\
         Generated from the table `FORMATS`; do not edit. The source file of each format, in\n\
         `crates/host/trace/src/formats/`, describes its columns and units. `ssdlab trace convert` writes the formats\n\
         with `yes` in column `written`.\n\n\
         | format | | source | written | cache objects |\n|---|---|---|---|---|\n",
    );
    for info in FORMATS.iter() {
        let [written, objects] = [info.role.encoder.is_some(), info.role.objects].map(|is| if is { "yes" } else { "" });
        let _ = writeln!(page, "| `{}` | {} | {} | {written} | {objects} |", info.name, info.help, info.source);
    }
    page
}
