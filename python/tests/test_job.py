"""The order of stages, flags and forecasts, without a cluster."""

import json

from readmill.job import Job, Progress, seconds_left, words


def job() -> Job:
    rows = [
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
    return Job.read(json.dumps({"checksum": "abc"}), json.dumps(graph))


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


def test_progress_reads_as_a_sentence():
    progress = Progress(finished=3, stages=5, under_way=1, bytes=2_500_000_000, seconds=3909.2, seconds_left=61)
    assert str(progress) == "readmill: 3 of 5 stages finished, 2.50 GB written, 1:05:09 so far, about 1:01 left"
