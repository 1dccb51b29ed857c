//! Goal: findings explain write amplification.

use super::*;

/// The share of the finding is the share of copies in all programs; collection copies the valid pages of victims.
#[test]
fn write_amplification_follows_from_the_valid_pages_of_victims() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let summary = diagnosed(&setup, &random(&setup, Op::Write));
    let found = named(&summary, Subject::WriteAmplification, "collection");
    let amplification = summary.write_amplification.expect("written");
    assert!((found.share - (1.0 - 1.0 / amplification)).abs() < 1e-9);
    // In steady state, an erased block frees its invalid pages: WA = 1 / (1 - valid share).
    let valid = found.evidence["valid_share_of_victims"];
    assert!((amplification * (1.0 - valid) - 1.0).abs() < 0.05, "{amplification} with victims {valid} valid");
}

/// Valid pages of a victim are counted when the victim is chosen, even if its collection begins before the run or ends
/// after it.
#[test]
fn incomplete_collections_do_not_distort_the_valid_share() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    let options = PageOptions { trigger: Trigger::Partial { low: 4, step: 8, every: 1 }, ..SMALL_OPTIONS };
    setup.ftl = FtlChoice::Page(options, ram::INFO.defaults());
    setup.geometry.blocks += setup.reserve_blocks();
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let writes = random(&setup, Op::Write);
    let steady = named(&diagnosed(&setup, &writes), Subject::WriteAmplification, "collection");
    let steady = steady.evidence["valid_share_of_victims"];
    assert!((0.3..0.9).contains(&steady), "{steady}");
    let told: Vec<f64> = (2..40)
        .flat_map(|requests| diagnosed(&setup, &writes[..requests]).diagnosis)
        .filter_map(|finding| finding.evidence.get("valid_share_of_victims").copied())
        .collect();
    assert!(told.len() > 20 && told.iter().all(|valid| (valid - steady).abs() < 0.25), "{steady} of many: {told:?}");
}

/// With enough log space, pages are copied within the log and never merged.
#[test]
fn copies_within_the_log_are_not_merges() {
    let mut setup = full(array(1, 1, 1, 1), 1, TIMING, PLAIN);
    setup.ftl = FtlChoice::Log(log::faster::INFO.set(&[("sw", 0)]).expect("in range"), 10);
    setup.geometry.blocks += 12;
    // One of four writes goes to a cold page, which gets a second chance.
    let pages = (0..240).map(|number| if number % 4 == 0 { 100 + number / 4 } else { number % 7 });
    let requests: Vec<Request> = pages.map(|page| at(Op::Write, page * PAGE, PAGE as u32)).collect();
    let summary = diagnosed(&setup, &requests);
    let (merges, programs) = (summary.log.as_ref().expect("a log").merges, summary.flash.0.programs);
    assert_eq!((merges.full.count, merges.partial.count, merges.switch.count), (0, 0, 0));
    without(&summary, "merges");
    let found = named(&summary, Subject::WriteAmplification, "log_copies");
    let copied = programs[Cause::SecondChance as usize] + programs[Cause::Isolation as usize];
    assert_eq!(found.share, copied as f64 / summary.flash.0.programmed() as f64);
    assert_eq!(found.evidence["second_chance"], programs[Cause::SecondChance as usize] as f64);
}

/// A partial write to an empty drive does not read the rest of the page.
#[test]
fn partial_writes_read_only_written_pages() {
    let setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    let parts: Vec<Request> = random(&setup, Op::Write).iter().map(|&one| Request { bytes: 512, ..one }).collect();
    for fill in [0.0, 1.0] {
        let setup = Setup { precondition: Precondition { fill, ..setup.precondition }, ..setup.clone() };
        let summary = diagnosed(&setup, &parts[..20]);
        let evidence = named(&summary, Subject::WriteAmplification, "partial_pages").evidence;
        let read = summary.flash.0.reads[Cause::ReadModifyWrite as usize] as f64;
        assert_eq!((evidence["pages"], evidence["read_first"]), (20.0, read));
        assert_eq!(read == 20.0, fill == 1.0, "{read}");
    }
}

/// Reads cause write-backs of map pages, but no write amplification.
#[test]
fn without_host_writes_there_is_no_write_amplification() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4), ("entry", 64)]).expect("in range"));
    setup.geometry.blocks += 112;
    setup.precondition.overwrite = Overwrite::Passes(1.0);
    let summary = diagnosed(&setup, &random(&setup, Op::Read));
    assert!(summary.flash.0.programmed() > 0 && summary.write_amplification.is_none());
    assert!(summary.diagnosis.iter().all(|finding| finding.about != Subject::WriteAmplification));
}

/// Nine of ten writes go to a tenth of the pages, with one open block for host and GC, so cold pages are copied
/// repeatedly. Uniform writes or a separate open block for GC give no finding.
#[test]
fn hot_data_mixed_with_cold_data_is_found() {
    let mut setup = drive_setup(array(2, 1, 1, 1), 64, 32, 8);
    setup.logical_pages = setup.logical_pages * 4 / 5;
    setup.precondition = Precondition { fill: 1.0, overwrite: Overwrite::None };
    let FtlChoice::Page(options, map) = setup.ftl else { unreachable!("page mapping") };
    setup.ftl = FtlChoice::Page(PageOptions { placement: placement::shared::INFO.defaults(), ..options }, map);
    let pages = u64::from(setup.logical_pages);
    let writes = |hot_of_ten: u64| -> Vec<Request> {
        let mut rng = Rng::named(3, "hot and cold");
        let mut page = || match rng.below(10) < hot_of_ten {
            true => rng.below(pages / 10),
            false => pages / 10 + rng.below(pages - pages / 10),
        };
        (0..12 * pages).map(|_| at(Op::Write, page() * PAGE, PAGE as u32)).collect()
    };
    let (skewed, even) = (writes(9), writes(1));
    let summary = diagnosed(&setup, &skewed);
    let found = named(&summary, Subject::WriteAmplification, "hot_with_cold");
    // The effective share of the pages is 1 / (0.9^2 / 0.1 + 0.1^2 / 0.9).
    assert!((found.evidence["written_share"] * 8.111 - 1.0).abs() < 0.02, "{found:?}");
    assert!(found.evidence["valid_share_of_victims"] >= found.evidence["valid_share_evenly"], "{found:?}");
    without(&diagnosed(&setup, &even), "hot_with_cold");
    // In a short run, victims still reflect the preconditioning, not these writes.
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let short = diagnosed(&setup, &skewed[..skewed.len() / 24]);
    named(&short, Subject::Input, "too_short");
    named(&short, Subject::WriteAmplification, "collection");
    without(&short, "hot_with_cold");
    setup.precondition.overwrite = Overwrite::None;
    // The proposed change confirms and removes the finding.
    assert_eq!(found.what_ifs, [WhatIf::Placement]);
    let apart = diagnosed(&WhatIf::Placement.applied_to(&setup).expect("shared"), &skewed);
    without(&apart, "hot_with_cold");
    let [mixed, apart] = [&summary, &apart].map(|summary| summary.write_amplification.expect("written"));
    assert!(apart < 0.9 * mixed && found.evidence["write_amplification_apart"] < apart, "{mixed} {apart}");
    // Without attribution, writes are not counted by page.
    let outcome = run(&setup, &mut SliceSource::new(&even), &mut ()).expect("runs");
    assert_eq!(outcome.written_share, None);
}
