"""What a party answers to clients, and to the other parties about them (``service.desk`` says how).

query.begin, query.chunk, query.commit    a client, of its own query only: as owners upload a contribution
query.answer                              the masked answer, in pieces, once it is there; how far it is before
query.done                                the client has it: nothing of the query is kept but its count
party.query                               the other parties: what is here of a query
party.answer                              the leading party: come to a session that answers it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cofit.errors import StateError, parameter_error
from cofit.roles.party.queries import ANSWER, Queries, Query, check_query
from cofit.roles.party.state import OtherContentsError, PartyState, check_file_name
from cofit.roles.service.desk import Answer, Request, session_of
from cofit.roles.service.doors import Doors, RefusedError

LARGEST_PIECE = 4 << 20


class QueryDesk:
    """Answers requests about queries. invite: takes the session and the id of a query to answer in it."""

    def __init__(
        self,
        queries: Queries,
        state: PartyState,
        doors: Doors,
        incarnation: Callable[[], str],
        invite: Callable[[bytes, str], None],
    ) -> None:
        self.requests = {
            "query.begin": Request("client", self._begin, ("query", "rows", "answers", "manifest")),
            "query.chunk": Request("client", self._chunk, ("upload", "file", "offset")),
            "query.commit": Request("client", self._commit, ("upload",)),
            "query.answer": Request("client", self._answer, ("query", "offset")),
            "query.done": Request("client", self._done, ("query",)),
            "party.query": Request("party", self._state_of, ("query",)),
            "party.answer": Request("leader", self._invited, ("session", "query")),
        }
        self._queries = queries
        self._state = state
        self._doors = doors
        self._incarnation = incarnation
        self._invite = invite
        self.closed = ""

    def _check_open(self) -> None:
        if self._state.forgotten:
            raise RefusedError("This party has deleted its shares of the study (`cofit forget`), the model's too.")
        if self._state.phase != "released":
            raise RefusedError(f"There is no model yet: the study is {self._state.phase}.")
        if self.closed:
            raise RefusedError(self.closed)

    # --- clients -----------------------------------------------------------------------------------------

    def _begin(self, client: str, request: dict[str, Any], payload: bytes) -> Answer:
        self._check_open()
        sizes = self._queries.begin(client, request)
        query = self._queries.of(client, request["query"])
        if query.arrived:  # a crash may have come between that and the seal
            self._queries.seal(query)
        return {"sizes": sizes, "committed": query.complete is not None, "incarnation": self._incarnation()}, b""

    def _chunk(self, client: str, request: dict[str, Any], payload: bytes) -> Answer:
        query = self._queries.of(client, request.get("upload"))
        return {"size": append_piece(query.state, client, request, payload, "query.chunk")}, b""

    def _commit(self, client: str, request: dict[str, Any], payload: bytes) -> Answer:
        self._check_open()
        query = self._queries.of(client, request.get("upload"))
        try:
            query.state.commit(client, query.id)
        except OtherContentsError as error:
            raise StateError(str(error)) from None
        self._queries.seal(query)
        return {"committed": True}, b""

    def _answer(self, client: str, request: dict[str, Any], payload: bytes) -> Answer:
        """A piece of the answer from an offset on, and the size of all of it; no piece as long as there is none."""
        offset = offset_of(request, "query.answer")
        query = self._queries.of(client, request.get("query"))
        told = {"phase": query.state.phase, "counted": self._queries.counted(client), "limit": query.job.limit}
        if query.state.phase != "released":
            return {**told, "why": self.closed or query.state.fact("why") or ""}, b""
        path = query.state.directory / ANSWER
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(min(offset, size))
            return {**told, "size": size}, file.read(LARGEST_PIECE)

    def _done(self, client: str, request: dict[str, Any], payload: bytes) -> Answer:
        self._queries.done(client, request.get("query"))
        return {}, b""

    # --- parties -----------------------------------------------------------------------------------------

    def _state_of(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        query = self._queries.get(check_query(request.get("query")))
        if query is None:
            return {"phase": "", "complete": None}, b""
        return {"phase": query.state.phase, "complete": query.complete, "plan": query.job.hash}, b""

    def _invited(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        self._check_open()
        session, query = session_of(request), self._ready(request)
        self._doors.query()
        self._invite(session, query.id)
        return {}, b""

    def _ready(self, request: dict[str, Any]) -> Query:
        query = self._queries.get(check_query(request.get("query")))
        if query is None or query.complete is None or query.state.phase == "failed":
            raise RefusedError("This query is not complete here.")
        return query


def append_piece(state: PartyState, owner: str, request: dict[str, Any], payload: bytes, kind: str) -> int:
    """Append a piece of an upload to the file that the request names; return the file's new size."""
    name, offset = check_file_name(request.get("file")), offset_of(request, kind)
    if not 0 < len(payload) <= LARGEST_PIECE:
        raise parameter_error("payload", kind, f"1 to {LARGEST_PIECE} bytes", len(payload))
    return state.append(owner, str(request.get("upload")), name, offset, payload)


def offset_of(request: dict[str, Any], kind: str) -> int:
    """Return the offset that a request names."""
    offset = request.get("offset")
    if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
        raise parameter_error("offset", kind, "an integer that is at least 0", offset)
    return offset
