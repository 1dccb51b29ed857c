"""Formatting of quantities for readers."""

import pytest

from ssdlab import text


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (text.size(4096), "4.00 KiB"),
        (text.size(512), "512 B"),
        (text.size(1023.9 * 1024), "1.00 MiB"),
        (text.size_decimal(1.5e12), "1.50 TB"),
        (text.bandwidth(886_000), "886 kB/s"),
        (text.duration(0), "0 ns"),
        (text.duration(25_000), "25.0 µs"),
        (text.duration(999_999), "1.00 ms"),
        (text.duration(90e9), "90.0 s"),
        (text.duration(2_049e9), "34.1 min"),
        (text.duration(36_000e9), "10.0 h"),
        (text.short_count(1_234_567), "1.23 M"),
        (text.short_count(309), "309"),
        (text.short_count(0.412), "0.412"),
        (text.short_count(1.391), "1.39"),
        (text.short_count(27.25), "27.2"),
        (text.short_count(528.4), "528"),
        (text.short_count(32), "32"),
        (text.size_decimal(0.0412), "0.0412 B"),
        (text.duration(0.5), "0.500 ns"),
        (text.size(0), "0 B"),
        (text.percent(0.0655), "6.55 %"),
        (text.years(0.5), "183 days"),
        (text.years(0.5 / 365.25), "0.50 days"),
        (text.years(0.01 / 365.25), "14.4 min"),
        (text.years(0), "0.00 days"),
        (text.count(1234567), "1,234,567"),
        (text.counted(1234567, "requests"), "1,234,567 requests"),
        (text.counted(1, "requests"), "1 request"),
        (text.decimal(9.996), "10.0"),
        (text.celsius(48_180), "48.2 °C"),
    ],
)
def test_three_digits_and_a_unit(shown: str, expected: str) -> None:
    assert shown == expected


def test_names_are_shortened_while_they_differ() -> None:
    same = "ftl.page.gc=greedy,ftl.page.allocation=fifo,device.op="
    assert [*text.shortened([f"{same}20%", f"{same}30%", "short"], 40).values()] == [
        f"{same[:20]}…{same[-16:]}20%",
        f"{same[:20]}…{same[-16:]}30%",
        "short",
    ]
    alike = [f"ftl.page.gc=greedy,device.op={op},ftl.page.allocation=fifo" for op in ("20%", "30%")]
    assert [*text.shortened(alike, 40).values()] == alike
