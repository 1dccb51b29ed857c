"""A small drive that behaves like a large one, for the many simulations of a fit.

Dies, planes, program units and times equal those of the large drive. Blocks are shorter, which lets the small drive
have as many blocks as the large drive (64 to 1,024 per plane). Erase times are reduced in proportion to the block size,
so dies spend the same share of time on erases. The over-provisioning is exactly equal, although drives consist of whole
blocks.
"""

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config

FLASH_BYTES = 12 << 30
"""Size of the small drive's flash in bytes. The flash is larger if blocks cannot be made short enough."""

BLOCKS = 64, 1024
"""Minimum and maximum number of blocks per plane in the small drive."""

FEWEST_PAGES = 16
"""Minimum number of flash pages per block if the FTL garbage-collects each plane separately."""

PAGES, ERASE, SUSPEND = "nand.pages_per_block", "nand.erase", "nand.suspend"


class Geometry:
    """Dimensions of a drive's flash."""

    def __init__(self, config: Config) -> None:
        self.dies = int(config["nand.channels"]) * int(config["nand.ways"]) * int(config["nand.dies"])
        self.together = config.get("ftl.page.collect", "plane") != "plane"
        """True if the FTL garbage-collects the blocks of several planes together."""
        page, planes = _ssdlab.size(config["nand.page_size"]), int(config["nand.planes"])
        self.word_line = int(config["nand.word_line"])
        self.row_bytes = self.dies * planes * page
        """Total size in bytes of one flash page in every plane."""
        self.program_bytes = page * self.word_line * (planes if self.together else 1)
        """Bytes that one command programs in a die."""
        self.op = _op(config)
        self.blocks = round(_ssdlab.size(config["device.capacity"]) * (1 + self.op) / self.row_bytes / config[PAGES])
        """Number of blocks per plane, without the FTL's reserve if `device.reserve` is `extra`."""


def _op(config: Config) -> float:
    if "device.op" in config:
        return float(_ssdlab.share(config["device.op"]))
    of_flash = float(_ssdlab.share(config["device.spare"]))
    return of_flash / (1 - of_flash)


def scaled(config: Config) -> Config:
    """Returns a small drive that behaves like the given drive."""
    if config["time"] != "event":
        raise ConfigError(
            f"time: a drive with time={config['time']} serves one request at a time; fit a preset of a drive with "
            "channels and dies, such as --base small-nvme"
        )
    geometry = Geometry(config)
    blocks, step = min(max(geometry.blocks, BLOCKS[0]), BLOCKS[1]), geometry.word_line
    flash = min(_ssdlab.size(config["device.capacity"]) * (1 + geometry.op), FLASH_BYTES)
    fewest = 1 if geometry.together else -(-FEWEST_PAGES // step)
    pages = max(round(flash / (blocks * geometry.row_bytes * step)), fewest) * step
    pages = min(pages, config[PAGES])
    erase = max(round(_ssdlab.nanos(config[ERASE]) * pages / config[PAGES]), 2)
    capacity = int(blocks * geometry.row_bytes * pages / (1 + geometry.op))
    unit = _ssdlab.size(config["device.unit"])
    small = config.changed(
        {
            # Disables automatic scaling, because this function scales the blocks exactly.
            "device.scale": "none",
            PAGES: str(pages),
            ERASE: f"{erase}ns",
            "device.capacity": f"{capacity // unit * unit}B",
            **_short(config, erase),
        }
    )
    return exact(small, {})


def exact(small: Config, changes: dict[str, str]) -> Config:
    """Returns the small drive with changed settings, the same number of blocks, and exact over-provisioning.

    The capacity is derived from both. With a fixed capacity, over-provisioning could change only in whole blocks.
    """
    blocks, drive = Geometry(small).blocks, small.changed(changes)
    geometry, unit = Geometry(drive), _ssdlab.size(drive["device.unit"])
    flash = blocks * geometry.row_bytes * drive[PAGES]
    capacity = int(flash / (1 + geometry.op)) // unit * unit
    # The exact share might be rounded up to one more block, so a slightly smaller share is used.
    share = (flash / capacity - 1) * (1 - 1e-6)
    erase = _ssdlab.nanos(drive[ERASE])
    return drive.changed(
        {"device.capacity": f"{capacity}B", "device.op": f"{100 * share:.6f}%", **_short(drive, erase)}
    )


def _short(config: Config, erase: int) -> dict[str, str]:
    """Returns the setting for the time to suspend an erase, capped at half of the (reduced) erase time."""
    kind = config[SUSPEND]
    if kind == "never":
        return {}
    key = f"{SUSPEND}.{kind}." + ("time" if kind == "erase" else "erase_time")
    return {key: f"{min(_ssdlab.nanos(config[key]), erase // 2)}ns"}
