"""A driver of its own: ``runner_driver.py CALL STORE LOG TASKS WORKERS``; prints each finished key."""

import sys
from pathlib import Path

from snellen.core.runner import run_map
from snellen.store.objects import ObjectStore

if __name__ == "__main__":
    call, store, log, tasks, workers = sys.argv[1:]
    receipts = run_map(
        f"runner_calls:{call}",
        range(int(tasks)),
        setup="runner_calls:folder",
        setup_spec=log,
        store=ObjectStore(Path(store)),
        workers=int(workers),
        code_id="chaos",
        on_receipt=lambda receipt: print(receipt.key, flush=True),  # noqa: T201
    )
    sys.exit(any(receipt.state != "ok" for receipt in receipts))
