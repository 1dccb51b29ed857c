//! Goal: the settings of a what-if change give the set-up that a diagnosis simulates. Method: drives on which every
//! change has an effect.

use ssdlab_config::{Config, Layer};
use ssdlab_nand::Geometry;
use ssdlab_sim::{Setup, WhatIf};

/// A drive with few blocks, whose pages are mapping units.
const FEW_BLOCKS: &str = "[device]\nop = \"7%\"\nreserve = \"extra\"\n[nand]\npages_per_block = 512";

fn config(sets: &[String]) -> Config {
    let file = Layer { origin: "base.toml".into(), text: FEW_BLOCKS.into() };
    let layer = |text: &String| Layer { origin: "--set".into(), text: text.clone() };
    let sets: Vec<Layer> = sets.iter().map(layer).collect();
    Config::resolve(Some("tlc-nvme"), &[file], &sets).expect("resolves")
}

fn owned(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|&set| set.into()).collect()
}

/// Returns the set-up of the settings before and after a what-if change.
fn before_and_after(sets: &[&str], what_if: WhatIf) -> (Setup, Option<Setup>) {
    let before = config(&owned(sets));
    let changes: Vec<String> = before.what_if(what_if).iter().map(|(key, value)| format!("{key}={value}")).collect();
    let setup = |config: &Config| config.settings(None).expect("fits together").setup;
    let after = (!changes.is_empty()).then(|| setup(&config(&[owned(sets), changes].concat())));
    (setup(&before), after)
}

const DRIVES: [&[&str]; 7] = [
    &["device.capacity=256MiB", "host.replay.closed.think=1ms"],
    &[
        "device.capacity=256MiB",
        "drive.protocol=nvme",
        "drive.protocol.nvme.depth=16",
        "drive.protocol.nvme.slots=8",
        "drive.link=2GB/s",
        "drive.command=2us",
        "drive.work.write=3us",
        "drive.latency.read=10us",
        "drive.dram=4GB/s",
        "drive.hmb=map_cache",
        "block.scheduler=mq-deadline",
        "ftl.page.map=dftl",
        "cache.policy=lru",
        "cache.size=8MiB",
    ],
    &["device.capacity=256MiB", "drive.buffer=watermark", "ftl.page.survivors=shared", "device.spare=10%"],
    &["device.capacity=256MiB", "nand.word_line=2", "ftl.page.slc=dynamic"],
    &["device.capacity=256MiB", "ftl=fast", "device.reserve=inside", "device.op=20%"],
    &["device.capacity=256MiB", "device.op=2%", "host.replay=processes", "host.replay.processes.think=1ms"],
    &["device.capacity=512MiB", "device.op=3%", "nand.pages_per_block=512", "nand.channels=4", "nand.ways=4"],
];

#[test]
fn settings_make_the_change() {
    for sets in DRIVES {
        for what_if in WhatIf::ALL {
            let (before, after) = before_and_after(sets, what_if);
            let applied = what_if.applied_to(&before);
            assert_eq!(applied.is_some(), after.is_some(), "{what_if:?} of {sets:?}");
            let (Some(applied), Some(after)) = (applied, after) else { continue };
            if what_if == WhatIf::Spare {
                continue;
            }
            // The block layer learns from the drive whether it needs flushes.
            let follows = what_if == WhatIf::Protected;
            let applied = if follows { Setup { block: after.block.clone(), ..applied } } else { applied };
            assert_eq!(applied, after, "{what_if:?} of {sets:?}");
        }
    }
}

/// The over-provisioning doubles, as set or as rounded to whole blocks per plane; the reserve stays the same.
#[test]
fn doubling_the_spare_blocks_keeps_the_reserve() {
    for sets in DRIVES {
        let (before, after) = before_and_after(sets, WhatIf::Spare);
        let after = after.expect("there is spare");
        assert_eq!((after.reserve_blocks(), after.logical_pages), (before.reserve_blocks(), before.logical_pages));
        let Geometry { pages_per_block, parallelism, .. } = before.geometry;
        let asked = |sets: &[&str]| {
            let leaves = config(&owned(sets)).leaves();
            let value = |key: &str| {
                let leaf = leaves.iter().find(|leaf| leaf.key == key)?;
                leaf.value.trim_matches(['"', '%']).parse::<f64>().ok()
            };
            value("device.op").or_else(|| value("device.spare").map(|of| 100.0 * of / (100.0 - of))).expect("one")
                / 100.0
        };
        let more = f64::from((after.geometry.blocks - before.geometry.blocks) * pages_per_block);
        let step = f64::from(parallelism.planes() * pages_per_block);
        let extra = if sets.contains(&"device.reserve=inside") { 0 } else { before.reserve_blocks() };
        let there = f64::from((before.geometry.blocks - extra) * pages_per_block - before.logical_pages);
        let asked = asked(sets) * f64::from(before.logical_pages);
        let expected = if there - asked > step { there } else { asked };
        assert!((more - expected).abs() <= step, "{sets:?}: {more} pages more, expected {expected}");
        assert!(more > 0.0, "{sets:?}: the same drive");
    }
}

/// Flash freed by the map does not become over-provisioning.
#[test]
fn moving_the_map_to_ram_frees_its_flash() {
    let sets = ["device.capacity=256MiB", "ftl.page.map=dftl"];
    let (before, after) = before_and_after(&sets, WhatIf::Map);
    let in_ram = config(&owned(&sets[..1])).settings(None).expect("fits together").setup;
    assert!(in_ram.geometry.blocks < before.geometry.blocks);
    assert_eq!(after, Some(in_ram));
}
