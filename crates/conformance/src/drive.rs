//! Small random drives with the FTL or FTL component under test, and random host requests.

use std::fmt::{self, Display, Formatter};

use proptest::prelude::*;
use ssdlab_core::{Choice, Info, Parameter};
use ssdlab_ftl::blocks::Allocation;
use ssdlab_ftl::gc::{VictimInfo, fifo, greedy, random};
use ssdlab_ftl::log::{LogBlocks, LogInfo, LogRules};
use ssdlab_ftl::map::{MapInfo, ram};
use ssdlab_ftl::page::{PageOptions, Trigger};
use ssdlab_ftl::placement::{PlacementInfo, own, shared};
use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::{Geometry, ProgramOrder};
use ssdlab_sim::Setup;

use crate::case::World;
use crate::parameters::{Limit, PAGE_BYTES, settings, values};
use crate::power::Request;

/// Page size, in KiB, of the drives that `ssdlab explain` draws.
const EXPLAINED_PAGE_KIB: u32 = 4;

/// A component under test in a drive.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// An FTL.
    Ftl(&'static LogInfo),
    /// A victim policy for page mapping.
    Victim(&'static VictimInfo),
    /// A placement policy for page mapping.
    Placement(&'static PlacementInfo),
    /// A map for page mapping.
    Map(&'static MapInfo),
}

impl Part {
    /// Returns the kind and the name of the component.
    pub fn name(self) -> String {
        match self {
            Self::Ftl(info) => format!("FTL {}", info.name),
            Self::Victim(info) => format!("victim policy {}", info.name),
            Self::Placement(info) => format!("placement policy {}", info.name),
            Self::Map(info) => format!("map {}", info.name),
        }
    }

    /// Returns the parameters of the component.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Ftl(info) => info.parameters,
            Self::Victim(info) => info.parameters,
            Self::Placement(info) => info.parameters,
            Self::Map(info) => info.parameters,
        }
    }

    /// Returns an FTL with the component; None if the parameter values conflict with each other or with the drive.
    fn choice(self, values: &[u64], options: PageOptions, pages_per_block: u32, more: u32) -> Option<FtlChoice> {
        let whole_map = ram::INFO.defaults();
        match self {
            Self::Ftl(info) => {
                let LogRules { has_log, least_log_blocks, check, .. } = info.role;
                let choice = with(info, values);
                let count = if has_log { least_log_blocks(&choice) + more } else { 0 };
                let fits = check(&choice, &LogBlocks { count, pages: pages_per_block }).is_ok();
                fits.then_some(FtlChoice::Log(choice, count))
            }
            Self::Victim(info) => Some(FtlChoice::Page(PageOptions { gc: with(info, values), ..options }, whole_map)),
            Self::Placement(info) => {
                Some(FtlChoice::Page(PageOptions { placement: with(info, values), ..options }, whole_map))
            }
            Self::Map(info) => {
                let map = with(info, values);
                (info.role.problems)(&map, PAGE_BYTES).is_empty().then_some(FtlChoice::Page(options, map))
            }
        }
    }
}

/// Chooses component `info` with the given parameter values.
fn with<R>(info: &'static Info<R>, values: &[u64]) -> Choice<R> {
    Choice { info, settings: settings(info.parameters, values) }
}

/// A small drive and its FTL.
#[derive(Clone, PartialEq, Debug)]
pub struct Drive {
    /// Configuration of the drive and its FTL.
    pub setup: Setup,
}

impl Display for Drive {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Shape { blocks, pages_per_block, logical_pages, planes, order, .. } = self.setup.shape();
        let order = match order {
            ProgramOrder::Any => "in any order",
            ProgramOrder::Ascending => "in ascending order",
        };
        write!(f, "drive: {logical_pages} logical pages, {blocks} blocks of {pages_per_block} pages")?;
        writeln!(f, " programmed {order}, planes: {planes}, seed: {}", self.setup.seed)?;
        match self.setup.ftl {
            FtlChoice::Log(choice, 0) => write!(f, "FTL: {choice:?}"),
            FtlChoice::Log(choice, log_blocks) => write!(f, "FTL: {choice:?}, log blocks: {log_blocks}"),
            FtlChoice::Page(PageOptions { gc, placement, trigger, .. }, map) => {
                write!(f, "FTL: page mapping, victims: {gc:?}, placement: {placement:?}, {trigger:?}, map: {map:?}")
            }
        }
    }
}

impl Drive {
    /// Returns the command that shows the requests step by step; None if `ssdlab explain` cannot draw them.
    pub(crate) fn explained(world: &World<Self, Request>) -> Option<String> {
        let setup = &world.device.setup;
        let FtlChoice::Log(choice, log_blocks) = setup.ftl else { return None };
        let Shape { blocks, pages_per_block, logical_pages, planes, order, .. } = setup.shape();
        let requests = world.operations.iter().map(Request::explained).collect::<Option<Vec<_>>>()?.join(" ");
        let spare = (blocks - setup.reserve_blocks()) * pages_per_block - logical_pages;
        if planes > 1 || spare < pages_per_block {
            return None;
        }
        let capacity = logical_pages * EXPLAINED_PAGE_KIB;
        let op = 100.0 * f64::from(spare) / f64::from(logical_pages);
        let order = if order == ProgramOrder::Any { "any" } else { "ascending" };
        let name = choice.info.name;
        let log = if log_blocks > 0 { format!(" -s ftl.{name}.log={log_blocks}") } else { String::new() };
        let set = |(parameter, &value): (&Parameter, &u64)| {
            format!(" -s ftl.{name}.{}={}", parameter.name, parameter.unit.write(value))
        };
        let parameters: String = choice.info.parameters.iter().zip(choice.values()).map(set).collect();
        Some(format!(
            "cargo run --release -- explain -s ftl={name}{log}{parameters} -s device.capacity={capacity}KiB \
             -s device.op={op:.3}% -s nand.pages_per_block={pages_per_block} -s nand.order={order} \
             -s precondition.fill=0% --requests '{requests}'"
        ))
    }
}

/// Generates random options for page mapping.
fn page_options() -> impl Strategy<Value = PageOptions> {
    let gc = prop::sample::select(vec![&greedy::INFO, &fifo::INFO, &random::INFO]);
    let placement = prop::sample::select(vec![&own::INFO, &shared::INFO]);
    let trigger = prop_oneof![
        2 => Just(Trigger::Victim),
        1 => (2_u32..4, 0_u32..3).prop_map(|(low, more)| Trigger::Batch { low, high: low + more }),
        1 => (2_u32..4, 1_u32..6, 1_u32..4).prop_map(|(low, step, every)| Trigger::Partial { low, step, every }),
    ];
    let allocation = prop_oneof![Just(Allocation::Fifo), Just(Allocation::LeastWorn)];
    (gc, placement, trigger, allocation).prop_map(|(gc, placement, trigger, allocation)| PageOptions {
        gc: gc.defaults(),
        placement: placement.defaults(),
        trigger,
        allocation,
        slc: None,
    })
}

/// Generates random drives that use the component.
fn drives(part: Part, limit: Option<Limit>) -> impl Strategy<Value = Drive> {
    let order = prop_oneof![Just(ProgramOrder::Ascending), Just(ProgramOrder::Any)];
    let chip = (2_u32..7, order, prop_oneof![3 => Just(1_u32), 1 => Just(2), 1 => Just(3)]);
    // Prefers drives with a spare block, because `ssdlab explain` can draw only drives that have one.
    let spare = prop_oneof![2 => 1_u32..4, 1 => Just(0)];
    let sizes = (1_u32..5, 0_u32..2, spare, 0_u32..4);
    let options = (values(part.parameters(), limit), page_options(), 0_u64..4);
    (chip, sizes, options).prop_filter_map("the parameters fit the drive", move |(chip, sizes, options)| {
        let ((pages_per_block, order, planes), (data_blocks, fewer, spare, more)) = (chip, sizes);
        let (values, options, seed) = options;
        let ftl = part.choice(&values, options, pages_per_block, more)?;
        let mut geometry = Geometry { order, ..Geometry::single_plane(PAGE_BYTES, pages_per_block, 0) };
        geometry.parallelism.planes = planes;
        let log_blocks = if let FtlChoice::Log(_, log_blocks) = ftl { log_blocks } else { 0 };
        let mut setup = Setup { seed, ..Setup::new(geometry, data_blocks * pages_per_block - fewer, ftl) };
        let blocks = data_blocks + log_blocks + spare + setup.reserve_blocks();
        setup.geometry.blocks = blocks.next_multiple_of(planes);
        Some(Drive { setup })
    })
}

/// Generates random drives that use the component, each with up to `most` requests. Half of the requests go to a few
/// hot pages.
pub(crate) fn worlds(part: Part, limit: Option<Limit>, most: usize) -> impl Strategy<Value = World<Drive, Request>> {
    let first = prop_oneof![0_u32..6, any::<u32>()];
    let pages = prop_oneof![3 => Just(0_u32), 1 => any::<u32>()];
    let request = (0_u32..16, first, pages);
    (drives(part, limit), prop::collection::vec(request, 1..most)).prop_map(|(device, drawn)| {
        let Shape { logical_pages, pages_per_block, planes, .. } = device.setup.shape();
        let request = |(kind, first, pages): (u32, u32, u32)| {
            let first = first % logical_pages;
            let count = 1 + pages % (logical_pages - first).min(2 * pages_per_block);
            match kind {
                0..10 => Request::Write(first, count),
                10..13 => Request::Read(first, count),
                13..15 => Request::Trim(first, count),
                _ => Request::Collect(first % planes, count),
            }
        };
        let operations = drawn.into_iter().map(request).collect();
        World { device, operations }
    })
}
