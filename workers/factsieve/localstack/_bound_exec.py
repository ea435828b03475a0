"""Run a program that ends when the process that started it ends: `python -I -S _bound_exec.py PARENT_PID PROGRAM ARGUMENT...`.

A program of its own instead of a `preexec_fn`, because Python code between fork and exec can deadlock in a process with threads.
On Linux the kernel kills the program as soon as its parent is gone (`prctl(2)`, PR_SET_PDEATHSIG); elsewhere nothing is set, and
`factsieve.localstack.stack.stop_running` is what clears up.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind this process to its parent, then become the program of the arguments."""
    parent_pid, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
        if os.getppid() != parent_pid:  # the parent ended before the signal was set
            sys.exit(1)
    os.execv(program[0], program)  # noqa: S606 - the caller chose the program and passes an absolute path


if __name__ == "__main__":
    main()
