"""Has a queue from PyPI work off jobs that do nothing; prints the seconds from the worker's start to its end.

usage: python_queues.py procrastinate|pgqueuer URL JOBS
"""
import asyncio
import logging
import sys
import time


async def run_procrastinate(url, count):
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop():
        pass

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await noop.batch_defer_async(*[{} for _ in range(count)])
        start = time.monotonic()
        await app.run_worker_async(wait=False, concurrency=40, listen_notify=False, install_signal_handlers=False)
        seconds = time.monotonic() - start
        done = await app.job_manager.list_jobs_async(status="succeeded")
    return seconds, len(list(done))


async def run_pgqueuer(url, count):
    import asyncpg
    from pgqueuer import PgQueuer, Queries
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.types import QueueExecutionMode

    connection = await asyncpg.connect(url)
    driver = AsyncpgDriver(connection)
    queries = Queries(driver)
    await queries.install()
    worker = PgQueuer(driver)
    done = 0

    @worker.entrypoint("noop")
    async def noop(job):
        nonlocal done
        done += 1

    for first in range(0, count, 1000):
        size = min(1000, count - first)
        await queries.enqueue(["noop"] * size, [None] * size, [0] * size)
    start = time.monotonic()
    await worker.qm.run(batch_size=1000, mode=QueueExecutionMode.drain)
    return time.monotonic() - start, done


async def main():
    # Nothing but the seconds is printed.
    logging.disable(logging.WARNING)
    run = {"procrastinate": run_procrastinate, "pgqueuer": run_pgqueuer}[sys.argv[1]]
    count = int(sys.argv[3])
    seconds, done = await run(sys.argv[2], count)
    if done != count:
        sys.exit(f"{done} of {count} jobs were done")
    print(f"{seconds:.6f}")


asyncio.run(main())
