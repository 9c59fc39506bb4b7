"""The agencies of the simulated workforce: departments, and the bureaus that are set by hand.

Sizes are in thousandths of the workforce in the years in which a bureau exists, rounded.
Founding, closing and succession follow public history, freely simplified.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["BUREAUS", "DEPARTMENTS", "N_AGENCIES", "SMALL", "Bureau", "Department", "Small"]


class Department(NamedTuple):
    """A department: name, size and number of its unnamed bureaus, yearly trend of its entrants."""

    name: str
    rest: float
    bureaus: int
    trend: float
    first: int = 0


class Bureau(NamedTuple):
    """A bureau that is set by hand; closed after ``last``, its people go to ``heirs``."""

    code: str
    size: float
    first: int = 0
    last: int = 9999
    heirs: tuple[str, ...] = ()


class Small(NamedTuple):
    """Rules for the unnamed bureaus."""

    spread: float
    renamed: float
    founded: float
    closed: float


N_AGENCIES: Final = 607
SMALL: Final = Small(spread=1.7, renamed=0.12, founded=0.12, closed=0.08)
"""Standard deviation of log size; shares renamed, founded, closed in 1990-2010."""

DEPARTMENTS: Final[dict[str, Department]] = {
    "VA": Department("Veterans Affairs", 5, 4, 0.015),
    "AR": Department("Army", 24, 45, -0.02),
    "NV": Department("Navy", 18, 25, -0.025),
    "AF": Department("Air Force", 14, 25, -0.025),
    "DD": Department("Defense agencies", 14, 25, -0.005),
    "HS": Department("Homeland Security", 3, 10, 0.02, 2003),
    "DJ": Department("Justice", 6, 30, 0.02),
    "TR": Department("Treasury", 8, 12, -0.01),
    "AG": Department("Agriculture", 6, 20, -0.01),
    "HE": Department("Health and Human Services", 6, 15, 0.01),
    "SZ": Department("Social Security", 0, 0, 0.0),
    "IN": Department("Interior", 4, 15, 0.0),
    "TD": Department("Transportation", 4, 12, 0.0),
    "CM": Department("Commerce", 4, 12, 0.01),
    "NN": Department("Aeronautics and Space", 9, 11, -0.01),
    "DN": Department("Energy", 8, 11, -0.01),
    "EP": Department("Environmental Protection", 1, 6, 0.0),
    "ST": Department("State", 1, 4, 0.01),
    "DL": Department("Labor", 7, 12, -0.01),
    "GS": Department("General Services", 6, 8, -0.02),
    "HU": Department("Housing and Urban Development", 4.5, 8, -0.02),
    "ED": Department("Education", 2, 8, 0.0),
    "ZZ": Department("Independent agencies, boards and commissions", 4, 0, 0.0),
}
"""The unnamed bureaus of ``ZZ`` are as many as bring the number of agencies to N_AGENCIES."""

_HEIRS_OF_INS = ("HSCB", "HSIC", "HSCI")

BUREAUS: Final[tuple[Bureau, ...]] = (
    *(Bureau("VATA", 135), Bureau("VABA", 9), Bureau("VANC", 2), Bureau("VAIT", 4, 2006)),
    *(Bureau("ARCE", 18), Bureau("ARMC", 22), Bureau("ARIM", 11, 2003), Bureau("ARNG", 15)),
    *(Bureau("ARTC", 10), Bureau("ARME", 14), Bureau("ARFC", 13), Bureau("ARTA", 5)),
    *(Bureau("ARRC", 4), Bureau("ARIN", 3), Bureau("ARHQ", 3)),
    *(Bureau("NVSE", 21), Bureau("NVFF", 17), Bureau("NVAI", 16), Bureau("NVPF", 12)),
    *(Bureau("NVFA", 9), Bureau("NVMC", 9), Bureau("NVSP", 6), Bureau("NVIN", 6, 2004)),
    *(Bureau("NVME", 6), Bureau("NVSU", 5)),
    *(Bureau("AFMC", 40), Bureau("AFAC", 9), Bureau("AFET", 9), Bureau("AFNG", 12)),
    *(Bureau("AFRC", 6), Bureau("AFMO", 5), Bureau("AFSP", 4), Bureau("AFHQ", 3)),
    *(Bureau("DDLA", 15), Bureau("DDCA", 8, 1991), Bureau("DDFA", 8, 1991)),
    *(Bureau("DDEA", 7), Bureau("DDCM", 6, 2000), Bureau("DDIS", 3), Bureau("DDAA", 2.5)),
    *(Bureau("HSTS", 26, 2003), Bureau("HSCB", 22, 2003), Bureau("HSIC", 9, 2003)),
    *(Bureau("HSCI", 6, 2003), Bureau("HSEM", 4, 2003), Bureau("HSCG", 3.5, 2003)),
    Bureau("HSSS", 3, 2003),
    *(Bureau("DJIN", 12, 0, 2002, _HEIRS_OF_INS), Bureau("DJFB", 14), Bureau("DJPR", 15)),
    *(Bureau("DJUA", 5), Bureau("DJDE", 4), Bureau("DJMS", 2.2), Bureau("DJAT", 2.3, 2003)),
    *(Bureau("TRIR", 52), Bureau("TRCU", 9.5, 0, 2002, ("HSCB", "HSIC"))),
    *(Bureau("TRSS", 2.2, 0, 2002, ("HSSS",)), Bureau("TRAT", 2.2, 0, 2002, ("DJAT",))),
    *(Bureau("TRCC", 1.6), Bureau("TRFM", 1.2), Bureau("TRMI", 1.1), Bureau("TREP", 1.4)),
    *(Bureau("AGFS", 20), Bureau("AGNR", 6), Bureau("AGFI", 4.8), Bureau("AGAP", 4)),
    *(Bureau("AGRS", 4.2), Bureau("AGSC", 2.3, 0, 1994, ("AGFA",)), Bureau("AGFA", 3, 1995)),
    *(Bureau("AGFM", 4.5, 0, 1994, ("AGRD",)), Bureau("AGRD", 3.4, 1995)),
    *(Bureau("HENI", 8.5), Bureau("HEFD", 5.5), Bureau("HEDC", 4), Bureau("HEIH", 7)),
    *(Bureau("HECF", 2.2, 0, 2000, ("HECM",)), Bureau("HECM", 2.3, 2001)),
    *(Bureau("HESS", 31, 0, 1994, ("SZ00",)), Bureau("SZ00", 31, 1995)),
    *(Bureau("INPS", 10.5), Bureau("INLM", 5.5), Bureau("INFW", 4.2), Bureau("INGS", 5)),
    *(Bureau("INBI", 5), Bureau("INRE", 3.3), Bureau("INMI", 1.1, 0, 1995, ("INGS", "DNHQ"))),
    *(
        Bureau("TDFA", 24),
        Bureau("TDCG", 3, 0, 2002, ("HSCG",)),
        Bureau("TDTS", 22, 2002, 2002, ("HSTS",)),
    ),
    *(Bureau("TDHW", 1.5), Bureau("DNHQ", 2)),
    *(Bureau("CMNO", 6.5), Bureau("CMCE", 5), Bureau("CMPT", 3.6), Bureau("CMST", 1.6)),
    *(Bureau("EPEP", 8.2), Bureau("STST", 6), Bureau("STIA", 3, 0, 1998, ("STST",))),
    *(Bureau("ZZEM", 1.6, 0, 2002, ("HSEM",)), Bureau("ZZPC", 3.5, 0, 1999)),
    *(Bureau("ZZSB", 2.3), Bureau("ZZFD", 3.5), Bureau("ZZRT", 2.2, 1989, 1995, ("ZZFD",))),
    *(Bureau("ZZSM", 2.2), Bureau("ZZOM", 2.2), Bureau("ZZSE", 1.6), Bureau("ZZNU", 1.5)),
    *(Bureau("ZZNQ", 1.3), Bureau("ZZAM", 1.5), Bureau("ZZEE", 1.2), Bureau("ZZLP", 1.6)),
    *(Bureau("ZZNL", 0.9), Bureau("ZZFC", 0.8), Bureau("ZZRR", 0.6), Bureau("ZZFT", 0.5)),
    *(Bureau("ZZNF", 0.6), Bureau("ZZCU", 0.5), Bureau("ZZIC", 0.3, 0, 1995, ("TDHW",))),
)
