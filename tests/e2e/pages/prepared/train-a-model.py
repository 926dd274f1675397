"""The page's wrong argument."""


def wrong_penalty() -> None:
    import cofit

    try:
        cofit.LogisticRegression(epsilon=1.0, l2=0.1).fit(globals()["owners"])
    except cofit.CofitError as error:
        print(error)
