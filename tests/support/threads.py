"""Work in several threads at once."""

import threading


def run_at_once(work, arguments):
    """Call ``work`` with each argument in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=work, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
