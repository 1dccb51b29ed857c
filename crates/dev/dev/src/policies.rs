//! Reference page of replacement policies and admissions: description, source, parameters and memory.

use ssdlab_cache::{ADMISSIONS, POLICIES, build_policy};
use ssdlab_core::Parameter;
use std::fmt::Write;

const ITEMS: u32 = 1_000_000;
const CAPACITY: u64 = 100_000;

fn parameters(parameters: &[Parameter]) -> String {
    let entry = |parameter: &Parameter| format!("`{}` = {}", parameter.name, parameter.default);
    parameters.iter().map(entry).collect::<Vec<_>>().join(", ")
}

/// Returns the reference page of policies in Markdown.
///
/// # Panics
/// Panics if a policy cannot be built with its defaults, which is a bug.
pub fn policies_markdown() -> String {
    let mut page = String::from(
        "# Replacement policies\n\n\
         Generated from the tables `POLICIES` and `ADMISSIONS`; do not edit. Each policy has a file below\n\
         `crates/host/cache/src/policy/` with pseudo-code, source and our choices where the source is silent. Memory is\n\
         per item for a trace of 1,000,000 items and a cache of 100,000; speed is in\n\
         [benchmarks](../benchmarks.md), section `cache`.\n\n\
         | policy | | source | parameters | sizes | bytes per item |\n|---|---|---|---|---|---|\n",
    );
    for info in POLICIES.iter() {
        let policy = build_policy(info, &[], CAPACITY, ITEMS, true).expect("the defaults are valid");
        let bytes = policy.bytes() as f64 / f64::from(ITEMS);
        let (parameters, sizes) = (parameters(info.parameters), if info.role.sizes { "yes" } else { "no" });
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {parameters} | {sizes} | {bytes:.1} |",
            info.name, info.help, info.source
        );
    }
    page.push_str(
        "\n## Admissions\n\nAn admission in front of any policy decides which missed items enter the cache.\n\n\
         | admission | | source | parameters | sizes |\n|---|---|---|---|---|\n",
    );
    for info in ADMISSIONS.iter() {
        let (parameters, sizes) = (parameters(info.parameters), if info.role.sizes { "yes" } else { "no" });
        let _ = writeln!(page, "| `{}` | {} | {} | {parameters} | {sizes} |", info.name, info.help, info.source);
    }
    page
}
