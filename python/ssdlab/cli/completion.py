"""Completion of command lines by shells: click's, with what bash needs for `--set KEY=VALUE`."""

from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class


class _Bash(BashComplete):
    """Bash takes `=` for the end of a word: what it has parted is put together, and it is told what follows."""

    source_template = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and that."""
        before, current = super().get_completion_args()
        whole: list[str] = []
        for word in (*before, current):
            if whole and (word == "=" or (whole[-1].endswith("=") and not word.startswith("-"))):
                whole[-1] += word
            else:
                whole.append(word)
        *before, self._current = whole
        return before, self._current

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """What stands in place of the last part of the word."""
        value = self._current.partition("=")[2] if self._current.startswith("-") else self._current
        known = value[: value.rfind("=") + 1]
        return f"{item.type},{item.value.removeprefix(known)}"


def script(command: Any, program: str, variable: str, shell: str) -> str:
    """What a shell runs to complete command lines of this program."""
    complete: Any = get_completion_class(shell)
    return str(complete(command, {}, program, variable).source())


add_completion_class(_Bash)
