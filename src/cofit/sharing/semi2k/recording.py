"""The steps of ``semi2k`` without values, parties or a dealer: what a program asks of the source of correlations."""

from __future__ import annotations

from cofit.sharing.demand import Recorder
from cofit.sharing.semi2k.dealer import Semi2kDealer
from cofit.sharing.spec import Spec
from cofit.transport import Terms, memory_meshes

_NAME = "recorder"


class Semi2kRecording(Semi2kDealer):
    """As the dealer walks through the program, alone."""

    def __init__(self, recorder: Recorder, spec: Spec) -> None:
        names = [f"party-{rank}" for rank in range(spec.parties)]
        mesh = memory_meshes([_NAME], Terms(bytes(16), bytes(32), spec.agreed))[_NAME]
        super().__init__(mesh, names, _NAME, spec)
        self._source = recorder
        self._started = True

    def setup(self) -> None:
        """There is nobody to agree with."""

    def announce(self, label: str, message: bytes) -> tuple[bytes, ...]:
        """Whatever the others say, it is as long."""
        del label
        return (message,) * len(self.names)
