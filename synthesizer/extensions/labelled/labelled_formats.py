"""Files of SPSS, Stata, SAS and Excel: read with their labels; SPSS and Stata written, too."""

from __future__ import annotations

from pathlib import Path

from synthesizer.data.formats import FileFormat, FormatKey, Writing
from synthesizer.extensions.labelled.labelled_reading import read_labelled
from synthesizer.extensions.labelled.labelled_writing import FORMS, labelled_layout, write_labelled
from synthesizer.extensions.labelled.workbooks import read_workbook

LABELLED = FileFormat(
    endings=(".sav", ".zsav", ".dta", ".xpt"),
    read=read_labelled,
    writing=Writing(
        forms=FORMS,
        about="sav, zsav (SPSS) and dta (Stata) hold labels and need the extra 'labelled'",
        laid_out=labelled_layout,
        write=write_labelled,
    ),
)
SAS = FileFormat(
    endings=(".sas7bdat",),
    read=read_labelled,
    keys={"catalogue": FormatKey(Path, "SAS: .sas7bcat file with the labels of a .sas7bdat file")},
)
WORKBOOK = FileFormat(
    endings=(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    read=read_workbook,
    keys={
        "sheet": FormatKey(
            str, "sheet of an Excel file; the only one that holds something when absent"
        )
    },
)
