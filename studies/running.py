"""What scripts share that call vgpusim many times."""

import concurrent.futures
import pathlib
import subprocess
import sys


def call(program, *arguments):
    process = subprocess.run([program, *map(str, arguments)], stdout=subprocess.DEVNULL)
    if process.returncode != 0:
        script = pathlib.Path(sys.argv[0]).stem
        raise SystemExit(f"{script}: exit code {process.returncode}: vgpusim {' '.join(map(str, arguments))}")


def run_all(jobs, runs):
    """Calls of (function, arguments…), so many at a time, in this order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(*run) for run in runs]
        try:
            for future in concurrent.futures.as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # one that fails ends the others before they begin
            raise
