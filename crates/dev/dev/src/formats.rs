//! Reference page of trace formats: description, source and use.

use ssdlab_trace::FORMATS;
use std::fmt::Write;

/// Returns the reference page of trace formats in Markdown.
pub fn formats_markdown() -> String {
    let mut page = String::from(
        "# Trace formats\n\n\
         Generated from the table `FORMATS`; do not edit. Each format has a file below\n\
         `crates/host/trace/src/formats/` with its columns and units. `ssdlab trace convert` writes the formats with\n\
         `yes` in column `written`.\n\n\
         | format | | source | written | objects of a cache |\n|---|---|---|---|---|\n",
    );
    for info in FORMATS.iter() {
        let [written, objects] = [info.role.encoder.is_some(), info.role.objects].map(|is| if is { "yes" } else { "" });
        let _ = writeln!(page, "| `{}` | {} | {} | {written} | {objects} |", info.name, info.help, info.source);
    }
    page
}
