//! The page of replacement policies and admissions: what each is, where it comes from, and what it takes.

use ssdlab_cache::{ADMISSIONS, POLICIES, build_policy};
use ssdlab_core::Parameter;
use std::fmt::Write;

const ITEMS: u32 = 1_000_000;
const CAPACITY: u64 = 100_000;

fn parameters(parameters: &[Parameter]) -> String {
    let written = |one: &Parameter| format!("`{}` = {}", one.name, one.default);
    parameters.iter().map(written).collect::<Vec<_>>().join(", ")
}

/// The page, in Markdown.
///
/// # Panics
/// Never: every policy can be built with its defaults.
pub fn policies_markdown() -> String {
    let mut page = String::from(
        "# Replacement policies\n\n\
         Generated from the tables `POLICIES` and `ADMISSIONS`; do not edit. Each policy has a file below\n\
         `crates/cache/src/policy/` with pseudo-code, source and what the source leaves open. Memory is for each of\n\
         1,000,000 items that the trace touches, in a cache of 100,000 of them; speed is in\n\
         [benchmarks](../benchmarks.md), section `cache`.\n\n\
         | policy | | source | parameters | sizes | bytes per item |\n|---|---|---|---|---|---|\n",
    );
    for info in POLICIES.iter() {
        let policy = build_policy(info, &[], CAPACITY, ITEMS, true).expect("defaults are possible");
        let bytes = policy.bytes() as f64 / f64::from(ITEMS);
        let (parameters, sizes) = (parameters(info.parameters), if info.role.sizes { "yes" } else { "no" });
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {parameters} | {sizes} | {bytes:.1} |",
            info.name, info.help, info.source
        );
    }
    page.push_str(
        "\n## Admissions\n\nWho lets newcomers in, in front of any policy.\n\n\
         | admission | | source | parameters | sizes |\n|---|---|---|---|---|\n",
    );
    for info in ADMISSIONS.iter() {
        let (parameters, sizes) = (parameters(info.parameters), if info.role.sizes { "yes" } else { "no" });
        let _ = writeln!(page, "| `{}` | {} | {} | {parameters} | {sizes} |", info.name, info.help, info.source);
    }
    page
}
