from concurrent.futures import ThreadPoolExecutor

from ci.gpus import VISIBLE, Lanes, list_gpus


def test_every_process_finds_another_gpu_first():
    lanes = Lanes(1, ["0", "1", "2"])
    with lanes.one() as a, lanes.one() as b, lanes.one() as c:
        assert [each[VISIBLE] for each in (a, b, c)] == ["0,1,2", "1,2,0", "2,0,1"]


def test_a_place_is_free_again_after_a_failure():
    lanes = Lanes(1, ["4"])
    for _ in range(2):
        try:
            with lanes.one() as environment:
                assert environment == {VISIBLE: "4"}
                raise RuntimeError
        except RuntimeError:
            pass


def test_no_more_processes_run_on_a_gpu_than_it_has_places():
    lanes, running, most = Lanes(2, ["0", "1"]), [], []

    def job(_: int) -> None:
        with lanes.one() as environment:
            running.append(environment[VISIBLE])
            most.append(running.count("0,1"))
            running.remove(environment[VISIBLE])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(job, range(200)))
    assert lanes.count == 4
    assert max(most) <= 2


def test_without_a_gpu_processes_are_limited_all_the_same(monkeypatch):
    monkeypatch.setenv(VISIBLE, "")
    assert list_gpus() == []
    lanes = Lanes(3)
    assert lanes.count == 3
    with lanes.one() as environment:
        assert environment == {}


def test_a_machines_gpus_may_be_left_out(monkeypatch):
    monkeypatch.setenv(VISIBLE, "1,3")
    assert Lanes(1).orders == ["1,3", "3,1"]
