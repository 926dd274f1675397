"""A program that processes can import, and the page's wrong argument."""

import cofit
from program import owners, program


def wrong_argument() -> None:
    try:
        cofit.run_local(program, owners=owners, parties=2)
    except cofit.CofitError as error:
        print(f"{type(error).__name__}: {error}")
