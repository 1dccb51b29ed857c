//! Scale models: over-provisioning, reserve and number of blocks at any size of the trace.

use ssdlab_config::{Config, Layer};
use ssdlab_sim::{Setup, Size};

/// A client drive of 1 TB: 16 dies with 4 planes, whose superblocks have 384 word lines of 192 x 16 KiB.
const CLIENT: &[&str] = &[
    "device.capacity=1TB",
    "device.op=7%",
    "device.unit=4KiB",
    "device.reserve=inside",
    "ftl.page.collect=superblock",
    "ftl.page.trigger=victim",
    "nand.page_size=16KiB",
    "nand.pages_per_block=1152",
    "nand.word_line=3",
    "nand.channels=4",
    "nand.ways=4",
    "nand.planes=4",
    "nand.multiplane=true",
    "drive.buffer.eager.size=16MiB",
    "device.scale=blocks",
    "host.fit=compact",
];

const MIB: u64 = 1 << 20;

fn config(preset: &str, sets: &[&[&str]]) -> Config {
    let sets: Vec<Layer> =
        sets.concat().iter().map(|text| Layer { origin: "preset own".into(), text: (*text).into() }).collect();
    Config::resolve(Some(preset), &[], &sets).expect("valid settings")
}

fn setup(config: &Config, extent_bytes: u64) -> Setup {
    config.settings(Some(extent_bytes)).unwrap_or_else(|error| panic!("{error}")).setup
}

fn error(config: &Config, extent_bytes: u64) -> String {
    config.settings(Some(extent_bytes)).expect_err("invalid settings").to_string()
}

/// Returns the over-provisioning and the reserve's share of the flash.
fn spare(setup: &Setup) -> (f64, f64) {
    let op = setup.geometry.pages() as f64 / f64::from(setup.logical_pages) - 1.0;
    (op, f64::from(setup.reserve_blocks()) / f64::from(setup.geometry.blocks))
}

/// A superblock has 294,912 units of 4 KiB. The nominal drive has 244,140,625 x 1.07 / 294,912 = 885.8 blocks, so 886.
#[test]
fn a_scale_model_has_about_as_many_blocks_as_the_nominal_drive() {
    let config = config("tlc-nvme", &[CLIENT]);
    let nominal_flash = 886.0 * 294_912.0;
    for (extent_bytes, word_lines, blocks) in [
        // 400 MiB: 102,400 units x 1.07 / 768 per word line = 142.7.
        (400 * MIB, 1, 143),
        // 10 GiB: 384 x 10 GiB / 1 TB = 4.12 word lines; 2,621,440 x 1.07 / (4 x 768) = 913.07.
        (10_240 * MIB, 4, 914),
        (1_000_000_000_000, 384, 886),
    ] {
        let setup = setup(&config, extent_bytes);
        assert_eq!((setup.geometry.pages_per_block, setup.geometry.blocks), (word_lines * 768, blocks));
        assert_eq!(setup.capacity_bytes(), extent_bytes);
        let Size::Model(model) = setup.size else { panic!("a scale model, not {:?}", setup.size) };
        assert_eq!((model.nominal_capacity_bytes, model.needed_bytes), (1_000_000_000_000, extent_bytes));
        assert_eq!(model.ratio, nominal_flash / f64::from(word_lines * 768 * blocks));
        let full = self::setup(&config, 1_000_000_000_000);
        assert_eq!(
            (setup.geometry.parallelism, setup.geometry.units),
            (full.geometry.parallelism, full.geometry.units)
        );
        assert_eq!((setup.clock, setup.ftl), (full.clock, full.ftl));
    }
}

#[test]
fn over_provisioning_and_reserve_are_as_on_the_nominal_drive() {
    for collect in ["plane", "die", "superblock"] {
        for (op, asked) in [("7%", 0.07), ("28%", 0.28), ("4%", 0.04)] {
            let more = [&*format!("ftl.page.collect={collect}"), &*format!("device.op={op}")];
            let config = config("tlc-nvme", &[CLIENT, &more]);
            for mebibytes in [1, 50, 300, 311, 450, 1_000, 3_000, 10_000, 47_123, 300_000, 953_674] {
                let extent_bytes = mebibytes * MIB;
                let setup = setup(&config, extent_bytes);
                let (has, reserve) = spare(&setup);
                let context = format!("{collect} {op} {mebibytes} MiB: {has} {reserve} {:?}", setup.geometry);
                assert!((asked - 1e-9..=asked + 0.01).contains(&has), "{context}");
                assert!(reserve <= 0.03, "{context}");
                assert!(setup.capacity_bytes() >= extent_bytes, "{context}");
                assert!(setup.geometry.pages_per_block >= 128, "{context}");
            }
        }
    }
}

/// The data of the smallest model fills 128 superblocks of one word line: 128 x 768 = 98,304 units, 384 MiB.
#[test]
fn a_trace_too_small_for_the_smallest_model_gets_a_larger_capacity() {
    let config = config("tlc-nvme", &[CLIENT]);
    for extent_bytes in [MIB, 20 * MIB, 100 * MIB, 277 * MIB] {
        let setup = setup(&config, extent_bytes);
        assert!(matches!(setup.size, Size::Model(model) if model.needed_bytes == extent_bytes), "{:?}", setup.size);
        assert_eq!((setup.geometry.pages_per_block, setup.logical_pages), (768, 98_304));
    }
    assert_eq!(setup(&config, 98_304 * 4096 + 1).logical_pages, 98_305);
}

/// The client drive has 768 units of 4 KiB per word line of a superblock, and a reserve of 4 superblocks. Its smallest
/// model has 128 x 768 = 98,304 units, 384 MiB, and 98,304 x 1.0993 / 768 = 140.7 superblocks.
#[test]
fn the_client_drive_is_a_scale_model_at_any_size() {
    let config = config("client-nvme", &[&["host.fit=compact"]]);
    for mebibytes in [1, 300, 311, 366, 450, 1_372, 10_000, 47_123, 300_000, 953_674] {
        let setup = setup(&config, mebibytes * MIB);
        let (has, reserve) = spare(&setup);
        assert!((0.0993 - 1e-9..=0.1093).contains(&has) && reserve <= 0.03, "{mebibytes}: {has} {reserve}");
        let raised = setup.capacity_bytes() > mebibytes * MIB;
        assert_eq!(raised, mebibytes < 384, "{mebibytes}: {}", setup.logical_pages);
    }
}

#[test]
fn nothing_changes_without_a_scale_model() {
    let unscaled = ["device.scale=none", "ftl.page.collect=plane"];
    let with = |more: &[&str]| config("tlc-nvme", &[CLIENT, &unscaled, more]);
    let of_trace = setup(&with(&[]), 311 * MIB);
    assert_eq!((of_trace.size, of_trace.geometry.pages_per_block), (Size::OfTrace, 4_608));
    let full = setup(&given("tlc-nvme", &["device.capacity=256GiB"]), 311 * MIB);
    assert_eq!((full.size, full.geometry.pages_per_block), (Size::Full, 9_216));
}

/// Returns the configuration of a preset with settings of the user.
fn given(preset: &str, sets: &[&str]) -> Config {
    let sets: Vec<Layer> = sets.iter().map(|text| Layer { origin: "--set".into(), text: (*text).into() }).collect();
    Config::resolve(Some(preset), &[], &sets).expect("valid settings")
}

/// 1 TB are 244,190,646 units; x 1.0993 / (768 x 768 units per superblock) = 455.1, so 456 superblocks. A superblock of
/// 64 GiB has 768 x 64 GiB / 1 TB = 52 word lines; 16,777,216 units x 1.0993 / (52 x 768) = 461.8.
#[test]
fn a_capacity_below_the_nominal_one_makes_a_scale_model() {
    for preset in ["client-nvme", "small-nvme"] {
        let setup = setup(&given(preset, &["device.capacity=64GiB"]), 0);
        assert_eq!((setup.geometry.pages_per_block, setup.geometry.blocks), (52 * 768, 462), "{preset}");
        assert_eq!(setup.capacity_bytes(), 64 << 30);
        let Size::Model(model) = setup.size else { panic!("a scale model, not {:?}", setup.size) };
        assert_eq!(model.nominal_capacity_bytes, 1_000_204_886_016);
        assert_eq!(model.ratio, 456.0 * 768.0 / (462.0 * 52.0));
        for capacity in ["1000204886016B", "2TB"] {
            let full = self::setup(&given(preset, &[&format!("device.capacity={capacity}")]), 0);
            assert_eq!((full.size, full.geometry.pages_per_block), (Size::Full, 768 * 768), "{preset} {capacity}");
        }
    }
}

#[test]
fn the_preset_sets_the_nominal_capacity() {
    let value = |sets: &[&[&str]]| {
        let leaves = config("tlc-nvme", sets).leaves();
        leaves.into_iter().find(|leaf| leaf.key == "device.scale.blocks.capacity").map(|leaf| leaf.value)
    };
    let scaled: &[&str] = &["device.scale=blocks", "host.fit=compact"];
    assert_eq!(value(&[scaled]).as_deref(), Some("\"256GB\""));
    assert_eq!(value(&[scaled, &["device.fill=80%"]]).as_deref(), Some("\"256GB\""));
    assert_eq!(value(&[scaled, &["device.scale.blocks.capacity=1TB"]]).as_deref(), Some("\"1TB\""));
    assert_eq!(value(&[&["host.fit=compact"]]), None);
}

#[test]
fn impossible_scale_models_are_reported_with_a_remedy() {
    let nominal = |text| config("tlc-nvme", &[CLIENT, &[text]]);
    let expected = "preset own: device.scale.blocks.capacity: 256GiB is less than the 300GiB that the trace needs; \
                    raise it to 512GiB";
    assert_eq!(error(&nominal("device.scale.blocks.capacity=256GiB"), 300 << 30), expected);
    let expected = "preset own: device.scale.blocks.capacity: a capacity of 4GiB has too few blocks; raise it to \
                    64GiB";
    assert_eq!(error(&nominal("device.scale.blocks.capacity=4GiB"), MIB), expected);
    setup(&nominal("device.scale.blocks.capacity=64GiB"), MIB);
}
