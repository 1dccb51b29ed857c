//! Adding something to a table takes its file and one line: nothing else in the product names what is there already.

use ssdlab_dev::pages::root;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Name of a member, its file, and the other files that name it with the number of lines.
type Member = (&'static str, &'static str, &'static [(&'static str, usize)]);

/// One member of each kind. The file of its table declares the module and registers it.
const MEMBERS: &[Member] = &[
    ("windowed_greedy", "crates/ftl/src/gc/windowed_greedy.rs", &[("crates/ftl/src/gc/mod.rs", 2)]),
    (
        "shared",
        "crates/ftl/src/placement/shared.rs",
        // The validation asks for it, as the formulas of the theory do.
        &[("crates/ftl/src/placement/mod.rs", 2), ("python/ssdlab/study/validation/amplification.py", 1)],
    ),
    (
        "two_q",
        "crates/ftl/src/map/cache/two_q.rs",
        // The replacement policy in a file of the same name.
        &[("crates/cache/src/policy/mod.rs", 2), ("crates/ftl/src/map/cache/mod.rs", 2)],
    ),
    (
        "dftl",
        "crates/ftl/src/map/dftl.rs",
        // The preset of the same name, and DFTL as it was spelt before it was a map.
        &[
            ("crates/config/src/presets.rs", 1),
            ("crates/config/src/sections/ftl/mod.rs", 2),
            ("crates/ftl/src/choice.rs", 1),
            ("crates/ftl/src/map/mod.rs", 2),
        ],
    ),
    ("bast", "crates/ftl/src/log/bast.rs", &[("crates/ftl/src/choice.rs", 1), ("crates/ftl/src/log/mod.rs", 1)]),
    (
        "host_first",
        "crates/nand/src/backend/parallel/scheduler/host_first.rs",
        &[("crates/nand/src/backend/parallel/scheduler/mod.rs", 2)],
    ),
    ("flashfq", "crates/sched/src/elevator/flashfq.rs", &[("crates/sched/src/elevator/mod.rs", 2)]),
    ("lirs", "crates/cache/src/policy/lirs.rs", &[("crates/cache/src/policy/mod.rs", 2)]),
    ("libdeflate", "crates/codec/src/libdeflate.rs", &[("crates/codec/src/lib.rs", 2)]),
];

/// Crates that are no part of the product.
const DEVELOPMENT: &[&str] = &["bench", "dev", "testkit", "tiers"];

#[test]
fn a_member_is_named_by_its_file_and_its_line() {
    let mut sources = Vec::new();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap();
        if !DEVELOPMENT.iter().any(|name| folder.file_name() == *name) {
            collect(&folder.path().join("src"), &mut sources);
        }
    }
    collect(&root().join("python/ssdlab"), &mut sources);
    for &(name, own, others) in MEMBERS {
        let count = |(file, source): &(String, String)| {
            let lines = source.lines().filter(|line| names(line, name)).count();
            (lines > 0 && file != own).then(|| (file.clone(), lines))
        };
        let found: BTreeMap<String, usize> = sources.iter().filter_map(count).collect();
        let expected = others.iter().map(|&(file, lines)| (file.into(), lines)).collect();
        assert_eq!(found, expected, "{name}: a table names it, and nothing that follows from the table");
        assert!(sources.iter().any(|(file, source)| file == own && source.contains(&format!("\"{name}\""))));
    }
}

/// Whether a line of code names it: as a text, in a key, as a module or in a path.
fn names(line: &str, name: &str) -> bool {
    let code = line.trim_start();
    let ways =
        [format!("\"{name}\""), format!(".{name}."), format!(".{name}\""), format!("{name}::"), format!("mod {name};")];
    let whole = |at: usize| !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
    let named = |way: &String| code.match_indices(way.as_str()).any(|(at, _)| whole(at));
    !code.starts_with("//") && !code.starts_with('#') && ways.iter().any(named)
}

/// Every source below `folder`, without tests inside of it, as path from the root and text.
fn collect(folder: &Path, sources: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "py") {
            let text = fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            sources.push((path.strip_prefix(root()).unwrap().display().to_string(), product));
        }
    }
}
