"""Files of SPSS, Stata, SAS and Excel: read with their labels; SPSS and Stata written, too."""

from __future__ import annotations

from pathlib import Path

from synthesizer.data.formats import FileFormat, FormatKey, Writing
from synthesizer.data.plugins import late

_HERE = "synthesizer.extensions.labelled"
read_labelled = late(f"{_HERE}.labelled_reading:read_labelled")
_SPSS = "pd.read_spss(file, convert_categoricals=False)"

LABELLED = FileFormat(
    endings=(".sav", ".zsav", ".dta", ".xpt"),
    read=read_labelled,
    writing=Writing(
        forms=("sav", "zsav", "dta"),
        about="sav, zsav (SPSS) and dta (Stata) hold labels and need the extra 'labelled'",
        descriptions={
            "sav": ("The files are SPSS files (.sav), with labels.", _SPSS),
            "zsav": ("The files are compressed SPSS files (.zsav), with labels.", _SPSS),
            "dta": (
                "The files are Stata files (.dta, Stata 14 and later), with labels.",
                "pd.read_stata(file, convert_categoricals=False)",
            ),
        },
        laid_out=late(f"{_HERE}.labelled_writing:labelled_layout"),
        write=late(f"{_HERE}.labelled_writing:write_labelled"),
    ),
)
SAS = FileFormat(
    endings=(".sas7bdat",),
    read=read_labelled,
    keys={"catalogue": FormatKey(Path, "SAS: .sas7bcat file with the labels of a .sas7bdat file")},
)
WORKBOOK = FileFormat(
    endings=(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    read=late(f"{_HERE}.workbooks:read_workbook"),
    keys={"sheet": FormatKey(str, "sheet of an Excel file; if absent, the only sheet with data")},
)
