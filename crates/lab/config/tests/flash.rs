//! The flash of a drive depends on capacity, over-provisioning and geometry, and not on the FTL.

use proptest::prelude::*;
use ssdlab_config::{Config, ConfigError, Layer};
use ssdlab_sim::Setup;

const FTLS: [&str; 7] =
    ["ftl=page", "ftl.page.map=dftl", "ftl.page.map=segments", "ftl=bast", "ftl=fast", "ftl=faster", "ftl=sbfast"];

fn setup(preset: &str, sets: &[&str], extent_bytes: Option<u64>) -> Result<Setup, ConfigError> {
    let sets: Vec<Layer> = sets.iter().map(|text| Layer { origin: "--set".into(), text: (*text).into() }).collect();
    Ok(Config::resolve(Some(preset), &[], &sets)?.settings(extent_bytes)?.setup)
}

/// 25 MiB are 6,400 pages, or 100 blocks of 64 pages; with 28 % more, there are 128 blocks. The user or the trace
/// determines the capacity.
#[test]
fn every_ftl_has_the_same_blocks() {
    for ftl in FTLS {
        let blocks = |sizing: &str, extent_bytes| {
            let setup = setup("tlc-chip", &[sizing, "device.op=28%", "nand.pages_per_block=64", ftl], extent_bytes);
            let setup = setup.unwrap_or_else(|error| panic!("{ftl}: {error}"));
            (setup.logical_pages, setup.geometry.blocks)
        };
        assert_eq!(blocks("device.capacity=25MiB", None), (6_400, 128), "{ftl}");
        assert_eq!(blocks("host.fit=compact", Some(25 << 20)), (6_400, 128), "{ftl}");
    }
}

/// 100 blocks for data, 2 open blocks, 1 spare block and 6 erased blocks, and 1 to free space: 110 blocks, 10 %.
#[test]
fn a_drive_without_room_for_the_ftl_is_refused() {
    let erased = ["ftl.page.trigger.batch.low=4", "ftl.page.trigger.batch.high=6", "nand.pages_per_block=64"];
    for (sizing, extent_bytes) in [("device.capacity=25MiB", None), ("host.fit=compact", Some(25 << 20))] {
        let with = |op: &str| setup("tlc-chip", &[&erased[..], &[sizing, op]].concat(), extent_bytes);
        let expected = "--set: device.op: 7% provides 107 blocks in 1 plane, but 110 are needed: 100 for data, 9 for \
                        the FTL's reserve and 1 spare; raise it to 10%";
        assert_eq!(with("device.op=7%").expect_err("too few blocks").to_string(), expected);
        let setup = with("device.op=10%").expect("enough blocks");
        assert_eq!((setup.logical_pages, setup.geometry.blocks), (6_400, 110));
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(100))]

    #[test]
    fn equal_settings_of_the_device_give_equal_flash(
        preset in prop::sample::select(vec!["small-tlc", "tlc-chip", "tlc-nvme", "small-nvme"]),
        op in 1..60_u32,
        mebibytes in 1..100_000_u64,
        by_trace: bool,
    ) {
        let (op, capacity) = (format!("device.op={op}%"), format!("device.capacity={mebibytes}MiB"));
        let (sizing, extent_bytes) = if by_trace { ("host.fit=compact", Some(mebibytes << 20)) } else { (&*capacity, None) };
        let flash = |ftl: &&str| {
            let setup = setup(preset, &[&op, sizing, ftl], extent_bytes).ok()?;
            Some((setup.logical_pages, setup.geometry.pages_per_block, setup.geometry.blocks))
        };
        let drives: Vec<_> = FTLS.iter().filter_map(flash).collect();
        prop_assert!(drives.iter().all(|drive| *drive == drives[0]), "{drives:?}");
    }
}
