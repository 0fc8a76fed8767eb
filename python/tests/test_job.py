"""The order of stages, flags and forecasts, without a cluster."""

import json

import pytest

from readmill.job import Job, output_of, words
from readmill.progress import Forecast, Progress, seconds_left


def job(*before: tuple[str, str, list[str]]) -> Job:
    rows = [
        *before,
        ("map 1", "map", []),
        ("map 2", "map", []),
        ("cut", "cut", ["map 1", "map 2"]),
        ("write 1", "write", ["cut"]),
        ("join", "join", ["cut", "write 1"]),
    ]
    graph = [
        {"name": name, "stage": kind, "number": None, "needs": needs, "command": ["readmill", "shard"], "file": f"/w/{name}"}
        for name, kind, needs in rows
    ]
    return Job.read(json.dumps({"checksum": "abc", "inputs": [{"size": 70}, {"size": 31}]}), json.dumps(graph))


def names(stages) -> list[str]:
    return [stage.name for stage in stages]


def test_a_stage_is_ready_when_all_before_it_are_finished():
    assert names(job().ready([], [])) == ["map 1", "map 2"]
    assert names(job().ready([], ["map 1"])) == ["map 2"]
    assert names(job().ready(["map 1"], ["map 1", "map 2"])) == []
    assert names(job().ready(["map 1", "map 2"], ["map 1", "map 2"])) == ["cut"]
    done = ["map 1", "map 2", "cut", "write 1"]
    assert names(job().ready(done, done)) == ["join"]


def test_flags_become_words():
    flags = {"mark_duplicates": True, "sort": "coordinate", "known_sites": ["a.vcf", "b.vcf"], "bqsr": False, "level": None}
    assert words(flags) == ["--mark-duplicates", "--sort=coordinate", "--known-sites=a.vcf", "--known-sites=b.vcf"]


def test_a_forecast_goes_by_the_stages_that_have_ended():
    assert seconds_left(job(), {}, 2) is None
    first = seconds_left(job(), {"map 1": 10.0}, 2)
    assert first > 10.0  # another map, and all that follows
    assert seconds_left(job(), {"map 1": 10.0, "map 2": 10.0, "cut": 1.0, "write 1": 7.0}, 2) < first
    all_ended = dict.fromkeys(names(job().stages), 1.0)
    assert seconds_left(job(), all_ended, 2) == 0.0


def test_aligning_takes_most_of_a_job_that_scans():
    # All map stages take 20 times what the scan took; cut, write and join take 1.47 / 20 of that.
    aligned = job(("scan 1", "scan", []))
    assert seconds_left(aligned, {"scan 1": 10.0}, 1) == pytest.approx(200 * (1 + 1.47 / 20))
    assert seconds_left(aligned, {"scan 1": 10.0, "map 1": 90.0}, 1) == pytest.approx(90 + 180 * 1.47 / 20)


def test_a_forecast_counts_down_between_the_ends_of_stages():
    forecast = Forecast(job())
    assert forecast.seconds_left({}, 2, 5.0) is None
    first = forecast.seconds_left({"map 1": 10.0}, 2, 10.0)
    assert forecast.seconds_left({"map 1": 10.0}, 2, 13.0) == pytest.approx(first - 3.0)
    assert forecast.seconds_left({"map 1": 10.0}, 1, 13.0) >= first  # a worker was lost
    assert forecast.seconds_left({"map 1": 10.0}, 1, 1e6) == 0.0


def test_slices_share_the_bytes_of_the_input():
    assert job().input_bytes == 101
    assert job().bytes_read(["cut"]) == 0
    assert job().bytes_read(["map 2"]) == 50
    assert job().bytes_read(names(job().stages)) == 101


def test_the_output_is_what_the_line_names():
    for line in (["-o", "x.bam"], ["--output", "x.bam"], ["--output=x.bam"], ["-ox.bam"], ["-O", "cram", "-o", "x.bam"]):
        assert output_of(["sort", "in.bam", *line]) == "x.bam"
    with pytest.raises(ValueError, match="name the output by -o FILE"):
        output_of(["sort", "in.bam", "-o"])


def test_progress_reads_as_a_sentence():
    progress = Progress(
        finished=3, stages=5, under_way=1, input_bytes=4_000_000_000, bytes_read=1_000_000_000, bytes_written=2_500_000_000,
        seconds=3909.2, seconds_left=61,
    )  # fmt: skip
    assert str(progress) == (
        "readmill: 3 of 5 stages finished, 1.00 of 4.00 GB read, 2.50 GB written, 1:05:09 so far, about 1:01 left"
    )
