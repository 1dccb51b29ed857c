"""The command `ssdlab cache-dir`."""

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import print_json
from ssdlab.model import kept

app = App()


@app.command("cache-dir", examples="ssdlab cache-dir --clear\nSSDLAB_CACHE_DIR= ssdlab run trace.csv")
def cache_dir(
    clear: bool = option("--clear", "Remove all cached drives."),
    json: bool = options.JSON,
) -> int:
    """The environment variable SSDLAB_CACHE_DIR sets another directory; an empty value disables the cache.
    SSDLAB_CACHE_SIZE limits the size of the cache, by default to 2GiB. The least recently used drives are evicted.
    Results are the same with and without the cache.
    """
    directory = kept.directory()
    if directory is None:
        raise ConfigError(f"{kept.DIRECTORY} is empty, so drives are not cached; unset it, or set it to a directory")
    if clear:
        kept.clear()
    drives = kept.drives()
    total, most = sum(size for _, size in drives), kept.limit_bytes()
    if json:
        found = {"directory": str(directory), "drives": len(drives), "bytes": total, "most_bytes": most}
        print_json("drives", found)
        return 0
    print(text.path(directory))
    print(f"{len(drives)} drives, {text.size(total)}; limit {text.size(most)}")
    return 0
