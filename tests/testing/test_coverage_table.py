"""The table of `make coverage` sums up packages and names the files that tests reach least."""

from tests.coverage_table import table


def test_packages_are_summed_up_and_the_lowest_files_are_named() -> None:
    counts = {"errors.py": (1, 2), "core/team/tasks.py": (9, 10), "core/team/caps.py": (0, 10), "core/empty.py": (0, 0)}
    files = {
        f"src/deskmate/{name}": {"summary": {"covered_lines": covered, "num_statements": lines}}
        for name, (covered, lines) in counts.items()
    }
    assert [" ".join(line.split()) for line in table({"files": files})] == [
        "core/team 20 lines 45.0%",
        "deskmate 2 lines 50.0%",
        "all 22 lines 45.5%",
        "",
        "The 10 files with the lowest share:",
        "core/team/caps.py 10 lines 0.0%",
        "errors.py 2 lines 50.0%",
        "core/team/tasks.py 10 lines 90.0%",
    ]
