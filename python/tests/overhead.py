"""Prints what Dask takes for each task: the time of a job without that of its stages, on one worker."""

import os
import subprocess
import sys
import tempfile
import time

from distributed import Client, LocalCluster

from readmill.dask import prep

if __name__ == "__main__":
    program = os.path.abspath(sys.argv[1])
    os.environ["READMILL"] = program
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([program, "demo", "--pairs", "20000", "-o", f"{home}/demo"], check=True, capture_output=True)
        with LocalCluster(n_workers=1, threads_per_worker=1, resources={"readmill": 1}, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                for shards in (16, 64):
                    started = time.monotonic()
                    result = prep(
                        client, f"{home}/demo/reads.bam", output=f"{home}/{shards}.bam", work=f"{home}/{shards}",
                        shards=shards, ranges=shards, sort="coordinate", mark_duplicates=True,
                    )
                    seconds = time.monotonic() - started
                    stages = sum(stage.seconds for stage in result.stages)
                    each = (seconds - stages) / len(result.stages)
                    print(f"{len(result.stages)} tasks: {seconds:.2f} s, stages {stages:.2f} s, {1000 * each:.1f} ms beside each")
