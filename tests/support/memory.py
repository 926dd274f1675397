"""The peak memory of other processes, as the kernel keeps it: nothing between two samples is missed."""

from __future__ import annotations

from pathlib import Path


def peak_memory(pid: int) -> int:
    """Return the most bytes that a process had resident at once, mapped files included; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = [line.split() for line in lines if line.startswith("VmHWM:")]
    return int(found[0][1]) << 10 if found else 0


def forget_peak(pid: int) -> None:
    """Let the peak begin anew, at what is resident now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def available_memory() -> int:
    """Return how many bytes this machine can still give away."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
