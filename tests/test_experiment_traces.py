"""Experiments that replay traces: inline traces, and traces that the user supplies."""

import json
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from conftest import SMALL, Cli
from ssdlab import experiments
from ssdlab.study import executor
from ssdlab.study.experiments import replay

TEXT = """
title = "Traces"
document = "Nobody, Traces for a test, 2024"
preset = "sbfast"
seeds = [1, 2]

[set]
device.capacity = "4MiB"
device.op = "50%"
host.fit = "grow"
workload.requests = 1000
# Larger than the device: a workload that cannot be does not matter to a trace.
workload.pattern.streams.block = "1GiB"

[trace.turns]
pages = [0, 64, 128, 0, 64, 128]

[trace.again]
pages = [0, 64, 128, 0, 64, 128]

[trace.mail]
help = "a trace of a mail server"

[trace.shop]
help = "a trace of a shop"
format = "ssdlab-csv"

[axis.ftl]
bast = { ftl.bast.log = 2 }
fast = { ftl.fast.log = 2 }

[axis.trace]
turns = { trace = "turns" }
mail = { trace = "mail" }
shop = { trace = "shop" }

[[table]]
name = "erases"
title = "Erases"
value = "wear.erases"
rows = "trace"
columns = "ftl"
reference = "erases.csv"
better = "low"
seeds = [1]

[[table]]
name = "copies"
title = "Copies by another name"
value = "log.merges.full.copies + log.merges.partial.copies"
rows = "ftl"
columns = "ftl"
trace = "again"
"""
REFERENCE = "trace,bast,fast\nturns,4,4\nmail,100,90\nshop,80,70\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "erases.csv").write_text(REFERENCE)
    file = tmp_path / "traces.toml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    """A trace in MSR Cambridge format, with reads beyond the experiment's device."""
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, "workload.requests": 500, "workload.reads": "30%"})
    path = tmp_path / "mail.csv.gz"
    ssdlab.generate(config).save(path, format="msr")
    return path


def test_bast_costs_on_the_slides_sequences_match_hand_counts() -> None:
    experiment = experiments.load("thrashing")
    names = ["sequence_merges", "sequence_copies", "sequence_erases", "sequence_ms"]
    result = experiment.run(tables=names)
    # Four tables are six runs.
    assert (result.runs, result.partial) == (6, False)
    merges, copies, erases, milliseconds = (result[name].ours for name in names)
    assert result[names[0]].rows == ("bast", "fast", "sbfast") and result[names[0]].columns == ("space", "time")
    assert [array[0].tolist() for array in (merges, copies, erases)] == [[9, 2], [28, 4], [10, 3]]
    assert milliseconds == pytest.approx(12 * 0.2 + 0.225 * copies + 2 * erases)

    table = result[names[0]].table
    kinds = {}
    for column in table.columns.labels:
        (config,) = experiment.configs(table, "bast", column)
        trace = replay.requests(experiment.traces[column], config["nand.page_size"])
        counted = ssdlab.simulate(config, trace).summary["log"]["merges"]
        kinds[column] = [counted[kind]["count"] for kind in ("switch", "partial", "full")]
    assert kinds == {"space": [0, 8, 1], "time": [1, 0, 1]}


def test_an_inline_trace_writes_whole_pages_of_any_size() -> None:
    turns = experiments.Replay(name="x", pages=(3, 0), help="", format=None, device=None)
    trace = replay.requests(turns, "8KiB")
    assert trace.op.tolist() == [1, 1] and trace.bytes.tolist() == [8192, 8192] and trace.offset.tolist() == [24576, 0]


def test_cells_without_their_trace_are_empty_and_the_table_has_a_remedy(cli: Cli, file: Path, mail: Path) -> None:
    result = experiments.load(file).run(traces={"mail": mail})
    table = result["erases"]
    assert [replay.name for replay in table.missing] == ["shop"] and result["copies"].missing == ()
    assert np.isnan(table.ours[2]).all() and not np.isnan(table.ours[:2]).any()
    assert not np.isnan(table.document).any() and not result.partial

    done = cli("experiment", "run", file)
    lines = done.stdout.splitlines()
    assert "our values need a trace: supply a trace of a mail server with --trace mail=FILE" in lines
    assert "our values need a trace: supply a trace of a shop with --trace shop=FILE" in lines
    row = next(line for line in lines if line.startswith("mail "))
    assert row.split() == ["mail", "document", "100", "90"]
    assert lines[lines.index(row) + 1].split() == ["ours", "–", "–"]

    done = cli("experiment", "run", file, "--only", "erases", "--json", "--out", "out")
    whole = json.loads(done.stdout)
    payload = whole["result"]
    (erases,) = payload["tables"]
    assert erases["missing_traces"] == ["mail", "shop"] and erases["ours"][1:] == [[None, None], [None, None]]
    assert whole["source"]["traces"] == {} and not whole["partial"] and (payload["runs"], payload["finished"]) == (2, 2)
    assert "supply a trace of a shop" in (file.parent / "out" / "report.html").read_text()


def test_a_table_without_runnable_cells_causes_no_error(cli: Cli) -> None:
    whole = json.loads(cli("experiment", "run", "sbfast", "--only", "exec_time_tpce", "--json").stdout)
    (table,) = whole["result"]["tables"]
    assert (whole["result"]["runs"], whole["partial"], table["missing_traces"]) == (0, False, ["tpce"])
    assert table["ours"] == [[None] * 9] * 5 and table["document"][0][0] == 701.549475
    assert table["winners"] == [] and table["misses"] == [] and table["rms"] is None


def test_a_supplied_trace_is_replayed_as_simulate_does(cli: Cli, file: Path, mail: Path) -> None:
    experiment = experiments.load(file)
    table = experiment.tables[0]
    result = experiment.run(traces={"mail": mail})
    for column, label in enumerate(table.columns.labels):
        (config,) = experiment.configs(table, "mail", label)
        assert result["erases"].ours[1, column] == ssdlab.simulate(config, mail).summary["wear"]["erases"]
    assert result.traces == {"mail": {"kind": "trace", "paths": [str(mail)]}}
    # In memory and on the command line.
    trace = ssdlab.read_trace(mail)
    memory = experiment.run(traces={"mail": trace})
    assert memory.to_dict()["tables"] == result.to_dict()["tables"]
    assert memory.traces == {"mail": {"kind": "memory", "requests": 500}}
    options = ["--trace", f"mail={mail}", "--json", "--out", "out"]
    assert json.loads(cli("experiment", "run", file, *options).stdout) == result.envelope()
    assert "Traces supplied" in (file.parent / "out" / "report.html").read_text()


def halves(mail: Path, names: list[str], format: str) -> None:
    """Splits a trace into two files in the same folder."""
    columns = ssdlab.read_trace(mail).columns()
    for name, rows in zip(names, (slice(0, 200), slice(200, 500)), strict=True):
        part = {key: columns[key][rows] for key in ("time_ns", "op", "offset", "bytes")}
        ssdlab.Trace.from_columns(**part, streams=()).save(mail.parent / name, format=format)


def test_a_trace_may_have_several_files(cli: Cli, file: Path, mail: Path) -> None:
    halves(mail, ["a.csv", "b.csv"], "msr")
    whole = experiments.load(file).run(traces={"mail": mail})["erases"].ours[1]
    paths = {"mail": [mail.parent / "a.csv", mail.parent / "b.csv"]}
    assert (experiments.load(file).run(traces=paths)["erases"].ours[1] == whole).all()
    done = cli("experiment", "run", file, "--trace", "mail=a.csv", "--trace", "mail=b.csv", "--json")
    assert json.loads(done.stdout)["result"]["tables"][0]["ours"][1] == whole.tolist()


def test_reading_notes_of_a_trace_are_shown(cli: Cli, file: Path, mail: Path) -> None:
    halves(mail, ["a.csv", "b.csv"], "ssdlab-csv")
    with (mail.parent / "b.csv").open("a") as part:
        part.write("99999999999999,W,8,0,0x2,1\n")
    done = cli("experiment", "run", file, "--trace", "mail=a.csv", "--trace", "mail=b.csv")
    (note,) = (line for line in done.stdout.splitlines() if line.startswith("note: "))
    assert note.startswith("note: trace mail: zero length: 1 request ")


def test_equal_configuration_and_trace_run_once(file: Path, mail: Path) -> None:
    file.write_text(TEXT.replace('format = "ssdlab-csv"\n', ""))
    experiment = experiments.load(file)
    # Inline table: two FTLs. The other table has the same runs with seed 1 under another name, and runs with seed 2.
    assert experiment.run().runs == 4
    assert experiment.run(traces={"mail": mail}).runs == 6
    both = experiment.run(traces={"mail": mail, "shop": str(mail)})
    assert both.runs == 6 and (both["erases"].ours[1] == both["erases"].ours[2]).all()
    assert (both["copies"].ours[0, 0] == both["copies"].ours[:, 0]).all()


def test_a_cell_without_its_trace_does_not_use_the_generated_workload(tmp_path: Path) -> None:
    document = """
        title = "t"
        document = "d"
        preset = "tlc-chip"
        set = { device.capacity = "16MiB", device.op = "20%", nand.pages_per_block = 64, workload.requests = 9000 }
        trace.mail = { help = "a trace of a mail server" }
        [axis.requests]
        generated = {}
        mail = { trace = "mail", workload.requests = 1 }
        default = { workload.requests = 1000000 }
        [axis.time]
        count = { time = "count" }
        [[table]]
        name = "n"
        title = "t"
        value = "wear.erases"
        rows = "requests"
        columns = "time"
    """
    (tmp_path / "x.toml").write_text(document)
    experiment = experiments.load(tmp_path / "x.toml")
    (table,) = experiment.tables
    mail, default = (experiment.configs(table, row, "count")[0].to_toml() for row in ("mail", "default"))
    assert mail == default
    result = experiment.run()
    assert result.runs == 2 and np.isnan(result["n"].ours).tolist() == [[False], [True], [False]]


def test_columns_override_rows_and_rows_override_the_table(file: Path) -> None:
    text = TEXT.replace("bast = { ftl", 'bast = { trace = "mail", ftl')
    file.write_text(text.replace("seeds = [1]", 'seeds = [1]\ntrace = "again"'))
    erases, copies = experiments.load(file).tables
    assert (erases.replays("shop", "bast"), erases.replays("shop", "fast")) == ("mail", "shop")
    assert (copies.replays("bast", "fast"), copies.replays("fast", "fast")) == ("mail", "again")


def test_stopping_while_a_trace_is_scanned_is_partial(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scanning(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(executor, "simulate", scanning)
    result = experiments.load(file).run()
    assert result.partial and result.finished == 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("mial=x.csv", ["trace 'mial': ", "is not a trace of", "did you mean mail?"]),
        ("turns=x.csv", ["trace 'turns': ", "is not a trace of", "its traces are mail, shop"]),
        ("mail", ["--trace mail", "NAME=FILE"]),
        ("=x.csv", ["--trace =x.csv", "NAME=FILE"]),
        ("mail=x.csv", ["trace mail: x.csv", "check the path"]),
        ("mail=traces.toml", ["trace mail", "no trace format fits", "'ssdlab trace convert --format NAME'"]),
        ("shop=mail.csv.gz", ["trace shop", "mail.csv.gz:1", "is not a whole number"]),
    ],
)
def test_a_wrong_trace_is_one_line_and_status_2(
    cli: Cli, file: Path, mail: Path, option: str, words: list[str]
) -> None:
    assert mail.exists()
    done = cli("experiment", "run", file, "--trace", option, check=False)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_wrong_traces_in_python(file: Path) -> None:
    experiment = experiments.load(file)
    with pytest.raises(ssdlab.TraceError, match="has no file; pass at least one file"):
        experiment.run(traces={"mail": []})
    with pytest.raises(ssdlab.ConfigError, match="the experiment needs no trace, so omit the trace"):
        experiments.load("faster").run(traces={"mail": "x"})


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("pages = [0, 64, 128, 0, 64, 128]\n\n[trace.again]", "pages = []\n[trace.again]", ["[trace.turns]", "empty"]),
        ("pages = [0,", "pages = [-1,", ["[trace.turns]: pages", "-1 is not a page number"]),
        ("pages = [0,", "pages = [4294967296,", ["[trace.turns]: pages", "not a page number"]),
        ("pages = [0,", "pages = [true,", ["[trace.turns]: pages", "not a page number"]),
        ("pages = [0,", 'help = "x"\npages = [0,', ["[trace.turns]: help", "omit this key"]),
        ('help = "a trace of a mail server"', "", ["[trace.mail]: help", "is missing", "pages"]),
        ('help = "a trace of a mail server"', 'help = " "', ["[trace.mail]: help", "empty"]),
        ('"ssdlab-csv"', '"ssdlab-cvs"', ["[trace.shop]: format", "did you mean ssdlab-csv?"]),
        ("[trace.turns]\npages", "[trace.turns]\npage", ["[trace.turns]: page", "did you mean pages?"]),
        ("[trace.turns]", '[trace."a=b"]\npages = [0]\n[trace.turns]', ["a=b", "letters"]),
        (
            "[trace.turns]",
            "[trace.unused]\npages = [0]\n[trace.turns]",
            ["[trace.unused]", "no cell replays"],
        ),
        ('trace = "again"', 'trace = "agian"', ["table copies: trace", "did you mean again?"]),
        ('{ trace = "mail" }', '{ trace = "mial" }', ["[axis.trace]: mail: trace", "did you mean mail?"]),
        ('{ trace = "mail" }', "{ trace = 3 }", ["[axis.trace]: mail: trace", "3 is not text"]),
    ],
)
def test_a_wrong_experiment_is_one_line(file: Path, before: str, after: str, words: list[str]) -> None:
    assert before in TEXT
    file.write_text(TEXT.replace(before, after, 1))
    with pytest.raises(ssdlab.ConfigError) as caught:
        experiments.load(file)
    assert len(str(caught.value).splitlines()) == 1
    for word in ("traces.toml", *words):
        assert word in str(caught.value)


def test_show_lists_the_traces_to_supply(cli: Cli) -> None:
    lines = cli("experiment", "show", "sbfast", "--all").stdout.splitlines()
    at = lines.index("traces to supply with --trace NAME=FILE")
    web_0 = next(line for line in lines[at:] if line.startswith("web_0 "))
    assert "MSR Cambridge web_0" in web_0 and "exec_time_msr_web0, bast_fast_seconds" in web_0
    # Inline traces exist already.
    assert "traces to supply" not in cli("experiment", "show", "thrashing", "--all").stdout


def test_the_documents_trace_tables_exist() -> None:
    experiment = experiments.load("sbfast")
    web_0, tpce, both = experiment.select(["exec_time_msr_web0", "exec_time_tpce", "bast_fast_seconds"])
    assert web_0.comparison.reference is not None and tpce.comparison.reference is not None
    # The copying error that the note mentions.
    assert all(row[3] == row[6] for row in web_0.comparison.reference) and not any(
        row[3] == row[6] for row in tpce.comparison.reference
    )
    assert both.comparison.reference == ((627.654, 313.68755), (818.002, 755.120725))
    (config,) = experiment.configs(web_0, "64", "slb_9")
    assert (config["ftl.sbfast.log"], config["ftl.sbfast.slb"], config["host.replay"]) == (44, 9, "closed")
    for ftl in ("bast", "fast"):
        (config,) = experiment.configs(both, "tpce", ftl)
        assert (config[f"ftl.{ftl}.log"], config["host.fit"]) == (44, "grow")


def test_tables_without_document_numbers_say_so_in_their_note() -> None:
    for name in experiments.names():
        for table in experiments.load(name).tables:
            assert table.comparison.reference is not None or "document" in table.note, table.name
