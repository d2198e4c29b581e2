"""Wait for what another thread or process does."""

import time


def wait_until(condition, what, patience=120.0):
    """Call ``condition`` until it returns something truthy, and return that; `what` names it in the error.

    The limit is only there to end a test that would hang: no test may depend on how long it waits.
    """
    deadline = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"Waited {patience:g} s for {what}.")
        time.sleep(0.005)
    return found
