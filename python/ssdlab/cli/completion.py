"""Extends click's shell completion to `--set KEY=VALUE` in bash."""

from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class


class _Bash(BashComplete):
    """Joins words that bash has split at `=`, and completes the part after `=`."""

    source_template = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Returns the words of the command line before the word to complete, and the word to complete."""
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
        """Returns a completion without the part that bash keeps: the text of the word up to the last `=`."""
        value = self._current.partition("=")[2] if self._current.startswith("-") else self._current
        known = value[: value.rfind("=") + 1]
        return f"{item.type},{item.value.removeprefix(known)}"


def script(command: Any, program: str, variable: str, shell: str) -> str:
    """Returns the script that makes a shell complete command lines of the given program."""
    complete: Any = get_completion_class(shell)
    return str(complete(command, {}, program, variable).source())


add_completion_class(_Bash)
