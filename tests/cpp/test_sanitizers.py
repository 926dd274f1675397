"""The kernels under AddressSanitizer and UndefinedBehaviorSanitizer, each instruction set this CPU has."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from cofit import kernels

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "src" / "cofit" / "kernels" / "native"
COMPILER = shutil.which("g++")
X86 = platform.machine().lower() in {"x86_64", "amd64"}
FLAGS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mbmi2"],
    "avx512": ["-mavx2", "-mbmi2", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl"],
}
BASE = [
    "-std=gnu++17", "-O1", "-g0", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-pthread", f"-I{NATIVE}",
    "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
]  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no g++ on this machine to build the sanitizer program"),
]


def build(folder: Path, avx512_flags: list[str], extra: list[str]) -> Path:
    flags = {**FLAGS, "avx512": avx512_flags}
    sources = {HERE / "check_kernels.cpp": extra, HERE / "check_clips.cpp": []}
    for name in ("combination", "dispatch", "products", "thread_pool"):
        sources[NATIVE / f"{name}.cpp"] = []
    for name in flags if X86 else ["baseline"]:
        sources[NATIVE / f"isa_{name}.cpp"] = flags[name]
    assert COMPILER is not None
    jobs = []
    for source, own in sources.items():
        target = folder / f"{source.stem}.o"
        command = [COMPILER, *BASE, *own, "-c", str(source), "-o", str(target)]
        jobs.append((target, subprocess.Popen(command, stderr=subprocess.PIPE, text=True)))
    for target, job in jobs:
        _, errors = job.communicate()
        assert job.returncode == 0, f"{target.name}: {errors}"
    program = folder / "check_kernels"
    objects = [str(target) for target, _ in jobs]
    subprocess.run([COMPILER, *BASE, *objects, "-o", str(program)], check=True, capture_output=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The check program; without AVX-512 in this CPU, that table is compiled to instructions it has."""
    lowered = "avx512" not in kernels.available_isas()
    return build(
        tmp_path_factory.mktemp("sanitizers"),
        FLAGS["avx2"] if lowered and "avx2" in kernels.available_isas() else [] if lowered else FLAGS["avx512"],
        ["-DCOFIT_LOWERED_AVX512"] if lowered and X86 else [],
    )


def run(program: Path, isa: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, isa], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("isa", kernels.available_isas())
def test_no_wrong_result_and_no_undefined_behaviour(program: Path, isa: str) -> None:
    result = run(program, isa)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert result.stdout == f"{isa}: 0 failures\n"


@pytest.mark.skipif(
    not X86 or "avx512" in kernels.available_isas(), reason="this CPU runs the real AVX-512 kernels, or is no x86"
)
def test_avx512_kernels_lowered_to_other_instructions(program: Path) -> None:
    result = run(program, "avx512")
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert result.stdout == "avx512: 0 failures\n"
