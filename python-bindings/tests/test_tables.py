"""Lists as tables of every library, and columns of results: as they are in files, without a copy and without a loop in Python."""

import collections
import gc
import subprocess
import sys
import textwrap

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import pytest
import vgpualloc as vg

READERS = {"polars": polars.read_csv, "pyarrow": pyarrow.csv.read_csv, "pandas": pandas.read_csv,
           "pandas, objects": lambda path: pandas.read_csv(path).astype(object),
           "pandas, pyarrow": lambda path: pandas.read_csv(path, dtype_backend="pyarrow"),
           "arrays": lambda path: {name: cells.to_numpy() for name, cells in pandas.read_csv(path).items()},
           "lists": lambda path: {name: cells.tolist() for name, cells in pandas.read_csv(path).items()},
           "polars in chunks": lambda path: polars.concat([(frame := polars.read_csv(path))[:700], frame[700:]], rechunk=False),
           "a table of ours": lambda path: vg.Table.of({name: [None if cell != cell else cell for cell in cells.tolist()]
                                                        for name, cells in pandas.read_csv(path).items()})}
OPTIONS = {"policy": "best_fit", "tune": 1.2, "departures": True, "seed": 7}


def written(lists, folder):
    vg.simulate(**lists, **OPTIONS).write(folder)
    return (folder / "pods.csv").read_bytes()


@pytest.mark.parametrize("library", READERS)
def test_a_table_of_a_library_gives_the_pods_csv_of_the_files(library, quickstart, tmp_path):
    by_path = written(quickstart, tmp_path / "by_path")
    tables = {name: READERS[library](path) for name, path in quickstart.items()}
    assert len(by_path) > 50_000 and written(tables, tmp_path / "by_table") == by_path


def test_pandas_without_pyarrow_gives_the_same(quickstart, tmp_path):
    """And comes back, as does what else needs no pyarrow; what needs it says so."""
    program = textwrap.dedent(f"""
        import sys
        sys.modules["pyarrow"] = None
        import pandas, vgpualloc as vg
        tables = {{name: pandas.read_csv(path) for name, path in vg.example("quickstart").items()}}
        result = vg.simulate(**tables, **{OPTIONS!r})
        result.write({str(tmp_path / "out")!r})
        assert result.pods.to_pandas()["node"].astype(str).tolist() == result.pods["node"].tolist()
        for call in (result.pods.to_arrow, lambda: result.pods.to_parquet("none")):
            try:
                call()
            except ImportError as failure:
                print(failure)
    """)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == [f"{call}() needs pyarrow: pip install vgpualloc[frames]" for call in ("to_arrow", "to_parquet")]
    assert (tmp_path / "out" / "pods.csv").read_bytes() == written(quickstart, tmp_path / "by_path")


def test_columns_are_views_that_outlive_the_result(quickstart, tmp_path):
    result = vg.simulate(**quickstart)
    result.write(tmp_path)
    columns = {name: result.timeseries[name] for name in result.timeseries.columns}
    columns |= {name: result.pods[name] for name in result.pods.columns if result.pods[name].dtype != object}
    assert all(not column.flags.owndata and not column.flags.writeable for column in columns.values())
    assert columns["allocated_milli"].dtype == np.int64 and columns["time"].dtype == np.float64 and columns["placed"].dtype == bool
    again = result.timeseries["allocated_milli"]
    assert np.shares_memory(again, columns["allocated_milli"])  # the outcome's own
    del result, again
    gc.collect()
    junk = [np.full(100_000, 7) for _ in range(50)]  # what was freed would be written over
    file = pandas.read_csv(tmp_path / "timeseries.csv")
    assert len(junk) == 50 and all(np.array_equal(columns[name], file[name]) for name in ("allocated_milli", "time", "used_gpus"))


def test_tables_go_into_frames_and_back(quickstart):
    table = vg.simulate(**quickstart).pods
    for frame in (table.to_pandas(), table.to_polars(), table.to_arrow(), pandas.DataFrame.from_arrow(table),
                  polars.DataFrame(table), pyarrow.table(table)):
        for name in table.columns:
            cells = np.asarray(frame[name])
            assert list(cells) == list(table[name]) or np.array_equal(cells, table[name], equal_nan=True), name
    assert table.to_pandas()["node"].dtype == "category"
    assert pyarrow.types.is_dictionary(table.to_arrow().schema.field("reason").type)


def test_a_parquet_file_has_the_columns(quickstart, tmp_path):
    table = vg.simulate(**quickstart).pods
    table.to_parquet(tmp_path / "pods.parquet")
    again = pandas.read_parquet(tmp_path / "pods.parquet")
    assert list(again.columns) == table.columns
    assert again["node"].tolist() == table["node"].tolist() and np.array_equal(again["start_s"], table["start_s"], equal_nan=True)


def test_empty_cells_and_mixed_cells_are_read_as_a_list_has_them():
    nodes = {"sn": ["a"], "cpu_milli": [96000], "memory_mib": [393216], "gpu": [8], "model": ["A100"]}
    columns = {"name": ["p", "q", "r", "s"], "cpu_milli": [1000, "2000", 3000, 4000], "memory_mib": [1] * 4, "num_gpu": [1] * 4,
               "gpu_milli": [500] * 4, "gpu_spec": ["A100", None, float("nan"), ""]}
    text = ",".join(columns) + "\n" + "".join(
        ",".join("" if cell is None or cell != cell else str(cell) for cell in row) + "\n" for row in zip(*columns.values()))
    expected = vg.simulate(nodes, text.encode()).pods
    objects = {name: np.array(cells, dtype=object) for name, cells in columns.items()}
    numbers = {**objects, "cpu_milli": np.array([1000.0, np.int64(2000), 3000, np.float64(4000)], dtype=object)}
    missing = {**objects, "gpu_spec": pandas.array(["A100", pandas.NA, None, ""], dtype="string")}
    for table in (objects, pandas.DataFrame(objects), columns, numbers, pandas.DataFrame(numbers), missing):
        assert vg.simulate(nodes, table).pods == expected and expected["placed"].all()
    for wrong, shown in ((b"x", "bytes"), (object(), "object"), ([1], "list"), (1j, "complex")):
        with pytest.raises(vg.InputError, match=f"<pods> row 1: gpu_spec: got a {shown}"):
            vg.simulate(nodes, {**objects, "gpu_spec": np.array(["A100", wrong, None, ""], dtype=object)})


def frames_entered(call):
    """Which functions of Python are entered, and how often."""
    entered = collections.Counter()

    def note(frame, event, argument):
        if event == "call":
            entered[frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def pods_of(rows, kind):
    """A list of pods whose names, models and times are not all there."""
    frame = pandas.DataFrame({"name": [f"p{i}" for i in range(rows)], "cpu_milli": 4000, "memory_mib": 8192, "num_gpu": 1,
                              "gpu_milli": 250, "gpu_spec": [("A100", None, "T4")[i % 3] for i in range(rows)],
                              "creation_time": np.arange(rows), "deletion_time": np.arange(rows) + 50.0})
    return {"pandas": frame, "objects": frame.astype(object), "polars": polars.from_pandas(frame),
            "arrays": {name: cells.to_numpy() for name, cells in frame.items()},
            "lists": {name: cells.tolist() for name, cells in frame.items()}}[kind]


@pytest.mark.parametrize("kind", ["pandas", "objects", "polars", "arrays", "lists"])
def test_no_function_of_python_is_entered_for_a_row(kind):
    nodes = {"sn": ["a"], "cpu_milli": [96000], "memory_mib": [393216], "gpu": [8], "model": ["A100"]}

    def in_and_out(rows):
        pods = pods_of(rows, kind)

        def call():
            result = vg.simulate(nodes, pods, policy="first_fit", departures=True)
            assert len(result.pods.to_pandas()) == len(result.pods.to_polars()) == rows
            result.pods["name"], result.timeseries["allocated_milli"]

        return frames_entered(call)

    in_and_out(10)  # what is imported is imported
    few, many = in_and_out(100), in_and_out(3000)
    assert sum(few.values()) > 10 and sum(many.values()) < sum(few.values()) + 100, (many - few).most_common(5)


def test_times_are_read_as_lists_write_them(quickstart):
    texts = ["2017-10-09 07:00:11", "2017-10-09 07:00:12.500000", "1969-12-31 23:59:59", "2020-02-29 00:00:00"]
    jobs = {"duration": [60, 60, 60, 60], "num_gpus": [1, 1, 1, 1], "gpu_time": [60, 60, 60, 60], "cluster": ["a"] * 4}
    expected = vg.simulate(quickstart["nodes"], {"timestamp": texts, **jobs}, format="philly").pods
    times = pandas.to_datetime(pandas.Series(texts), format="ISO8601")
    for unit in ("ms", "us", "ns"):
        frame = pandas.DataFrame({"timestamp": times.astype(f"datetime64[{unit}]"), **jobs})
        for table in (frame, polars.from_pandas(frame), pyarrow.Table.from_pandas(frame),
                      frame.assign(timestamp=frame["timestamp"].dt.tz_localize("UTC")), {**jobs, "timestamp": frame["timestamp"].to_numpy()}):
            assert vg.simulate(quickstart["nodes"], table, format="philly").pods == expected
    missing = {**jobs, "timestamp": np.array([*texts[:3], "NaT"], dtype="datetime64[us]")}
    with pytest.raises(vg.InputError, match="timestamp"):
        vg.simulate(quickstart["nodes"], missing, format="philly")
