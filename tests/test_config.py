"""Configurations from Python."""

import json
import pickle
from pathlib import Path

import pytest

import ssdlab
from ssdlab.study.sweep.plan import Builder


def test_later_layers_override_and_record_their_origin(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[device]\ncapacity = "2GiB"\nop = "10%"\n')
    config = ssdlab.Config(preset="faster", file=file, overrides={"device.op": "12.5%", "check": True})
    origins = {key: origin for key, _, origin in config.settings}
    assert config["device.capacity"] == "2GiB" and origins["device.capacity"].endswith("mine.toml:2")
    assert config["device.op"] == "12.5%" and origins["device.op"] == "overrides"
    assert config["nand.page_size"] == "2KiB" and origins["nand.page_size"] == "preset faster"
    assert config["check"] is True


def test_overrides_stack() -> None:
    config = ssdlab.Config(overrides={"seed": 2}).with_overrides({"seed": 3, "device.op": "9%"})
    assert config["seed"] == 3 and config["device.op"] == "9%"
    with pytest.raises(KeyError):
        config["no.such.key"]


def test_toml_reads_back_as_the_same_configuration(tmp_path: Path) -> None:
    config = ssdlab.Config(
        preset="sbfast", overrides={"ftl.page.gc": "d_choices", "workload.size": "4KiB:70%,64KiB:30%"}
    )
    file = tmp_path / "all.toml"
    file.write_text(config.to_toml())
    assert ssdlab.Config(file=file).to_toml() == config.to_toml()


def test_lists_and_tables_may_be_text_or_python_values() -> None:
    config = ssdlab.Config(overrides={"nand.read": ["40us", "80us"], "host.replay.open.speed": 2})
    assert config["nand.read"] == "40us,80us"
    assert config["host.replay"] == "open" and config["host.replay.open.speed"] == 2


def test_an_array_of_several_planes_defaults_to_event_time() -> None:
    one, two = ssdlab.Config("tlc-chip"), ssdlab.Config("tlc-chip", overrides={"nand.planes": 2})
    assert one["time"] == "serial"
    time = {key: (value, origin) for key, value, origin in two.settings}["time"]
    assert time == ('"event"', "default (nand.planes > 1)")
    assert two.with_overrides({"time": "serial"})["time"] == "serial"
    with pytest.raises(ssdlab.ConfigError, match=r"nand\.channels: device\.op = 7% .* in 1024 planes, but"):
        ssdlab.Config("tlc-chip", overrides={"nand.channels": 64, "nand.planes": 16}).check()
    with pytest.raises(ssdlab.ConfigError, match='set time to "event"'):
        ssdlab.Config("tlc-chip", overrides={"gantt": "window"}).check()


def test_the_default_drive_is_a_small_one_of_many_dies() -> None:
    config = ssdlab.Config()
    values = {setting.key: setting.value for setting in ssdlab.Config("small-nvme").settings}
    assert {setting.key: setting.value for setting in config.settings} == values
    assert config["time"] == "event" and config["nand.channels"] * config["nand.ways"] == 16
    assert config["drive.protocol"] == "nvme" and config["host.replay.closed.queue_depth"] == 32
    assert (config["device.unit"], config["nand.page_size"]) == ("4KiB", "16KiB")
    # The default drive is a scale model, and as fast as the whole drive.
    whole = {setting.key: setting.value for setting in ssdlab.Config("client-nvme").settings}
    assert {key for key in whole if values[key] != whole[key]} == {"device.capacity"}
    assert config["device.scale.blocks.capacity"] == whole["device.capacity"].strip('"')


def test_the_small_drive_that_maps_whole_pages_is_a_scale_model() -> None:
    values = {setting.key: setting.value for setting in ssdlab.Config("small-tlc").settings}
    whole = {setting.key: setting.value for setting in ssdlab.Config("tlc-nvme").settings}
    differs = {key for key in whole if values[key] != whole[key]}
    assert differs == {"device.capacity", "device.scale", "ftl.page.trigger.partial.low"}


def test_all_faults_are_reported_together_with_their_remedy(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        ssdlab.Config(overrides={"device.opp": "7%", "nand.read": "25", "ftl.page.gc": "gredy"})
    lines = str(error.value).splitlines()
    assert len(lines) == 3 and "did you mean device.op?" in lines[0] and "unit is missing" in lines[1]
    with pytest.raises(ssdlab.ConfigError, match=r"nope\.toml: No such file"):
        ssdlab.Config(file=tmp_path / "nope.toml")


def test_conflicts_in_one_layer_are_errors_and_later_layers_override() -> None:
    first, second = {"ftl.fast.log": "10%"}, {"ftl": "bast"}
    for at_once in ({**first, **second}, {**second, **first}):
        message = 'ftl.fast.log: needs ftl = "fast", but overrides sets "bast"; keep only one of the two'
        with pytest.raises(ssdlab.ConfigError) as error:
            ssdlab.Config(overrides=at_once)
        assert str(error.value) == f"overrides: {message}"
        with pytest.raises(ssdlab.ConfigError) as error:
            ssdlab.Config("tlc-nvme").with_overrides(at_once)
        assert str(error.value) == f"overrides: {message}"
        axes = Builder(ssdlab.Config(overrides={"ftl": "faster"}))
        with pytest.raises(ssdlab.ConfigError, match="needs ftl"):
            axes.laid(at_once, replays=False)
    base = ssdlab.Config(overrides=first)
    assert base.with_overrides(second) == ssdlab.Config(overrides=second) == Builder(base).laid(second, replays=False)
    assert ssdlab.Config(overrides=second).with_overrides(first) == base
    assert pickle.loads(pickle.dumps(base.with_overrides(second)))["ftl"] == "bast"


PARALLEL = [preset.name for preset in ssdlab.presets() if ssdlab.Config(preset=preset.name)["time"] == "event"]


@pytest.mark.parametrize("preset", PARALLEL)
def test_every_parallel_preset_keeps_the_data_and_the_rules_of_nand(preset: str) -> None:
    config = ssdlab.Config(preset)
    pages_per_block = 64 if config["ftl.page.collect"] == "plane" else 2 * config["nand.word_line"]
    small = {"device.capacity": "512MiB", "nand.pages_per_block": pages_per_block, "device.reserve": "extra"}
    one = ssdlab.simulate(ssdlab.Config(preset, overrides={**small, "check": True, "workload.requests": 5000})).summary
    assert one["check"]["page_reads_checked"] > 1000 and one["flash"]["programs"]["gc"] > 1000
    assert one["drive"]["queue_depth_max"] == ssdlab.Config(preset)["host.replay.closed.queue_depth"]


def test_there_are_parallel_presets() -> None:
    assert PARALLEL[:5] == ["small-nvme", "small-tlc", "tlc-nvme", "sata-mlc", "enterprise-nvme"]
    of_today = ["mobile-ufs", "client-nvme", "pe8110-960", "pm9a3-960", "7450-pro-960", "7450-max-800", "980-pro-1tb"]
    assert PARALLEL[5:] == [*of_today, "980-pro-1tb-slc", "qlc-client"]


def test_a_preset_among_settings_names_its_place() -> None:
    with pytest.raises(ssdlab.ConfigError, match=r'overrides: preset: .*; use Config\("NAME", overrides=\.\.\.\)'):
        ssdlab.Config(overrides={"preset": "sbfast"})


def test_every_preset_is_valid_and_the_schema_is_json() -> None:
    assert len(ssdlab.presets()) >= 5
    for preset in ssdlab.presets():
        ssdlab.Config(preset=preset.name).check()
    assert json.loads(ssdlab.config_schema())["properties"]["device"]


def test_a_configuration_is_a_mapping_that_compares_by_its_values(tmp_path: Path) -> None:
    config = ssdlab.Config(overrides={"device.op": "9%"})
    assert "device.op" in config and "device.oq" not in config and config.get("device.oq", 5) == 5
    assert [*config] == [setting.key for setting in config.settings] and len(config) == len(config.settings)
    assert dict(config)["device.op"] == "9%" and config == dict(config)
    (tmp_path / "same.toml").write_text(config.to_toml())
    for same in (ssdlab.Config(overrides=["device.op=9%"]), pickle.loads(pickle.dumps(config)),
                 ssdlab.Config(file=tmp_path / "same.toml")):  # fmt: skip
        assert same == config and hash(same) == hash(config)
    assert config != config.with_overrides({"device.op": "7%"}) and len({config, ssdlab.Config()}) == 2
