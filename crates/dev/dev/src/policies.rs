//! Reference page of replacement and admission policies: description, source, parameters and memory.

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
         Generated from the tables `POLICIES` and `ADMISSIONS`; do not edit. The source file of each policy, in\n\
         `crates/host/cache/src/policy/`, has pseudo-code, the publication, and our choices where the publication is\n\
         silent. Bytes per item are for a trace of 1,000,000 items and a cache of 100,000 items. For the speed of\n\
         each policy, see section `cache` of the [benchmarks](../benchmarks.md).\n\n\
         | policy | | source | parameters | supports item sizes | bytes per item |\n|---|---|---|---|---|---|\n",
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
        "\n## Admission policies\n\n\
         An admission policy in front of any replacement policy decides which missed items enter the cache.\n\n\
         | admission policy | | source | parameters | supports item sizes |\n|---|---|---|---|---|\n",
    );
    for info in ADMISSIONS.iter() {
        let (parameters, sizes) = (parameters(info.parameters), if info.role.sizes { "yes" } else { "no" });
        let _ = writeln!(page, "| `{}` | {} | {} | {parameters} | {sizes} |", info.name, info.help, info.source);
    }
    page
}
