"""Writes the files of this folder with openpyxl 3.1; made-up data."""

import datetime as dt
from pathlib import Path

HERE = Path(__file__).parent


def filled(sheet):
    """Put a table into a sheet: texts, numbers, dates, a mixture, empty cells."""
    sheet.append(["name", "code", "pay", "born", "asked", "member", "mixed", 2003])
    for i in range(30):
        sheet.append([
            "Züri" if i % 2 else None, f"{i % 3:03d}", 1000.5 + i, dt.date(1980, 1, 31),
            dt.datetime(2020, 1, 1, 10, 11, i), i % 2 == 0, "refused" if i % 10 == 0 else i, i % 4,
        ])  # fmt: skip


if __name__ == "__main__":
    from openpyxl import Workbook

    one = Workbook()
    filled(one.active)
    one.create_sheet("empty")
    one.save(HERE / "one.xlsx")
    two = Workbook()
    filled(two.active)
    two.create_sheet("Second").append(["", "x"])
    two["Second"].append([1, 2])
    two["Second"].append([2, 3])
    two.save(HERE / "two.xlsx")
    times = Workbook()
    times.active.append(["at", "lasts", "full"])
    for i in range(30):
        asleep = dt.timedelta(hours=i, seconds=i)
        times.active.append([dt.time(9 + i % 12, 5) if i else None, asleep, dt.time(1, 2, i)])
    times.save(HERE / "times.xlsx")
