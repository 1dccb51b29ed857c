"""Trace format of strace: reads and writes of processes at given offsets.

    strace -f -ttt -y -e trace=pread64,pwrite64,fsync,fdatasync -o trace.txt COMMAND

A line is `PID TIME CALL(ARGUMENTS) = RESULT`; without `-f` it has no PID. The length of a request is the result of the
call. Its device is the file descriptor, which with `-y` includes the path of the file, such as `3</var/lib/db>`.
"""

import re

from ssdlab.plugin import TraceFormat

_CALL = re.compile(r"(?:(\d+) +)?(\d+)\.(\d{6}) (\w+)\((\d+(?:<[^>]*>)?)(.*)\) += (-?\d+)")
_LINE = re.compile(r"(?:\d+ +)?\d+\.\d{6} ")
_OPERATIONS = {"pread64": "read", "pwrite64": "write", "fsync": "flush", "fdatasync": "flush"}


class Strace(TraceFormat):
    """Calls of pread64, pwrite64, fsync and fdatasync, as `strace -ttt` prints them."""

    def parse(self, line: str) -> tuple[object, ...] | None:
        call = _CALL.match(line)
        operation = _OPERATIONS.get(call[4]) if call else None
        if call is None or operation is None:
            if not _LINE.match(line):
                raise ValueError("not a line of strace -ttt output; record the trace with strace -f -ttt -y")
            return None  # a signal, an exit, an unsupported system call, or half of a call that strace split in two
        pid, seconds, micros, _, descriptor, arguments, result = call.groups()
        time_ns = int(seconds) * 10**9 + int(micros) * 1000
        if operation == "flush":
            return operation, 0, 0, time_ns, pid, descriptor
        if int(result) <= 0:
            return None  # the call failed, or found the end of the file
        offset = int(arguments.rsplit(", ", 1)[1])
        return operation, offset, int(result), time_ns, pid, descriptor
