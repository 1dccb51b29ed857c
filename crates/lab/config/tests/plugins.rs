//! Entries that another crate registers appear in choices, parameters, schema and reference page. FTLs, maps and
//! address patterns run. This file has a single test, because all tests of a process share the registries.

use ssdlab_cache::{ADMISSIONS, AdmissionInfo, AdmissionRules, POLICIES, PolicyInfo, PolicyRules, build_policy};
use ssdlab_config::{Config, Layer, OptionSpec, json_schema, reference_markdown};
use ssdlab_core::{Info, Lpn, Parameter, Ppn, Rng, Settings};
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::gc::{VICTIMS, VictimInfo, fifo};
use ssdlab_ftl::log::{LogInfo, LogRules};
use ssdlab_ftl::map::cache::{self, CachePolicyInfo};
use ssdlab_ftl::map::{MapInfo, MapRules, WholeMap};
use ssdlab_ftl::page::PageFtl;
use ssdlab_ftl::placement::{PLACEMENTS, PlacementInfo, PlacementRules};
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::backend::parallel::scheduler::{Class, DIE_SCHEDULERS, DieSchedulerInfo, DieSchedulerRules};
use ssdlab_nand::{Cause, FlashSink, Role, Source, SpareArea};
use ssdlab_sched::{BlockLayerKind, MergeIndex, SCHEDULERS, SchedulerInfo, SchedulerRules};
use ssdlab_sim::Summary;
use ssdlab_trace::{
    Addresses, Generator, Op, PATTERNS, PERSONALITIES, PatternInfo, PatternRules, Personality, PersonalityRules,
    Request, RequestTarget, SliceSource, Source as _, Space, Work,
};

const NAME: &str = "plugin";
const HELP: &str = "Registered by another crate.";
const PARAMETERS: &[Parameter] = &[Parameter::share("plugged", 25, "Parameter of a plug-in.")];

/// Returns the dummy entry for a registry of any kind.
const fn dummy<R>(parameters: &'static [Parameter], role: R) -> Info<R> {
    Info { name: NAME, help: HELP, source: "", parameters, role }
}

static VICTIM: VictimInfo = dummy(PARAMETERS, &|settings, seed| (fifo::INFO.role)(settings, seed));
static PLACEMENT: PlacementInfo = dummy(PARAMETERS, PlacementRules { own_gc_block: false, by_page: None });
static MAP: MapInfo = dummy(
    PARAMETERS,
    MapRules {
        pages: |_, _, _| 0,
        problems: |_, _| Vec::new(),
        build: Some(|shape, options, seed, _| {
            let map = WholeMap { logical_pages: shape.logical_pages };
            Ok(Box::new(PageFtl::with_map(shape, options, map, seed)?))
        }),
    },
);
static MAP_CACHE: CachePolicyInfo = dummy(&[], |items, capacity| (cache::fifo::INFO.role)(items, capacity));
static LOG_FTL: LogInfo = dummy(
    PARAMETERS,
    LogRules {
        reserve_blocks: 1,
        has_log: true,
        least_log_blocks: |_| 1,
        check: |_, _| Ok(()),
        build: Some(&|shape, _, _| {
            Ok(Box::new(Appending { map: vec![None; shape.logical_pages as usize], written: 0 }))
        }),
    },
);
static DIE_SCHEDULER: DieSchedulerInfo = dummy(
    &[],
    DieSchedulerRules {
        pick: |view| view.earliest(&[Class::HostRead, Class::HostProgram, Class::Internal]),
        in_order: false,
        internal_read: Class::Internal,
    },
);
static SCHEDULER: SchedulerInfo = dummy(
    PARAMETERS,
    SchedulerRules {
        kind: BlockLayerKind::MultiQueue,
        merge_index: MergeIndex::Hash,
        by_queue: false,
        work_conserving: true,
        sorted_drain: false,
        bounded_wait: true,
        by_process: false,
        by_sync: false,
        part_of_device: None,
        build: &|_, _| Err(SCHEDULERS.get("").unwrap_err().into()),
    },
);
static POLICY: PolicyInfo = dummy(
    PARAMETERS,
    PolicyRules {
        sizes: true,
        needs_future: false,
        largest: u64::MAX,
        one_pass: None,
        build: &|_, capacity, _| {
            let fifo = POLICIES.get("fifo").expect("built in");
            build_policy(fifo, &[], capacity, 0, true).expect("a policy without parameters")
        },
    },
);
static ADMISSION: AdmissionInfo = dummy(&[], AdmissionRules { sizes: true, guard: |_, policy| policy });
static PERSONALITY: Personality = dummy(
    &[],
    PersonalityRules {
        files: 123,
        file_bytes: 1 << 20,
        threads: 7,
        existing: 1.0,
        files_per_directory: 10,
        gamma: false,
        log_bytes: None,
        work: Work::Loop(&[]),
    },
);
static PATTERN: PatternInfo = dummy(PARAMETERS, PatternRules::of::<Strides>());

/// Address pattern that accesses every `plugged`-th address.
#[derive(Debug)]
struct Strides {
    space: Space,
    stride: u64,
    next: u64,
}

impl Addresses for Strides {
    fn new(settings: &Settings, space: Space, _: &mut Rng) -> Self {
        Self { space, stride: settings.get("plugged"), next: 0 }
    }

    fn streams(&self) -> Vec<String> {
        vec!["strides".into()]
    }

    fn next(&mut self, bytes: u32, _: &mut Rng) -> RequestTarget {
        let offset = self.next * self.space.align;
        self.next = (self.next + self.stride) % self.space.starts();
        RequestTarget { offset, bytes, stream: 1 }
    }
}

/// Writes each page to the next page of the flash, which is never erased.
struct Appending {
    map: Vec<Option<Ppn>>,
    written: u32,
}

impl Ftl for Appending {
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        for page in 0..count {
            let (lpn, ppn) = (Lpn(lpn.0 + page), Ppn(self.written));
            let spare = SpareArea { lpn, sequence: self.written.into(), role: Role::Data };
            sink.program(ppn, spare, Source::Host(page), Cause::Host);
            self.map[lpn.index()] = Some(ppn);
            self.written += 1;
        }
    }

    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let pages = (lpn.0..lpn.0 + count).map(|lpn| self.lookup(Lpn(lpn)));
        let (written, unmapped): (Vec<_>, Vec<_>) = pages.partition(Option::is_some);
        written.into_iter().flatten().for_each(|ppn| sink.read(ppn, cause));
        unmapped.len() as u32
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _sink: &mut S) {
        self.map[lpn.index()..lpn.index() + count as usize].fill(None);
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.map[lpn.index()]
    }
}

/// Settings that choose a registered entry; true if the dummy has a parameter.
const CHOICES: [(&str, bool); 10] = [
    ("ftl.page.gc", true),
    ("ftl.page.survivors", true),
    ("ftl.page.map", true),
    ("ftl.page.map.segments.policy", false),
    ("ftl", true),
    ("drive.scheduler", false),
    ("block.scheduler", true),
    ("cache.policy", true),
    ("workload.pattern", true),
    ("workload.pattern.filebench.personality", false),
];

#[test]
fn registered_members_are_listed_everywhere() {
    // Builds the table of options before the registration, so that it must be rebuilt.
    assert!(OptionSpec::of("ftl.page.gc").unwrap().variants().iter().all(|variant| variant.name != NAME));
    VICTIMS.register(&VICTIM).unwrap();
    PLACEMENTS.register(&PLACEMENT).unwrap();
    MAPS.register(&MAP).unwrap();
    cache::POLICIES.register(&MAP_CACHE).unwrap();
    LOG_FTLS.register(&LOG_FTL).unwrap();
    DIE_SCHEDULERS.register(&DIE_SCHEDULER).unwrap();
    SCHEDULERS.register(&SCHEDULER).unwrap();
    POLICIES.register(&POLICY).unwrap();
    ADMISSIONS.register(&ADMISSION).unwrap();
    PERSONALITIES.register(&PERSONALITY).unwrap();
    PATTERNS.register(&PATTERN).unwrap();

    let (schema, reference) = (json_schema(), reference_markdown());
    for (key, has_parameter) in CHOICES {
        let option = OptionSpec::of(key).unwrap();
        let variant = option.variants().iter().find(|variant| variant.name == NAME);
        assert_eq!(variant.map(|variant| variant.help), Some(HELP), "{key}");
        let section = &reference[reference.find(&format!("### `{key}`\n")).unwrap()..];
        let section = section[1..].split("\n### ").next().unwrap();
        assert!(section.contains(&format!("- `{NAME}`: {HELP}")), "{key}: {section}");
        let parameter = format!("{key}.{NAME}.plugged");
        assert_eq!(OptionSpec::of(&parameter).is_some(), has_parameter, "{parameter}");
        assert_eq!(reference.contains(&format!("### `{parameter}`")), has_parameter, "{parameter}");
    }
    assert!(schema.matches(&format!("\"{NAME}\"")).count() >= CHOICES.len(), "{schema}");
    let leaf = |sets: &[&str], key: &str| {
        let sets: Vec<_> = sets.iter().map(|set| Layer { origin: "--set".into(), text: (*set).into() }).collect();
        let leaves = Config::resolve(None, &[], &sets).unwrap().leaves();
        leaves.into_iter().find(|leaf| leaf.key == key).map(|leaf| leaf.value)
    };
    assert_eq!(leaf(&["ftl.page.gc=plugin"], "ftl.page.gc.plugin.plugged"), Some("25".into()));
    let personality = "workload.pattern.filebench.personality=plugin";
    assert_eq!(leaf(&[personality], "workload.pattern.filebench.files"), Some("123".into()));

    // The admission policy is a parameter of a cache: its index in the registry.
    let admission = |place: usize| {
        let changes = [("admission".to_owned(), place as u64)];
        build_policy(POLICIES.get("lru").unwrap(), &changes, 8, 0, true).map(drop)
    };
    assert_eq!(ADMISSIONS.last().map(|info| info.name), Some(NAME));
    assert_eq!(admission(ADMISSIONS.len() - 1), Ok(()));
    let message = admission(ADMISSIONS.len()).unwrap_err().to_string();
    assert!(message.contains(&format!("from 0 to {} ", ADMISSIONS.len() - 1)), "{message}");

    // By hand: pages 0 to 7 are written, 0 to 3 once more, and 16 pages are read; 8 of the 16 were never written.
    for ftl in ["ftl=plugin", "ftl.page.map=plugin"] {
        let Summary { flash, write_amplification, check, .. } = replayed(&[ftl]);
        assert_eq!((flash.0.programmed(), flash.0.reads.iter().sum::<u64>()), (12, 8), "{ftl}");
        assert_eq!(write_amplification, Some(1.0), "{ftl}");
        assert!(check.is_some_and(|check| check.page_reads_checked > 0), "{ftl}");
    }

    // By hand: every 25th of 60 addresses, each a page that is written once.
    let pattern = [
        "workload.pattern.plugin.plugged=25",
        "workload.span=240KiB",
        "workload.requests=6",
        "workload.reads=0%",
        "workload.size=4KiB",
    ];
    let settings = settings(&pattern);
    let mut generator = Generator::new(&settings.workload).unwrap();
    let mut requests = Vec::new();
    assert_eq!(
        (generator.fill(&mut requests, 100).unwrap(), generator.streams()),
        (6, &["", "strides"].map(String::from)[..])
    );
    let slots: Vec<u64> = requests.iter().map(|request| request.offset / 4096).collect();
    assert_eq!(slots, [0, 25, 50, 15, 40, 5]);
    generator.rewind().unwrap();
    let summary = ssdlab_sim::run(&settings.setup, &mut generator, &mut ()).unwrap().summary;
    assert_eq!(summary.flash.0.programmed(), 6);
}

/// Returns settings of a new drive.
fn settings(sets: &[&str]) -> ssdlab_config::Settings {
    let new = ["precondition.fill=0%", "precondition.overwrite=none", "time=serial", "check=true"];
    let layer = |set: &&str| Layer { origin: "--set".into(), text: (*set).into() };
    let sets: Vec<Layer> = new.iter().chain(sets).map(layer).collect();
    Config::resolve(Some("small-tlc"), &[], &sets).unwrap().settings(None).unwrap()
}

/// Replays a few requests on a new drive.
fn replayed(sets: &[&str]) -> Summary {
    let settings = settings(sets);
    let page = settings.setup.geometry.page_bytes;
    let request = |op, pages: u32| Request { time_ns: 0, offset: 0, bytes: pages * page, op, flags: 0, stream: 0 };
    let requests = [request(Op::Write, 8), request(Op::Write, 4), request(Op::Read, 16)];
    ssdlab_sim::run(&settings.setup, &mut SliceSource::new(&requests), &mut ()).unwrap().summary
}
