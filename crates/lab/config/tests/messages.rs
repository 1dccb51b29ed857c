//! Error messages: one line each, with place and remedy.

use ssdlab_config::{Config, ConfigError, Layer, presets};

fn set(text: &impl ToString) -> Layer {
    Layer { origin: "--set".into(), text: text.to_string() }
}

fn check(file: &str, sets: &[&str]) -> Result<(), ConfigError> {
    let files = [Layer { origin: "my.toml".into(), text: file.into() }];
    let sets: Vec<Layer> = sets.iter().map(set).collect();
    // One plane, whose blocks can be counted by hand.
    Config::resolve(Some("tlc-chip"), &files, &sets)?.settings(None).map(drop)
}

/// Lists all differing messages, so that one run shows them all.
fn differing<'a>(cases: impl IntoIterator<Item = (&'a str, &'a str)>, message: impl Fn(&str) -> String) -> Vec<String> {
    let cases = cases.into_iter().map(|(given, expected)| (given, expected, message(given)));
    let differing = cases.filter(|(_, expected, message)| message != expected);
    differing.map(|(given, expected, message)| format!("{given}\nexpected {expected}\ngot      {message}\n")).collect()
}

fn message(file: &str, sets: &[&str]) -> String {
    check(file, sets).map_or_else(|error| error.to_string(), |()| "accepted".into())
}

#[test]
fn files() {
    let cases = [
        // Keys.
        (
            "colour = 1",
            "my.toml:1: colour: unknown setting; known settings are seed, check, time, gantt, device, nand, drive, \
             cache, block, ftl, host, precondition, workload",
        ),
        ("\n[device]\ncapcity = 3", "my.toml:3: device.capcity: unknown setting; did you mean device.capacity?"),
        ("device.capcity = 3", "my.toml:1: device.capcity: unknown setting; did you mean device.capacity?"),
        ("[nadn]\nread = 1", "my.toml:1: nadn: unknown setting; did you mean nand?"),
        ("[nand]\ncapacity = 1", "my.toml:2: nand.capacity: unknown setting; did you mean device.capacity?"),
        (
            "device = 5",
            "my.toml:1:10: device: expected a table of settings (capacity, fill, scale, op, spare, reserve, unit), found the number 5",
        ),
        ("seed = 1\nseed = 2", "my.toml:2:1: not valid TOML: duplicate key"),
        ("[cache]\ncompressed = \"50%\"", r#"my.toml:2: cache.compressed: needs a cache; set cache.policy to "lru""#),
        // Quantities.
        (
            "[nand]\n\n  read = \"25\"",
            r#"my.toml:3:10: nand.read: "25" is not a duration: the unit is missing; write it like "25us" or "1.5ms""#,
        ),
        (
            "nand.read = 25",
            r#"my.toml:1:13: nand.read: "25" is not a duration: the unit is missing; write it like "25us" or "1.5ms""#,
        ),
        (
            "nand.read = \"25µm\"",
            r#"my.toml:1:13: nand.read: "25µm" is not a duration: unknown unit "µm" (known: ns, us, ms, s); write it like "25us" or "1.5ms""#,
        ),
        (
            "nand.read = true",
            r#"my.toml:1:13: nand.read: expected a duration such as "25us", or one for each page type such as "40us,80us", found true"#,
        ),
        ("nand.erase = 1979-05-27", r#"my.toml:1:14: nand.erase: expected a duration such as "25us", found a date"#),
        ("nand.read = \"1us,2us,3us,4us,5us\"", "my.toml:1:13: nand.read: 5 values; at most 4 are allowed"),
        (
            "nand.read = []",
            r#"my.toml:1:13: nand.read: expected a duration such as "25us", or one for each page type such as "40us,80us", found an empty list"#,
        ),
        ("nand.program = [\"200us\", \"2s\"]", "my.toml:1:16: nand.program: 2s is out of range: 0ns to 1s"),
        (
            "drive.link = \"600MB\"",
            r#"my.toml:1:14: drive.link: "600MB" is not a bandwidth: unknown unit "MB" (known: kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s); write it like "600MB/s" or "3.5GB/s", or "none""#,
        ),
        // Numbers that overflow are out of range.
        ("nand.read = \"1e30s\"", "my.toml:1:13: nand.read: 1e30s is out of range: 0ns to 1s"),
        (
            "drive.link = \"1e400MB/s\"",
            r#"my.toml:1:14: drive.link: 1e400MB/s is out of range: 1MB/s to 1000GB/s, or "none""#,
        ),
        (
            "workload.arrival.poisson.rate = \"1e30/s\"",
            "my.toml:1:33: workload.arrival.poisson.rate: 1e30/s is out of range: 1/s to 1000M/s",
        ),
        ("nand.channels = 1e30", "my.toml:1:17: nand.channels: 1e30 is out of range: 1 to 64"),
        ("workload.size = \"1e30GiB\"", "my.toml:1:17: workload.size: 1e30GiB is out of range: 512B to 1GiB"),
        (
            "workload.pattern.zipf.theta = 1e400",
            "my.toml:1:31: workload.pattern.zipf.theta: 1e400 is out of range: 0.01 to 10.0",
        ),
        (
            "device.capacity = \"1e-5B\"",
            r#"my.toml:1:19: device.capacity: "1e-5B" is not a size: the exponent is negative; write it like "4KiB" (1024) or "4kB" (1000)"#,
        ),
        ("drive.link = \"1kB/s\"", r#"my.toml:1:14: drive.link: 1kB/s is out of range: 1MB/s to 1000GB/s, or "none""#),
        (
            "drive.protocol.nvme.arbitration.weighted.weights = \"4,x\"",
            r#"my.toml:1:52: drive.protocol.nvme.arbitration.weighted.weights: expected a whole number, or several such as "4,2,1", found the string "x""#,
        ),
        (
            "drive.protocol.nvme.arbitration.weighted.weights = [4, 0]",
            "my.toml:1:52: drive.protocol.nvme.arbitration.weighted.weights: 0 is out of range: 1 to 256",
        ),
        ("drive.protocol.sata.depth = 33", "my.toml:1:29: drive.protocol.sata.depth: 33 is out of range: 1 to 32"),
        (
            "device.op = 7",
            r#"my.toml:1:13: device.op: "7" is ambiguous without a % sign; write "7%", or "700%" if you mean a fraction"#,
        ),
        ("device.op = \"2000%\"", "my.toml:1:13: device.op: 2000% is out of range: 0% to 1000%"),
        (
            "workload.arrival.poisson.rate = \"0/s\"",
            "my.toml:1:33: workload.arrival.poisson.rate: 0/s is out of range: 1/s to 1000M/s",
        ),
        // Renamed.
        ("ftl.dftl = 5", "my.toml:1: ftl.dftl: was renamed to ftl.page.map.dftl"),
        // Numbers and switches.
        (
            "nand.endurance = \"3000x\"",
            r#"my.toml:1:18: nand.endurance: expected a whole number, found the string "3000x""#,
        ),
        ("nand.endurance = -1", "my.toml:1:18: nand.endurance: -1 is out of range: 1 to 4294967295"),
        ("nand.pages_per_block = 32768", "my.toml:1:24: nand.pages_per_block: 32768 is out of range: 2 to 32767"),
        (
            "workload.pattern.zipf.theta = nan",
            "my.toml:1:31: workload.pattern.zipf.theta: NaN is out of range: 0.01 to 10.0",
        ),
        ("check = 1", "my.toml:1:9: check: expected true or false, found the number 1"),
        // Sizes and spans.
        (
            "workload.size = \"64\"",
            r#"my.toml:1:17: workload.size: "64" is not a size: the unit is missing; write it like "4KiB" (1024) or "4kB" (1000)"#,
        ),
        (
            "workload.size = \"4KiB:70%,64KiB\"",
            r#"my.toml:1:17: workload.size: "64KiB" has no share; write a mix like "4KiB:70%,64KiB:30%""#,
        ),
        (
            "workload.size = \"4KiB:70%,64KiB:20%\"",
            r#"my.toml:1:17: workload.size: the shares of "4KiB:70%,64KiB:20%" add up to 90%, not 100%"#,
        ),
        (
            "workload.queues = \"1:fixed:10k/s\"",
            r#"my.toml:1:19: workload.queues: "1:fixed:10k/s" is not of the form count:arrival:rate:reads; write queues like "1:fixed:10k/s:50%,6:poisson:15k/s:1%""#,
        ),
        ("workload.queues = \"1:fixed:0/s:50%\"", "my.toml:1:19: workload.queues: 0/s is out of range: 1/s to 1000M/s"),
        (
            "workload.queues = \"1:often:1k/s:50%\"",
            r#"my.toml:1:19: workload.queues: "often" is not one of fixed, poisson"#,
        ),
        (
            "workload.queues = \"9:fixed:1k/s:50%,8:poisson:1k/s:1%\"",
            "my.toml:1:19: workload.queues: 17 queues exceed the maximum of 16; use 16 or fewer",
        ),
        (
            "workload.span = \"half\"",
            r#"my.toml:1:17: workload.span: "half" is not a size: the text does not start with a number; write it like "4KiB" (1024) or "4kB" (1000), or "device""#,
        ),
        // Variants.
        (
            "ftl.page.gc = \"gredy\"",
            r#"my.toml:1:15: ftl.page.gc: "gredy" is not one of greedy, fifo, random, d_choices, cost_benefit, windowed_greedy; did you mean "greedy"?"#,
        ),
        ("[ftl.page.gc.gredy]", "my.toml:1: ftl.page.gc.gredy: unknown setting; did you mean ftl.page.gc.greedy?"),
        (
            "[ftl.page.gc]",
            "my.toml:1: ftl.page.gc: empty table; choose one of greedy, fifo, random, d_choices, cost_benefit, windowed_greedy",
        ),
        ("[ftl.page.gc]\nd = 5", "my.toml:2: ftl.page.gc.d: unknown setting; did you mean ftl.page.gc.d_choices.d?"),
        (
            "ftl.page.gc.fifo = true",
            r#"my.toml:1: ftl.page.gc.fifo: a table of settings cannot be set to true; use ftl.page.gc = "fifo""#,
        ),
        (
            "[ftl.page.gc.d_choices]\nd = 5\n[ftl.page.gc.fifo]",
            r#"my.toml:3: ftl.page.gc: "fifo" conflicts with "d_choices" (my.toml:1); keep only one of the two"#,
        ),
        ("[host.fit.wrap]", "my.toml:1:7: host.fit: expected one of error, wrap, scale, grow, compact, found a table"),
        (
            "workload.arrival = \"poisson\"",
            r#"my.toml:1: workload.arrival.poisson.rate: must be set, for example to "2k/s""#,
        ),
        (
            "[device]\nop = \"7%\"\nspare = \"5%\"",
            "my.toml:3: device.spare: device.op sets the same quantity (my.toml:2); keep only one of the two",
        ),
        ("extends = \"faster\"", r#"my.toml:1: extends: allowed only in presets; use preset = "...""#),
        // Across options.
        ("nand.page_size = \"3KiB\"", "my.toml:1: nand.page_size: 3KiB is not a power of two; set it to 2KiB"),
        (
            "device.capacity = \"10001KiB\"",
            "my.toml:1: device.capacity: 10001KiB is not a multiple of the page size 4KiB; raise it to 10004KiB",
        ),
        (
            "device.capacity = \"1.34GiB\"",
            "my.toml:1: device.capacity: 1438814044B is not a multiple of the page size 4KiB; raise it to 1405092KiB",
        ),
        (
            "device.capacity = \"1KiB\"",
            "my.toml:1: device.capacity: 1KiB is not a multiple of the page size 4KiB; raise it to 4KiB",
        ),
        (
            "device.capacity = \"16TiB\"",
            "my.toml:1: device.capacity: with over-provisioning, a drive of 16TiB exceeds the maximum of 4294967295 \
             pages of 4KiB; raise nand.page_size to 8KiB",
        ),
        (
            "device.op = \"0.05%\"",
            "my.toml:1: device.op: 0.05% provides 4099 blocks in 1 plane, but 4100 are needed: 4096 for data, 3 for the FTL's reserve and 1 spare; raise it to 0.1%",
        ),
        (
            "device.spare = \"0%\"",
            "my.toml:1: device.spare: 0% provides 4096 blocks in 1 plane, but 4100 are needed: 4096 for data, 3 for the FTL's reserve and 1 spare; raise it to 0.1%",
        ),
        (
            "[ftl.page.trigger.batch]\nlow = 9\nhigh = 9",
            "my.toml:3: ftl.page.trigger.batch.high: 9 must exceed low = 9; raise it to 10",
        ),
        (
            "precondition.fill = \"0%\"",
            r#"my.toml:1: precondition.fill: 0% leaves nothing to overwrite; set precondition.overwrite to "none""#,
        ),
        ("host.fit = \"grow\"", r#"my.toml:1: host.fit: "grow" needs a trace; set it to "error""#),
        ("workload.span = \"8GiB\"", "my.toml:1: workload.span: 8GiB exceeds the capacity; lower it to 4GiB"),
        (
            "workload.align = \"3KiB\"",
            "my.toml:1: workload.align: 3KiB is neither a multiple nor a divisor of the page size 4KiB; lower it to 2KiB",
        ),
        (
            "workload.align = \"10KiB\"",
            "my.toml:1: workload.align: 10KiB is neither a multiple nor a divisor of the page size 4KiB; lower it to 8KiB",
        ),
        (
            "workload.span = \"64KiB\"\nworkload.align = \"1MiB\"",
            "my.toml:2: workload.align: 1MiB exceeds the span of 64KiB; lower it to 64KiB",
        ),
        (
            "[workload]\nspan = \"64KiB\"\nsize = \"64KiB\"\npattern.sequential.streams = 2",
            "my.toml:4: workload.pattern.sequential.streams: the number of streams 2 is too large: each gets 32KiB of the span of 64KiB, less than a request of 64KiB; lower it to 1",
        ),
        (
            "[workload]\nspan = \"64KiB\"\nsize = \"512B\"\npattern.sequential.streams = 256",
            "my.toml:4: workload.pattern.sequential.streams: the number of streams 256 is too large: each gets 0B of the span of 64KiB, less than a request of 512B; lower it to 16",
        ),
        (
            "device.fill = \"50%\"\nhost.fit = \"wrap\"",
            r#"my.toml:1: device.fill: needs host.fit = "compact" or "grow", not "wrap"; set device.capacity to 1GiB instead of device.fill"#,
        ),
        (
            "time = \"event\"\nblock.scheduler.pardispatcher.region_size = \"8GiB\"",
            "my.toml:2: block.scheduler.pardispatcher.region_size: 8GiB is larger than the drive; lower it to 4GiB",
        ),
        (
            "time = \"event\"\nblock.scheduler.pardispatcher.region_size = \"1MiB\"\ndevice.capacity = \"512KiB\"\n\
             device.op = \"100%\"\nnand.pages_per_block = 4",
            "my.toml:2: block.scheduler.pardispatcher.region_size: 1MiB is larger than the drive; set it to 4GiB",
        ),
        (
            "device.capacity = \"64MiB\"\nftl.fast.log = 40",
            "my.toml:2: ftl.fast.log: 40 log blocks, but only 4 of 69 blocks are left after 64 data blocks and a reserve of 1 for merges; lower it to 4",
        ),
        (
            "ftl.bast.log = \"120%\"",
            "my.toml:1: ftl.bast.log: 120% of 4096 data blocks is 4916 log blocks, but only 286 of 4383 blocks are left after 4096 data blocks and a reserve of 1 for merges; lower it to 286",
        ),
        (
            "time = \"event\"\nblock.scheduler = \"cfq\"\nblock.wbt_lat = \"2ms\"",
            r#"my.toml:3: block.wbt_lat: the single-queue layer has no write-back throttling; set block.layer to "multi-queue""#,
        ),
        (
            "time = \"event\"\nblock.scheduler = \"cfq\"\nblock.hardware_queues = 2",
            r#"my.toml:3: block.hardware_queues: the single-queue layer has only one queue; set block.layer to "multi-queue""#,
        ),
        (
            "time = \"event\"\nblock.scheduler = \"none\"\nblock.hardware_queues = 2\ndrive.protocol = \"sata\"\nhost.replay.closed.queue_depth = 1",
            "my.toml:3: block.hardware_queues: drive.protocol sata has only one queue, not 2; lower it to 1",
        ),
        (
            "time = \"event\"\nblock.scheduler = \"none\"\nblock.hardware_queues = 2\ndrive.protocol = \"nvme\"",
            "my.toml:3: block.hardware_queues: drive.protocol nvme has 8 queues, not 2; set it to 8",
        ),
        ("ftl.fast.log = 1", "my.toml:1: ftl.fast.log: 1 log block, but the FTL needs at least 2; raise it to 2"),
        // The remedy also satisfies the isolation area, which needs 8 log blocks by default.
        ("ftl.faster.log = 1", "my.toml:1: ftl.faster.log: 1 log block, but the FTL needs at least 2; raise it to 2"),
        (
            "ftl = \"faster\"\ndevice.capacity = \"8MiB\"",
            "my.toml:2: device.capacity: device.op = 7% provides 9 blocks in 1 plane, but 12 are needed: 8 for data, 2 for the FTL's reserve and 2 spare; raise it to 64MiB",
        ),
        (
            "ftl = \"faster\"\ndevice.capacity = \"8MiB\"\ndevice.op = \"37.5%\"",
            "my.toml:3: device.op: 37.5% provides 11 blocks in 1 plane, but 12 are needed: 8 for data, 2 for the FTL's reserve and 2 spare; raise it to 50%",
        ),
        (
            "ftl.faster.log = 1\ndevice.capacity = \"8MiB\"",
            "my.toml:2: device.capacity: device.op = 7% provides 9 blocks in 1 plane, but 12 are needed: 8 for data, 2 for the FTL's reserve and 2 spare; raise it to 64MiB",
        ),
        (
            "ftl = \"sbfast\"\ndevice.spare = \"0.05%\"",
            "default: ftl.sbfast.slb: 4 sequential log blocks leave no random log block (total: 2); lower it to 1",
        ),
        (
            "ftl.sbfast.sub_block = 48",
            "my.toml:1: ftl.sbfast.sub_block: a sub-block of 48 pages does not divide a block of 256 pages; lower it to 32",
        ),
        ("ftl.sbfast.slb = 0", "my.toml:1:18: ftl.sbfast.slb: 0 is out of range: 1 to 1048576"),
        (
            "ftl.sbfast = { log = 4, slb = 4 }",
            "my.toml:1: ftl.sbfast.slb: 4 sequential log blocks leave no random log block (total: 4); lower it to 3",
        ),
        (
            "ftl.faster.log = 5",
            "default: ftl.faster.isolation: 20% of 5 log blocks is 1, but an isolation area needs 2 blocks; raise it to 40%",
        ),
        ("ftl.faster.log = 5\nftl.faster.isolation = \"40%\"", "accepted"),
        (
            "ftl.faster.log = 5\nftl.faster.isolation = \"90%\"",
            "my.toml:2: ftl.faster.isolation: 90% of 5 log blocks is 5, which leaves no log block for random pages; lower it to 60%",
        ),
        (
            "ftl = \"bast\"\ndevice.op = \"0.02%\"",
            "my.toml:2: device.op: 0.02% provides 4097 blocks in 1 plane, but 4098 are needed: 4096 for data, 1 for the FTL's reserve and 1 spare; raise it to 0.05%",
        ),
        // Planes.
        (
            "nand.channels = 16\nnand.dies = 8",
            "my.toml:1: nand.channels: device.op = 7% provides 4383 blocks in 128 planes, but 5120 are needed: 4096 for data, 896 for the FTL's reserve and 128 spare; raise device.capacity to 16GiB",
        ),
        (
            "nand.planes = 16\nnand.ways = 64\nftl.bast.log = 4\ndevice.capacity = \"64MiB\"",
            "my.toml:4: device.capacity: device.op = 7% provides 69 blocks in 1024 planes, but 1024 are needed: 64 for data, 1 for the FTL's reserve and 959 spare; raise it to 1GiB",
        ),
        (
            "device.capacity = \"256MiB\"\nftl.page.trigger.batch.high = 200\nnand.planes = 4",
            "my.toml:2: ftl.page.trigger.batch.high: at 200 per plane, erased blocks would outnumber the drive's 256 data blocks; \
             lower it to 64",
        ),
        // Units of the chips.
        ("device.unit = \"8KiB\"", "my.toml:1: device.unit: 8KiB is more than nand.page_size = 4KiB; lower it to 4KiB"),
        ("device.unit = \"3KiB\"", "my.toml:1: device.unit: 3KiB is not a power of two; set it to 2KiB"),
        (
            "nand.word_line = 3",
            "preset tlc-chip: nand.pages_per_block: 256 is not a multiple of nand.word_line = 3; raise it to 258",
        ),
        (
            "nand.pages_per_block = 32767\nnand.page_size = \"1MiB\"\ndevice.unit = \"512B\"\nnand.channels = 64\n\
             ftl.page.collect = \"superblock\"",
            "my.toml:1: nand.pages_per_block: blocks of 32767 pages on 64 planes have 4294836224 mapping units, more \
             than the maximum of 2147483647; lower it to 16383",
        ),
        (
            "ftl = \"bast\"\ndevice.unit = \"2KiB\"",
            "my.toml:2: device.unit: log-block FTLs program whole flash pages; raise it to 4KiB",
        ),
        (
            "ftl = \"bast\"\nnand.word_line = 2",
            "my.toml:2: nand.word_line: log-block FTLs program one flash page at a time; lower it to 1",
        ),
        (
            "nand.channels = 8\nftl.page.collect.superblock.parity = 15",
            "my.toml:2: ftl.page.collect.superblock.parity: the drive's 8 dies cannot be divided into stripes of 16 \
             dies; lower it to 7",
        ),
        (
            "ftl.page.collect.superblock.parity = 3",
            "my.toml:1: ftl.page.collect.superblock.parity: the drive's 1 die cannot be divided into stripes of 4 \
             dies; set it to 0",
        ),
        (
            "nand.passes = \"two\"",
            r#"my.toml:1: nand.passes: two passes need nand.word_line of at least 2; set nand.passes to "one""#,
        ),
        (
            "nand.word_line = 2\nnand.passes = \"two\"\nnand.program = \"100us\"",
            "my.toml:3: nand.program: needs two durations with nand.passes = \"two\": for the coarse and the fine \
             pass; set it to 100us,100us",
        ),
        (
            "nand.word_line = 2\nnand.program = [\"100us\", \"200us\"]",
            "my.toml:2: nand.program: needs a single duration, because one command programs 2 pages with nand.word_line = \
             2; set it to 100us",
        ),
        (
            "nand.planes = 4\nftl.page.collect = \"die\"",
            r#"my.toml:2: ftl.page.collect: "die" programs all planes of a die together; set nand.multiplane to true"#,
        ),
        (
            "nand.order = \"any\"\nnand.word_line = 2",
            r#"my.toml:1: nand.order: pages in one program unit must be programmed in ascending order; set it to "ascending""#,
        ),
        (
            "nand.copyback = true\ndevice.unit = \"2KiB\"",
            "my.toml:1: nand.copyback: copyback moves single flash pages, but this drive maps, programs or collects \
             units of another size; set it to false",
        ),
        (
            "nand.channels = 4\nftl.page.collect = \"superblock\"\ndevice.op = \"0.1%\"",
            "my.toml:3: device.op: 0.1% provides 1026 blocks in 1 drive, but 1032 are needed: 1024 for data, 7 for the FTL's reserve and 1 spare; raise it to 0.79%",
        ),
        (
            "nand.word_line = 2\ntime = \"event\"",
            r#"default: drive.buffer: without a buffer, a write would wait until all 2 pages of its program unit are written; set it to "eager""#,
        ),
        (
            "nand.word_line = 2\ntime = \"event\"\ndrive.buffer.eager = { size = \"4KiB\", plp = true }",
            "my.toml:3: drive.buffer.eager.size: a buffer of 4KiB cannot hold a program unit; raise it to 8KiB",
        ),
        (
            "nand.word_line = 2\ntime = \"event\"\nnand.passes.two.distance = 3\nnand.program = [\"100us\", \"300us\"]\n\
             drive.buffer.eager = { size = \"28KiB\", plp = true }",
            "my.toml:5: drive.buffer.eager.size: a buffer of 28KiB cannot hold the word lines between the coarse and \
             the fine pass; raise it to 32KiB",
        ),
        (
            "nand.word_line = 2\ntime = \"event\"\nnand.passes = \"two\"\nnand.program = [\"100us\", \"300us\"]\n\
             drive.buffer = \"eager\"",
            "default: drive.buffer.eager.plp: data waits in the buffer between the coarse and the fine pass, so flushes need power-loss protection; \
             set it to true",
        ),
        // SLC caches. A block of 256 pages holds 128 pages, or 512 KiB, in SLC mode with word lines of two pages.
        (
            "ftl.page.slc = \"dynamic\"",
            r#"my.toml:1: ftl.page.slc: SLC mode needs nand.word_line of 2 or more, not 1; set it to "none""#,
        ),
        (
            "nand.word_line = 2\nftl.page.slc.static.size = \"1MiB\"\nnand.channels = 4\ntime = \"count\"",
            "my.toml:2: ftl.page.slc.static.size: 1MiB is only one cache block per plane, but a cache needs 2 blocks per plane; raise it to 4MiB",
        ),
        (
            "nand.word_line = 2\nftl.page.slc.static.size = \"1GiB\"",
            "my.toml:2: ftl.page.slc.static.size: 1GiB needs 2048 cache blocks per plane, but data and reserve leave room for only 283; lower it to 144896KiB",
        ),
        (
            "nand.word_line = 2\nftl.page.slc.static.size = \"1GiB\"\ndevice.op = \"0.1%\"",
            r#"my.toml:2: ftl.page.slc.static.size: 1GiB needs 2048 cache blocks per plane, but data and reserve leave room for only 1; set ftl.page.slc to "none""#,
        ),
        (
            "nand.word_line = 2\nftl.page.slc.dynamic.share = \"0.01%\"",
            "my.toml:2: ftl.page.slc.dynamic.share: 0.01% of 4380 free blocks is 0 cache blocks per plane, but a cache needs 2; raise it to 1%",
        ),
        (
            "nand.word_line = 2\nftl.page.slc = \"dynamic\"\nftl.page.map = \"dftl\"",
            r#"my.toml:3: ftl.page.map: "dftl" does not support an SLC cache; set it to "ram""#,
        ),
        (
            "nand.word_line = 2\nftl.page.slc = \"dynamic\"\nftl.page.fold = \"idle\"",
            r#"my.toml:3: ftl.page.fold: idle folding needs time = "event"; set it to "pressure""#,
        ),
        (
            "nand.word_line = 2\nftl.page.slc = \"dynamic\"\nftl.page.fold = \"idle\"\ntime = \"event\"\ndrive.buffer = \"eager\"",
            r#"default: drive.collect: ftl.page.fold = "idle" needs idle-time garbage collection; set drive.collect to "idle""#,
        ),
        (
            "ftl.bast.log = 4\nftl.page.slc = \"dynamic\"",
            r#"my.toml:2: ftl.page.slc: needs ftl = "page", but my.toml:1 sets "bast"; keep only one of the two"#,
        ),
        // More erased blocks than data blocks.
        (
            "ftl.page.trigger.partial.low = 1048576",
            "my.toml:1: ftl.page.trigger.partial.low: at 1048576 per plane, erased blocks would outnumber the drive's 4096 data blocks; lower it to 4096",
        ),
        (
            "ftl.page.trigger.partial.low = 1048576\ndevice.reserve = \"extra\"",
            "my.toml:1: ftl.page.trigger.partial.low: at 1048576 per plane, erased blocks would outnumber the drive's 4096 data blocks; lower it to 4096",
        ),
        (
            "ftl.page.trigger.partial.low = 300",
            "preset tlc-chip: device.op: 7% provides 4383 blocks in 1 plane, but 4400 are needed: 4096 for data, 303 for the FTL's reserve and 1 spare; raise it to 7.43%",
        ),
        (
            "device.op = \"0.05%\"\nftl.page.trigger.batch.high = 5000",
            "my.toml:2: ftl.page.trigger.batch.high: at 5000 per plane, erased blocks would outnumber the drive's 4096 data blocks; lower it to 4096",
        ),
        ("ftl.page.trigger.partial.low = 283", "accepted"),
        ("ftl.page.trigger.partial.low = 4096\ndevice.reserve = \"extra\"", "accepted"),
        // Parallel drive.
        (
            "time = \"event\"\nnand.read = \"0ns\"\nnand.erase = \"0ns\"",
            "my.toml:2: nand.read: operations with a time of 0ns never advance the clock; raise it to 1us\n\
             my.toml:3: nand.erase: operations with a time of 0ns never advance the clock; raise it to 1us",
        ),
        (
            "nand.planes = 2\nnand.program = \"200us,0ns\"",
            "my.toml:2: nand.program: operations with a time of 0ns never advance the clock; raise it to 200us,1us",
        ),
        (
            "time = \"event\"\nnand.suspend.erase.time = \"15ms\"",
            "my.toml:2: nand.suspend.erase.time: 15ms must be less than nand.erase = 15ms; lower it to 7.5ms",
        ),
        (
            "time = \"event\"\nnand.suspend = \"erase_and_program\"\nnand.program = \"200us,80us\"",
            "default: nand.suspend.erase_and_program.time: 100us must be less than nand.program = 80us; lower it to 40us",
        ),
        (
            "time = \"event\"\nnand.suspend.erase_and_program.erase_time = \"15ms\"",
            "my.toml:2: nand.suspend.erase_and_program.erase_time: 15ms must be less than nand.erase = 15ms; lower it to 7.5ms",
        ),
        (
            "time = \"event\"\ndrive.protocol = \"sata\"\nhost.replay.closed.queue_depth = 64",
            "my.toml:3: host.replay.closed.queue_depth: a queue depth of 64 exceeds the 31 requests that drive.protocol sata holds; lower it to 31",
        ),
        (
            "time = \"event\"\ndrive.protocol.ufs.depth = 16",
            "default: host.replay.closed.queue_depth: a queue depth of 32 exceeds the 16 requests that drive.protocol ufs holds; lower it to 16",
        ),
        (
            "time = \"event\"\ndrive.protocol.nvme = { queues = 4, depth = 64 }\nhost.replay.closed.queue_depth = 1000",
            "my.toml:3: host.replay.closed.queue_depth: a queue depth of 1000 exceeds the 256 requests that drive.protocol nvme holds; lower it to 256",
        ),
        (
            "time = \"event\"\ndrive.protocol.nvme.depth = 64\nhost.replay.closed = { queue_depth = 65, per_stream = true }",
            "my.toml:3: host.replay.closed.queue_depth: a queue depth of 65 exceeds the 64 requests that drive.protocol nvme holds; lower it to 64",
        ),
        (
            "time = \"event\"\ndrive.buffer.eager.size = \"2KiB\"",
            "my.toml:2: drive.buffer.eager.size: a buffer of 2KiB cannot hold a page; raise it to 4KiB",
        ),
        (
            "time = \"event\"\ndrive.buffer.watermark.size = \"8GiB\"",
            "my.toml:2: drive.buffer.watermark.size: 8GiB exceeds the capacity; lower it to 4GiB",
        ),
        (
            "time = \"event\"\ndrive.buffer.watermark = { high = \"40%\", low = \"40%\" }",
            "my.toml:2: drive.buffer.watermark.low: 40% must be less than high = 40%; lower it to 20%",
        ),
        (
            "time = \"event\"\ndrive.collect.background.blocks = 284",
            "my.toml:2: drive.collect.background.blocks: cannot reach 284 erased blocks per plane: of 4383 blocks per plane, data needs 4096, the FTL's reserve 3 and garbage collection 1; lower it to 283",
        ),
        (
            "nand.channels = 64\nftl.page.trigger = \"victim\"\ndrive.collect = \"idle\"",
            r#"default: drive.collect.idle.blocks: cannot reach 4 erased blocks per plane: of 69 blocks per plane, data needs 64, the FTL's reserve 3 and garbage collection 1; lower it to 1"#,
        ),
        (
            "time = \"event\"\ndevice.capacity = \"1TiB\"\nnand = { channels = 64, ways = 16, dies = 16, planes = 16, pages_per_block = 8 }\ndrive.collect.background.blocks = 65536",
            "my.toml:4: drive.collect.background.blocks: cannot reach 65536 erased blocks per plane: of 137 blocks per plane, data needs 128, the FTL's reserve 7 and garbage collection 1; lower it to 1",
        ),
        (
            "time = \"event\"\nftl = \"fast\"\ndrive.collect = \"idle\"",
            r#"my.toml:3: drive.collect: log-block FTLs do not support "idle"; set it to "foreground""#,
        ),
        ("gantt = \"window\"", r#"my.toml:1: gantt: needs the event clock; set time to "event""#),
        (
            "time = \"event\"\ngantt.window.length = \"0ns\"",
            "my.toml:2: gantt.window.length: 0ns records nothing; raise it to 10ms",
        ),
        (
            "time = \"event\"\ndrive.pace = \"tokens\"",
            "my.toml:2: drive.pace: needs a write buffer; set drive.buffer to \"eager\"",
        ),
        (
            "time = \"event\"\ndrive.buffer = \"eager\"\ndrive.pace = \"credits\"",
            "my.toml:3: drive.pace: credits need background collection (drive.collect = \"background\"); set it to \"tokens\"",
        ),
        (
            "time = \"event\"\ndrive.read_ahead.sequential = { size = \"64KiB\", pages = 20 }",
            "my.toml:2: drive.read_ahead.sequential.size: 64KiB is less than 20 pages; raise it to 80KiB",
        ),
        (
            "time = \"event\"\ndrive.hmb = \"map_cache\"",
            "my.toml:2: drive.hmb: the host memory buffer needs a map in flash (ftl.page.map); set drive.hmb to \"none\"",
        ),
        (
            "time = \"event\"\nftl.page.map = \"dftl\"\ndrive.hmb.map_cache.entries = 8",
            "default: drive.hmb.map_cache.fetch: 16 entries exceed the 8 entries of the controller's own memory; lower it to 8",
        ),
        (
            "time = \"event\"\ndrive.thermal.throttle.release = 80",
            "my.toml:2: drive.thermal.throttle.release: 80 must be less than threshold = 80; lower it to 79",
        ),
        // Errors of the workload generator, at their settings.
        (
            "workload.pattern = \"sequential\"\nworkload.queues = \"2:fixed:1k/s:50%\"",
            "my.toml:2: workload.queues: the queue setting needs a pattern without its own streams; set it to \"none\"",
        ),
        (
            "workload.pattern = \"filebench\"\nworkload.queues = \"2:fixed:1k/s:50%\"",
            "my.toml:2: workload.queues: the queue setting needs a pattern without its own streams; set it to \"none\"",
        ),
        (
            "workload.arrival.fixed.rate = \"1k/s\"\nworkload.queues = \"2:fixed:1k/s:50%\"",
            "my.toml:1: workload.arrival: workload.queues replaces this setting; set it to \"closed\"",
        ),
        (
            "host.replay.open.depth = 4",
            "my.toml:1: host.replay.open.depth: needs the event clock; set time to \"event\"",
        ),
        (
            "[workload.pattern.streams]\nlength = 9_000_000",
            "my.toml:2: workload.pattern.streams.length: the run length of 9000000 slots of 4KiB exceeds the span of 4GiB; lower it to 1048576",
        ),
        (
            "[workload.pattern.streams]\nblock = \"100KiB\"",
            "default: workload.pattern.streams.sub_block: the sub-block size 32KiB does not divide the block size 100KiB; set it to 4KiB",
        ),
        (
            "[workload.pattern.streams]\nblock_headers = \"75%\"\nsub_block_headers = \"50%\"",
            "my.toml:3: workload.pattern.streams.sub_block_headers: the share 50% is too large: with block_headers = 75%, the sum is 125%, over 100%; lower it to 25%",
        ),
        (
            "[workload.pattern.copy_files]\nfile_size = \"1GiB\"",
            "my.toml:2: workload.pattern.copy_files.file_size: file_size is too large: 10 files of 1GiB exceed the span of 4GiB; lower it to 419428KiB",
        ),
        (
            "workload.size = \"4KiB:50%,8KiB:50%\"\nworkload.pattern = \"copy_files\"",
            "my.toml:1: workload.size: `copy_files` supports only one request size; set it to 8KiB",
        ),
        (
            "[workload.pattern.oltp]\nblock = \"6KiB\"",
            "my.toml:2: workload.pattern.oltp.block: 6KiB is not a multiple of the alignment 4KiB; set it to 4KiB",
        ),
        (
            "[workload.pattern.oltp]\nhot_blocks = \"80%\"",
            "default: workload.pattern.oltp.idle_blocks: with 80% of 32768 blocks hot, an idle share of 20.8% leaves no block for the other requests; lower it to 19.9981%",
        ),
        (
            "device.capacity = \"64MiB\"\nworkload.pattern = \"locality\"",
            "default: workload.pattern.locality.heads: the number of regions 90 exceeds the 32 regions of 2MiB that fit in the span of 64MiB; lower it to 32",
        ),
        (
            "[workload.pattern.locality]\nheads = 5",
            "default: workload.pattern.locality.stretches: 5 of 2048 regions cannot form 6 separate groups; set it to \
             5",
        ),
        (
            "[workload.pattern.locality]\nregion = \"3000B\"",
            "my.toml:2: workload.pattern.locality.region: 3kB is not a multiple of the alignment 4KiB; set it to 4KiB",
        ),
        (
            "[workload.pattern.filebench]\nfiles = 50",
            "my.toml:2: workload.pattern.filebench.files: the number of files is too small: 50 threads that each keep a file open need more than 50 files; raise it to 51",
        ),
        (
            "[workload.pattern.filebench]\nthink = \"0ns\"",
            "my.toml:2: workload.pattern.filebench.think: with a think time of 0, simulated time would stop once all data is cached; raise it to 1us",
        ),
        (
            "workload.pattern = \"filebench\"\nworkload.span = \"128MiB\"",
            "my.toml:2: workload.span: a span of 128MiB is too small for a file system; raise it to 256MiB",
        ),
        (
            "[workload]\nspan = \"8KiB\"\npattern.hot_cold.hot_space = \"1%\"",
            "my.toml:3: workload.pattern.hot_cold.hot_space: a hot share of 1% leaves none of the 2 addresses hot; \
             raise it to 50%",
        ),
        (
            "[workload]\nspan = \"16KiB\"\npattern.hot_cold.hot_space = \"90%\"",
            "my.toml:3: workload.pattern.hot_cold.hot_space: a hot share of 90% leaves none of the 4 addresses cold; \
             lower it to 75%",
        ),
        ("[workload]\nspan = \"16KiB\"\npattern.hot_cold.hot_space = \"75%\"", "accepted"),
        (
            "[workload]\nsize = \"64KiB\"\npattern.locality.region = \"32KiB\"",
            "my.toml:3: workload.pattern.locality.region: 32KiB is smaller than a request of 64KiB; raise it to 64KiB",
        ),
        (
            "[workload]\nsize = \"6KiB\"\nspan = \"6KiB\"\npattern.copy_files = { files = 1, file_size = \"6KiB\" }",
            "my.toml:2: workload.size: the request size 6KiB is not a multiple of the alignment 4KiB, so files would have gaps; set it to 4KiB",
        ),
        (
            "[workload]\nsize = \"4KiB\"\nspan = \"6KiB\"\npattern.copy_files = { files = 1, file_size = \"6KiB\" }",
            "accepted",
        ),
    ];
    let differing = differing(cases, |text| message(text, &[]));
    assert!(differing.is_empty(), "{}", differing.concat());
}

/// Without a preset, a file builds on the default drive. Its smallest blocks have 3 MiB: 8 MiB are 3 of them.
#[test]
fn the_default_drive() {
    for (text, expected) in [
        (
            "preset = \"tlc-nvm\"",
            r#"my.toml:1:10: unknown preset "tlc-nvm"; did you mean "tlc-nvme"? presets are sbfast, faster, mapcache, dftl, tlc-chip, small-nvme, small-tlc, tlc-nvme, sata-mlc, enterprise-nvme, mobile-ufs, client-nvme, pe8110-960, pm9a3-960, 7450-pro-960, 7450-max-800, 980-pro-1tb, 980-pro-1tb-slc, qlc-client"#,
        ),
        (
            "device.capacity = \"8MiB\"",
            "my.toml:1: device.capacity: device.op = 9.93% provides 3 blocks in 1 drive, but 8 are needed: 3 for data, 4 for the FTL's reserve and 1 spare; raise it to 256MiB",
        ),
        (
            "ftl = \"fast\"",
            "my.toml:1: ftl: fast maps whole flash pages, but the default drive maps smaller units; use preset small-tlc",
        ),
    ] {
        let files = [Layer { origin: "my.toml".into(), text: text.into() }];
        let checked = Config::resolve(None, &files, &[]).and_then(|config| config.settings(None));
        assert_eq!(checked.unwrap_err().to_string(), expected, "{text}");
    }
}

/// A gibibyte is 32 blocks of 16 planes of the preset's 256 GB. A scale model of it has smaller blocks.
#[test]
fn a_drive_far_smaller_than_its_preset_becomes_a_scale_model() {
    let check = |sets: &[&str]| {
        let sets: Vec<Layer> = sets.iter().map(set).collect();
        Config::resolve(Some("tlc-nvme"), &[], &sets).and_then(|config| config.settings(None)).map(drop)
    };
    assert_eq!(
        check(&["device.capacity=1GiB"]).unwrap_err().to_string(),
        "--set: device.capacity: device.op = 7.37% provides 31 blocks in 16 planes, but 160 are needed: 32 for data, 112 for the FTL's reserve and 16 spare; set device.scale to \"blocks\""
    );
    assert!(check(&["device.capacity=1GiB", "device.scale=blocks"]).is_ok());
    // Over-provisioning that the user sets is too small at any size.
    let error = check(&["device.capacity=1GiB", "device.op=0.1%"]).unwrap_err().to_string();
    assert!(!error.contains("device.scale"), "{error}");
}

#[test]
fn sets() {
    let cases = [
        ("nand.read", r#"--set: "nand.read" is not of the form key=value"#),
        ("=3", r#"--set: "=3" is not of the form key=value"#),
        ("block.wbt_lat=2ms", r#"--set: block.wbt_lat: needs a block layer; set block.scheduler to "none""#),
        ("nand.reed=25us", "--set: nand.reed: unknown setting; did you mean nand.read?"),
        (
            "nand.read=25",
            r#"--set: nand.read: "25" is not a duration: the unit is missing; write it like "25us" or "1.5ms""#,
        ),
        ("seed=x", r#"--set: seed: expected a whole number, found the string "x""#),
        ("check=", r#"--set: check: expected true or false, found the string """#),
        (
            "ftl.page.gc=lru",
            r#"--set: ftl.page.gc: "lru" is not one of greedy, fifo, random, d_choices, cost_benefit, windowed_greedy; did you mean ftl.page.map.segments.policy = "lru"?"#,
        ),
        (
            "device.op=0.07",
            r#"--set: device.op: "0.07" is ambiguous without a % sign; write "0.07%", or "7%" if you mean a fraction"#,
        ),
        (
            "ftl=greedy",
            r#"--set: ftl: "greedy" is not one of page, bast, fast, faster, sbfast; did you mean ftl.page.gc = "greedy"?"#,
        ),
        ("device.capacity=1e30GiB", "--set: device.capacity: 1e30GiB is out of range: 1KiB to 256TiB"),
        ("workload.requests=1e18", "--set: workload.requests: 1000000000000000000 is out of range: 0 to 1000000000000"),
        ("preset=faster", "--set: preset: not a setting; use --preset NAME"),
    ];
    let differing = differing(cases, |set| message("", &[set]));
    assert!(differing.is_empty(), "{}", differing.concat());
    assert_eq!(
        message("", &["ftl=fast", "ftl.page.gc=fifo"]),
        r#"--set: ftl.page.gc: needs ftl = "page", but --set sets "fast"; keep only one of the two"#
    );
    assert_eq!(
        message("", &["device.op=7%", "device.spare=5%"]),
        "--set: device.spare: device.op sets the same quantity (--set); keep only one of the two"
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = "seed = \"x\"\n[nand]\nreed = 1\nread = \"1\"\nerase = \"2\"";
    let error = check(text, &["check=maybe"]).unwrap_err();
    let places: Vec<&str> = error.0.iter().map(|violation| violation.key.as_str()).collect();
    assert_eq!(places, ["seed", "nand.reed", "nand.read", "nand.erase", "check"]);

    let text = "precondition.fill = \"0%\"\nhost.fit = \"scale\"\ndevice.op = \"0%\"";
    assert_eq!(check(text, &[]).unwrap_err().0.len(), 3);
}

/// If 32 bits cannot number the pages, the proposed size is accepted, and half of it is not. For presets that set
/// `device.unit`, the message proposes a larger unit; the test makes their flash pages large enough.
#[test]
fn a_page_size_for_huge_drives_is_proposed() {
    for preset in presets() {
        let leaves = Config::resolve(Some(preset.name), &[], &[]).unwrap().leaves();
        let has_unit = leaves.iter().any(|leaf| leaf.key == "device.unit" && leaf.origin.starts_with("preset "));
        let (key, also) =
            if has_unit { ("device.unit", "nand.page_size=512KiB") } else { ("nand.page_size", "seed=1") };
        // The buffer must hold a program unit of such pages.
        let buffered = leaves.iter().any(|leaf| leaf.key == "drive.buffer.eager.size");
        let buffer = if buffered { "drive.buffer.eager.size=1GiB" } else { "seed=1" };
        for tebibytes in [16, 64, 256] {
            let with_size = |kibibytes: u64| {
                let sets = [
                    set(&also),
                    set(&buffer),
                    set(&format!("{key}={kibibytes}KiB")),
                    set(&format!("device.capacity={tebibytes}TiB")),
                ];
                let settings = Config::resolve(Some(preset.name), &[], &sets).unwrap().settings(None);
                settings.map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
            };
            let message = with_size(4);
            let remedy = format!("exceeds the maximum of 4294967295 pages of 4KiB; raise {key} to ");
            let (_, proposed) = message.split_once(&remedy).expect(&message);
            let kibibytes = proposed.strip_suffix("KiB").expect(&message).parse().unwrap();
            assert_eq!(with_size(kibibytes), "accepted", "{}", preset.name);
            assert!(with_size(kibibytes / 2).contains("exceeds the maximum of 4294967295 pages"), "{}", preset.name);
        }
    }
}
