//! Checks that adding a member to a registry takes one file and one line: no other product code mentions existing
//! members.

use ssdlab_dev::crates;
use ssdlab_dev::pages::root;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Name of a member, its file, and the other files that mention the member, with the number of lines.
type Member = (&'static str, &'static str, &'static [(&'static str, usize)]);

/// One member of each kind. The registry's file declares the module and registers the member.
const MEMBERS: &[Member] = &[
    ("windowed_greedy", "crates/flash/ftl/src/gc/windowed_greedy.rs", &[("crates/flash/ftl/src/gc/mod.rs", 2)]),
    (
        "shared",
        "crates/flash/ftl/src/placement/shared.rs",
        // The validation uses `shared`, because the analytic formulas assume this placement. The conformance tests draw
        // it at random.
        &[
            ("crates/conformance/src/drive.rs", 1),
            ("crates/flash/ftl/src/placement/mod.rs", 2),
            ("python/ssdlab/study/validation/amplification.py", 1),
        ],
    ),
    (
        "two_q",
        "crates/flash/ftl/src/map/cache/two_q.rs",
        // A replacement policy of the host's cache has a file of the same name.
        &[("crates/host/cache/src/policy/mod.rs", 2), ("crates/flash/ftl/src/map/cache/mod.rs", 2)],
    ),
    (
        "dftl",
        "crates/flash/ftl/src/map/dftl.rs",
        // A preset has the same name, and `choice.rs` accepts the spelling from when DFTL was not a map.
        &[
            ("crates/lab/config/src/presets.rs", 1),
            ("crates/flash/ftl/src/choice.rs", 1),
            ("crates/flash/ftl/src/map/mod.rs", 2),
        ],
    ),
    (
        "bast",
        "crates/flash/ftl/src/log/bast.rs",
        // Step-by-step pages label the log blocks of BAST "log", because BAST has only one kind of log block.
        &[
            ("crates/flash/ftl/src/choice.rs", 1),
            ("crates/flash/ftl/src/log/mod.rs", 1),
            ("crates/lab/explain/src/label.rs", 1),
        ],
    ),
    (
        "host_first",
        "crates/flash/nand/src/backend/parallel/scheduler/host_first.rs",
        &[("crates/flash/nand/src/backend/parallel/scheduler/mod.rs", 2)],
    ),
    ("flashfq", "crates/host/sched/src/scheduler/flashfq.rs", &[("crates/host/sched/src/scheduler/mod.rs", 2)]),
    ("lirs", "crates/host/cache/src/policy/lirs.rs", &[("crates/host/cache/src/policy/mod.rs", 2)]),
    (
        "systor17",
        "crates/host/trace/src/formats/systor17.rs",
        // `kinds.rs` holds the inputs of a test.
        &[("crates/host/trace/src/formats/kinds.rs", 2), ("crates/host/trace/src/formats/mod.rs", 2)],
    ),
    (
        "copy_files",
        "crates/host/trace/src/generate/copy_files.rs",
        // The remedy for a run that was cut short counts the requests of the whole copy.
        &[("crates/host/trace/src/generate/mod.rs", 2), ("python/ssdlab/model/remedy.py", 1)],
    ),
    (
        "sieve",
        "crates/pages/pool/src/policy/sieve.rs",
        // The policy of simulated caches has the same name.
        &[
            ("crates/host/cache/src/policy/mod.rs", 2),
            ("crates/host/cache/src/policy/sieve.rs", 1),
            ("crates/pages/pool/src/policy/mod.rs", 2),
        ],
    ),
    ("libdeflate", "crates/pages/codec/src/libdeflate.rs", &[("crates/pages/codec/src/lib.rs", 2)]),
];

#[test]
fn only_its_file_and_its_registry_mention_a_member() {
    let mut sources = Vec::new();
    for folder in crates(&root()).unwrap().iter().filter(|folder| !folder.starts_with(root().join("crates/dev"))) {
        collect(&folder.join("src"), &mut sources);
    }
    collect(&root().join("python/ssdlab"), &mut sources);
    for &(name, own, others) in MEMBERS {
        let count = |(file, source): &(String, String)| {
            let lines = source.lines().filter(|line| names(line, name)).count();
            (lines > 0 && file != own).then(|| (file.clone(), lines))
        };
        let naming: BTreeMap<String, usize> = sources.iter().filter_map(count).collect();
        let expected = others.iter().map(|&(file, lines)| (file.into(), lines)).collect();
        assert_eq!(naming, expected, "files that name {name}");
        assert!(sources.iter().any(|(file, source)| file == own && source.contains(&format!("\"{name}\""))));
    }
}

/// True if a line of code mentions the member: as a string, in a key, as a module or in a path.
fn names(line: &str, name: &str) -> bool {
    let code = line.trim_start();
    let forms =
        [format!("\"{name}\""), format!(".{name}."), format!(".{name}\""), format!("{name}::"), format!("mod {name};")];
    let starts_name = |at: usize| !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
    let occurs = |form: &String| code.match_indices(form.as_str()).any(|(at, _)| starts_name(at));
    !code.starts_with("//") && !code.starts_with('#') && forms.iter().any(occurs)
}

/// Collects the path and text of all sources below `folder`, without tests.
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
