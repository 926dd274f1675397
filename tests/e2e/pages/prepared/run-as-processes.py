"""A program that processes can import, and the page's wrong argument."""

from program import owners, program  # type: ignore[import-not-found]  # the page's folder has it

import cofit


def wrong_argument() -> None:
    try:
        cofit.run_local(program, owners=owners, parties=2)
    except cofit.CofitError as error:
        print(f"{type(error).__name__}: {error}")
