"""The fixed world of the simulated workforce: its agencies, its occupations, which go together.

Everything here is the same for every seed of the simulator, so that files of different size and
seed have the same codes, the same impossible pairs and the same agency effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.constants import PLANS, RULES

# The agencies of the simulated workforce: departments, and the bureaus that are set by hand.


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

# The occupations of the simulated workforce: families, and the series that are set by hand.

N_OCCUPATIONS: Final = 803
CATEGORIES: Final = ("P", "A", "T", "C", "O", "B")
"""Professional, administrative, technical, clerical, other white-collar, blue-collar."""


class Family(NamedTuple):
    """An occupational group: its unnamed series, and where the group is at home."""

    code: int
    rest: float
    series: int
    category: str
    grade: float
    women: float
    needs: str
    home: str
    program: int


class Series(NamedTuple):
    """An occupation; ``only`` restricts it to departments or bureaus."""

    code: int
    size: float
    category: str
    grade: float
    women: float
    needs: str
    only: str = ""


FAMILIES: Final[tuple[Family, ...]] = (
    Family(0, 10.5, 21, "A", 10.5, 0.25, "none", "AR NV AF DJ HS IN", 43),
    Family(1, 10.5, 25, "P", 12, 0.5, "bachelor", "VA HE SZ DJ AR ST", 45),
    Family(2, 4.5, 11, "A", 11, 0.68, "none", "", 52),
    Family(3, 30, 25, "C", 5.5, 0.78, "none", "", 52),
    Family(4, 13.5, 27, "P", 11.5, 0.35, "bachelor", "AG IN HE EP CMNO", 26),
    Family(5, 11.2, 18, "A", 11, 0.6, "none", "TR DD ZZ", 52),
    Family(6, 22.5, 37, "P", 10.5, 0.65, "college", "VA HE ARME NVME", 51),
    Family(7, 0.8, 2, "P", 12.5, 0.45, "professional", "AG HEFD", 51),
    Family(8, 12, 21, "P", 12.5, 0.12, "bachelor", "AR NV AF NN DN TD IN EP", 14),
    Family(9, 6.8, 16, "A", 11, 0.6, "none", "DJ SZ TR ZZ", 22),
    Family(10, 6.8, 20, "A", 11.5, 0.5, "none", "ZZSM INPS AR", 50),
    Family(11, 9, 23, "A", 11.5, 0.45, "none", "DD HU AG AR NV AF", 52),
    Family(12, 0.3, 3, "A", 12, 0.4, "school", "CMPT", 22),
    Family(13, 6.8, 25, "P", 12.5, 0.25, "bachelor", "IN CM NN DN EP HE", 40),
    Family(14, 1.5, 5, "P", 11, 0.68, "bachelor", "ZZNQ ZZSM DD", 25),
    Family(15, 3.8, 13, "P", 12.5, 0.4, "bachelor", "CM DL NV AR", 27),
    Family(16, 4.5, 14, "A", 10.5, 0.1, "none", "AR NV AF GS DD", 15),
    Family(17, 3, 13, "P", 11, 0.6, "bachelor", "DDEA INBI AR AF", 13),
    Family(18, 9.8, 23, "A", 10.5, 0.35, "none", "HS DJ DL TR AG", 43),
    Family(19, 1.1, 5, "A", 11, 0.15, "none", "NV AF DD AG", 15),
    Family(20, 6, 9, "T", 8, 0.45, "none", "DD AF NV AR", 52),
    Family(21, 5.2, 18, "A", 11, 0.2, "none", "TD AF NV AR", 49),
    Family(22, 0, 0, "A", 12, 0.35, "none", "", 11),
    Family(25, 1.1, 5, "B", 8, 0.04, "none", "AR NV AF", 47),
    Family(26, 3, 9, "B", 9, 0.04, "none", "AF NV AR", 47),
    Family(28, 3, 9, "B", 9, 0.02, "none", "NV AR VA", 46),
    Family(31, 0.5, 5, "B", 6, 0.3, "none", "AF NV", 48),
    Family(33, 0.9, 6, "B", 8.5, 0.06, "none", "AF NV", 47),
    Family(34, 1.9, 8, "B", 8.5, 0.05, "none", "NV AF AR", 48),
    Family(35, 3, 11, "B", 3, 0.2, "none", "VA AR NV AF GS IN", 1),
    Family(36, 0.6, 6, "B", 7, 0.03, "none", "AR NV IN", 46),
    Family(37, 1.9, 8, "B", 8.5, 0.06, "none", "NV AF", 48),
    Family(38, 3.4, 13, "B", 9, 0.03, "none", "NV AF AR", 48),
    Family(40, 0.08, 5, "B", 7.5, 0.3, "none", "AR NV", 48),
    Family(41, 1.9, 6, "B", 8, 0.07, "none", "NV AF AR", 46),
    Family(42, 2.1, 6, "B", 8.5, 0.02, "none", "NV VA AR", 46),
    Family(43, 0.7, 5, "B", 6.5, 0.25, "none", "NV AF", 48),
    Family(44, 1.5, 13, "B", 8.5, 0.2, "none", "ZZLP TREP DD", 10),
    Family(46, 1.5, 6, "B", 8, 0.03, "none", "NV AR", 48),
    Family(47, 3.8, 11, "B", 8.5, 0.04, "none", "AR NV AF VA IN AG", 46),
    Family(48, 0.7, 6, "B", 8, 0.05, "none", "AF AR VA", 47),
    Family(50, 1.1, 8, "B", 5, 0.1, "none", "AR IN VA AG", 1),
    Family(52, 1.5, 11, "B", 6, 0.08, "none", "AR NV", 47),
    Family(53, 4.5, 20, "B", 8.5, 0.02, "none", "AR NV AF VA IN", 47),
    Family(54, 3, 16, "B", 8, 0.03, "none", "NV AR VA", 47),
    Family(57, 3.8, 16, "B", 6.5, 0.05, "none", "AR NV AF IN AG VA", 49),
    Family(58, 2.6, 11, "B", 8.5, 0.02, "none", "AR AF", 47),
    Family(65, 0.8, 8, "B", 6.5, 0.15, "none", "AR NV", 41),
    Family(66, 1.1, 8, "B", 8, 0.05, "none", "AR AF", 47),
    Family(69, 3.4, 11, "B", 5, 0.2, "none", "DD AF AR NV GS", 52),
    Family(70, 0.6, 8, "B", 5, 0.35, "none", "DD AR", 52),
    Family(73, 0.7, 5, "B", 3, 0.5, "none", "VA AR", 1),
    Family(74, 3.4, 6, "B", 4, 0.4, "none", "VA AR DJPR", 12),
    Family(76, 0.2, 3, "B", 4, 0.5, "none", "VA AR", 12),
    Family(82, 0.9, 5, "B", 9, 0.04, "none", "AF NV", 47),
    Family(86, 0.9, 5, "B", 8.5, 0.06, "none", "AF NV", 47),
    Family(88, 3.8, 13, "B", 9, 0.07, "none", "AF NV AR", 47),
    Family(99, 1.5, 11, "B", 7.5, 0.04, "none", "NV AR", 49),
)

_HOSPITALS: Final = "VATA HEIH HENI ARME NVME AFET"

SERIES: Final[tuple[Series, ...]] = (
    *(Series(301, 33, "A", 12, 0.55, "none"), Series(343, 24, "A", 12.3, 0.6, "none")),
    *(Series(303, 34, "C", 5.2, 0.78, "none"), Series(318, 38, "C", 6, 0.97, "none")),
    *(Series(322, 11, "C", 4, 0.93, "none"), Series(326, 9, "C", 4.5, 0.92, "none")),
    *(Series(305, 10, "C", 4, 0.7, "none"), Series(332, 4, "T", 7, 0.5, "none")),
    *(Series(341, 6, "A", 11, 0.65, "none"), Series(340, 6, "A", 14, 0.35, "none")),
    *(Series(344, 5, "T", 7.5, 0.85, "none"), Series(346, 9, "A", 11.8, 0.35, "none")),
    *(Series(391, 4, "A", 11.5, 0.25, "none"), Series(335, 5, "T", 7, 0.6, "none")),
    *(Series(201, 15, "A", 12, 0.7, "none"), Series(203, 8, "T", 6.5, 0.85, "none")),
    *(Series(2210, 36, "A", 12.2, 0.35, "none"), Series(1102, 17, "A", 12, 0.58, "none")),
    *(Series(1101, 10, "A", 11.8, 0.5, "none"), Series(1105, 2.5, "T", 6.5, 0.78, "none")),
    *(
        Series(1152, 4, "A", 10.5, 0.3, "none", "NV AF AR DD"),
        Series(1165, 3, "A", 11, 0.5, "none"),
    ),
    *(Series(1170, 2, "A", 11.5, 0.4, "none"), Series(1150, 1.5, "A", 11, 0.2, "none")),
    *(Series(501, 10, "A", 11.5, 0.65, "none"), Series(503, 6, "T", 6, 0.75, "none")),
    *(Series(510, 7, "P", 12, 0.5, "college"), Series(511, 6, "P", 12.2, 0.45, "college")),
    *(Series(512, 8, "P", 12, 0.5, "college", "TRIR"), Series(525, 5, "T", 6.5, 0.8, "none")),
    *(Series(560, 6, "A", 11.8, 0.65, "none"), Series(592, 11, "T", 6.5, 0.75, "none", "TRIR")),
    *(Series(540, 2.5, "C", 5, 0.8, "none"), Series(570, 3, "P", 12.5, 0.4, "college", "ZZ TR")),
    *(Series(610, 27, "P", 11.2, 0.88, "college", _HOSPITALS),),
    *(Series(602, 12, "P", 17, 0.28, "professional", _HOSPITALS),),
    *(Series(620, 8, "T", 6, 0.86, "school", _HOSPITALS),),
    *(Series(621, 8, "T", 5, 0.65, "none", _HOSPITALS),),
    *(Series(679, 11, "C", 5.3, 0.85, "none", _HOSPITALS),),
    *(Series(640, 6, "T", 6.5, 0.55, "none", _HOSPITALS),),
    *(Series(660, 4, "P", 12.8, 0.5, "bachelor", _HOSPITALS),),
    *(Series(644, 3.5, "P", 9.5, 0.65, "bachelor", _HOSPITALS),),
    *(Series(601, 6, "P", 11.8, 0.55, "bachelor", _HOSPITALS),),
    *(Series(647, 3, "T", 8, 0.45, "school", _HOSPITALS),),
    *(Series(649, 3, "T", 8, 0.45, "school", _HOSPITALS),),
    *(Series(661, 3, "T", 5.8, 0.6, "school", _HOSPITALS),),
    *(Series(675, 2.5, "T", 5.5, 0.85, "none", _HOSPITALS),),
    *(Series(680, 1, "P", 16, 0.2, "professional", _HOSPITALS),),
    *(Series(681, 2, "T", 4.8, 0.9, "none", _HOSPITALS),),
    *(Series(671, 3, "A", 12, 0.55, "none", _HOSPITALS),),
    *(Series(185, 7, "P", 11, 0.72, "bachelor", _HOSPITALS),),
    *(Series(180, 4, "P", 13, 0.45, "professional", _HOSPITALS),),
    *(Series(101, 4, "P", 11.5, 0.45, "bachelor"), Series(110, 2.5, "P", 13, 0.3, "bachelor")),
    *(Series(105, 15, "A", 11.2, 0.7, "none", "SZ HESS"),),
    *(Series(132, 6, "A", 12.5, 0.3, "none", "AR NV AF DD HS DJ ST"),),
    *(Series(130, 2, "P", 13, 0.35, "bachelor", "ST DD ZZ"),),
    *(Series(996, 6, "A", 10.5, 0.55, "none", "VABA"),),
    *(Series(998, 4, "C", 5.5, 0.8, "none", "VABA SZ HE"),),
    *(Series(962, 14, "T", 7, 0.72, "none", "TRIR SZ HESS VABA"),),
    *(Series(905, 16, "P", 14, 0.4, "professional"), Series(950, 3, "A", 10.5, 0.75, "none")),
    *(Series(986, 3, "T", 6.5, 0.85, "none"), Series(901, 4, "A", 9.5, 0.6, "none")),
    *(Series(930, 2, "P", 14, 0.35, "professional", "SZ HESS ZZ DL"),),
    *(Series(801, 12, "P", 13.3, 0.12, "bachelor"), Series(802, 12, "T", 10.5, 0.08, "none")),
    *(Series(855, 11, "P", 12.5, 0.09, "bachelor"), Series(830, 7, "P", 12.3, 0.1, "bachelor")),
    *(Series(810, 8, "P", 12, 0.14, "bachelor"), Series(861, 5, "P", 13, 0.11, "bachelor")),
    *(Series(856, 7, "T", 11, 0.04, "none"), Series(850, 3, "P", 12.2, 0.08, "bachelor")),
    *(Series(854, 2, "P", 12.5, 0.15, "bachelor"), Series(819, 2.5, "P", 12.5, 0.3, "bachelor")),
    *(Series(401, 9, "P", 11.8, 0.4, "bachelor"), Series(404, 6, "T", 7, 0.4, "none")),
    *(Series(462, 9, "T", 6, 0.2, "none", "AG IN"),),
    *(Series(460, 3, "P", 11.3, 0.22, "bachelor", "AG IN"),),
    *(Series(457, 3, "P", 10.8, 0.25, "bachelor", "AG"),),
    *(Series(1301, 4, "P", 12.8, 0.25, "bachelor"), Series(1320, 3, "P", 12.3, 0.35, "bachelor")),
    *(Series(1550, 4, "P", 12.5, 0.28, "bachelor"), Series(1515, 2.5, "P", 12.8, 0.25, "bachelor")),
    *(Series(1224, 3, "P", 13, 0.28, "bachelor", "CMPT"),),
    *(Series(1701, 5, "P", 11.8, 0.5, "bachelor"), Series(1702, 3, "T", 5, 0.85, "none")),
    *(Series(1710, 4, "P", 11.5, 0.65, "bachelor", "DDEA INBI DJPR"),),
    *(Series(1712, 4, "A", 11, 0.25, "none", "AR NV AF HS"),),
    *(Series(1811, 19, "A", 12.7, 0.16, "none", "DJ TR HS AG IN ZZ EP DL"),),
    *(Series(1801, 12, "A", 11.3, 0.3, "none", "HS DJ DL ZZ TR"),),
    *(Series(1802, 21, "T", 6.5, 0.4, "none", "HSTS TDTS"),),
    *(Series(1895, 9, "A", 10.8, 0.2, "none", "HSCB"),),
    *(Series(1896, 7, "A", 10.8, 0.05, "none", "DJIN HSCB"),),
    *(Series(1862, 3, "T", 8, 0.35, "none", "AGFI AGAP"),),
    *(Series(1910, 5, "A", 11, 0.2, "none", "DD NV AF AR"),),
    *(Series(7, 8, "O", 7.8, 0.15, "none", "DJPR"),),
    *(Series(83, 6, "O", 7, 0.12, "none", "VA AR NV AF DD HS IN GS"),),
    *(Series(81, 5, "O", 7, 0.03, "none", "AR NV AF VA"),),
    *(Series(85, 3, "O", 5, 0.12, "none", "AR NV AF DD HS"),),
    *(Series(80, 6, "A", 11.5, 0.35, "none"), Series(18, 3, "A", 11.3, 0.25, "none")),
    *(Series(25, 3, "A", 9.5, 0.4, "none", "IN AR"),),
    *(
        Series(28, 2.5, "A", 12, 0.45, "none"),
        Series(89, 2, "A", 11.5, 0.4, "none", "HS ZZEM DD AR"),
    ),
    *(Series(2152, 12, "A", 14, 0.16, "none", "TDFA AFAC"),),
    *(Series(2101, 4, "A", 12.5, 0.2, "none", "TD AF AR NV HS"),),
    *(Series(2005, 8, "T", 6, 0.5, "none"), Series(2010, 4, "A", 10.8, 0.5, "none", "DD AF NV AR")),
    *(
        Series(2003, 2.5, "A", 11.3, 0.4, "none"),
        Series(1670, 3, "A", 11, 0.08, "none", "AR NV AF"),
    ),
    *(Series(1825, 2, "A", 13, 0.06, "none", "TDFA"), Series(1035, 2.5, "A", 12, 0.6, "none")),
    *(Series(3566, 9, "B", 2, 0.3, "none", "VA AR NV AF GS"),),
    *(Series(4749, 6, "B", 8.8, 0.02, "none"), Series(8852, 6, "B", 9, 0.05, "none", "AF NV AR")),
    *(Series(6907, 6, "B", 5, 0.15, "none", "DD AF AR NV VA"),),
    *(Series(7408, 5, "B", 2.5, 0.4, "none", "VA AR NV DJPR"),),
    *(Series(5803, 4, "B", 9, 0.02, "none", "AR AF NV"),),
    *(Series(5703, 3, "B", 6, 0.05, "none"), Series(2604, 4, "B", 10, 0.05, "none", "AR NV AF")),
    *(Series(3806, 4, "B", 9, 0.04, "none", "AF NV"), Series(2805, 4, "B", 9, 0.02, "none")),
    *(Series(5801, 3, "B", 8, 0.03, "none", "AR AF"),),
    *(
        Series(4102, 3, "B", 8.5, 0.06, "none"),
        Series(7404, 3, "B", 7, 0.35, "none", "VA AR NV DJPR"),
    ),
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
Booleans = npt.NDArray[np.bool_]

_SEED = 1988
_SMALLEST = 0.004
_YEARS = range(p.FIRST_YEAR, p.LAST_YEAR + 1)
_EVERYWHERE = (301, 303, 318, 341, 343, 501, 905, 2210)
_HOME = 8.0
_ABROAD_BLUE = 0.05
_STOCK = 1.2e6


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Tables of the fixed world; A agencies, O occupations, Y years from FIRST_YEAR.

    Parameters
    ----------
    agencies, occupations : tuple of str
        Codes in order; A = 607 and O = 803.
    department : ndarray of int16, shape (A,)
        Index of the department; agencies of one department are neighbours.
    first, last : ndarray of int16, shape (A,)
        Years in which the agency exists.
    heirs : tuple of tuple of int
        Agencies that take over the people when it closes.
    size : ndarray, shape (Y, A)
        Share of the agency among entrants of a year; rows sum to 1.
    agency_effect : ndarray, shape (A,)
        Shift of log pay.
    mix : ndarray, shape (A, O)
        Share of each occupation in an agency; 0 for pairs that do not occur.
    family, category, needs : ndarray of int8, shape (O,)
        Indices of FAMILIES, CATEGORIES, REQUIREMENTS.
    grade, women : ndarray, shape (O,)
        Aimed grade (General Schedule), share of women.
    plan : ndarray of int8, shape (Y, A, O)
        Index of the pay plan.
    """

    agencies: tuple[str, ...]
    department: Integers
    first: Integers
    last: Integers
    heirs: tuple[tuple[int, ...], ...]
    size: Floats
    agency_effect: Floats
    occupations: tuple[str, ...]
    mix: Floats
    family: Integers
    category: Integers
    needs: Integers
    grade: Floats
    women: Floats
    plan: Integers

    def places(self, tokens: str) -> Booleans:
        """Return which agencies begin with one of the codes (all, if there is none)."""
        return _places(self.agencies, tokens)


@lru_cache(maxsize=1)
def world() -> World:
    """Build the world (a second of work), or return the one built before."""
    rng = np.random.Generator(np.random.PCG64DXSM(_SEED))
    bureaus = _bureaus(rng)
    codes = tuple(bureau.code for bureau in bureaus)
    order = {code: number for number, code in enumerate(codes)}
    series, family = _series(rng)
    departments = [tuple(DEPARTMENTS).index(code[:2]) for code in codes]
    size = _sizes(bureaus)
    category = np.array([CATEGORIES.index(s.category) for s in series], dtype=np.int8)
    return World(
        agencies=codes,
        department=np.array(departments, dtype=np.int16),
        first=np.array([bureau.first for bureau in bureaus], dtype=np.int16),
        last=np.array([bureau.last for bureau in bureaus], dtype=np.int16),
        heirs=tuple(tuple(order[heir] for heir in bureau.heirs) for bureau in bureaus),
        size=size,
        agency_effect=rng.normal(0, p.AGENCY_SD, len(codes)),
        occupations=tuple(f"{s.code:04d}" for s in series),
        mix=_mix(rng, bureaus, size.mean(axis=0), series, family),
        family=family,
        category=category,
        needs=np.array([tuple(p.REQUIREMENTS).index(s.needs) for s in series], dtype=np.int8),
        grade=np.array([s.grade + p.GRADE_SHIFT[s.category] for s in series]),
        women=np.array([s.women for s in series]),
        plan=_plans(rng, codes, series),
    )


def _bureaus(rng: np.random.Generator) -> list[Bureau]:
    """Return all agencies, those of a department together."""
    unnamed = {code: d.bureaus for code, d in DEPARTMENTS.items()}
    renamed = {code: round(SMALL.renamed * n) for code, n in unnamed.items()}
    left = N_AGENCIES - len(BUREAUS) - sum(unnamed.values()) - sum(renamed.values())
    renamed["ZZ"] = round(left * SMALL.renamed / (1 + SMALL.renamed))
    unnamed["ZZ"] = left - renamed["ZZ"]
    found = []
    for code, department in DEPARTMENTS.items():
        found += [b for b in BUREAUS if b.code[:2] == code]
        found += _small(rng, code, department.rest, unnamed[code], renamed[code])
    return found


def _small(
    rng: np.random.Generator, code: str, total: float, number: int, renamed: int
) -> list[Bureau]:
    """Draw the unnamed bureaus of a department; the first ``renamed`` change their code."""
    weights = np.exp(SMALL.spread * rng.normal(size=number))
    sizes = np.maximum(total * weights / weights.sum(), _SMALLEST)
    years = rng.integers(1990, 2010, number)
    fate = rng.random(number)
    names = [f"{code}{k // 26}{chr(65 + k % 26)}" for k in range(number + renamed)]
    start = DEPARTMENTS[code].first
    found = []
    for k in range(number):
        first, last, heirs = start, 9999, ()
        year = max(int(years[k]), start + 2)
        if k < renamed:
            found.append(Bureau(names[k], sizes[k], start, year, (names[number + k],)))
            found.append(Bureau(names[number + k], sizes[k], year + 1))
            continue
        if fate[k] < SMALL.founded:
            first = year
        elif fate[k] < SMALL.founded + SMALL.closed:
            last = year
        found.append(Bureau(names[k], sizes[k], first, last, heirs))
    return found


def _sizes(bureaus: list[Bureau]) -> Floats:
    years = np.array(_YEARS)[:, None]
    size = np.array([bureau.size for bureau in bureaus])
    first = np.array([bureau.first for bureau in bureaus])
    last = np.array([bureau.last for bureau in bureaus])
    trend = np.array([DEPARTMENTS[bureau.code[:2]].trend for bureau in bureaus])
    there = (first <= years) & (years <= last)
    size = np.where(there, size * np.exp(trend * (years - 2000)), 0.0)
    return np.asarray(size / size.sum(axis=1, keepdims=True))


def _series(rng: np.random.Generator) -> tuple[list[Series], Integers]:
    """Return all occupations in order of their code, and the family of each."""
    found = {s.code: s for s in SERIES}
    for family in FAMILIES:
        weights = np.exp(1.3 * rng.normal(size=family.series))
        sizes = np.maximum(family.rest * weights / max(weights.sum(), 1e-9), _SMALLEST)
        free = [c for c in range(family.code * 100, family.code * 100 + 99) if c not in found]
        codes = rng.choice(np.array(free), family.series, replace=False)
        kind = rng.random(family.series)
        shift = rng.normal(0, 0.8, family.series)
        women = np.clip(family.women * np.exp(rng.normal(0, 0.3, family.series)), 0.01, 0.97)
        for k, code in enumerate(codes):
            category, grade, needs = family.category, family.grade + shift[k], family.needs
            if category in "PA" and kind[k] < 0.28:  # assistants beside the specialists
                category, needs = ("T" if kind[k] < 0.2 else "C"), "none"
                grade = 7.0 + shift[k] if category == "T" else 5.0 + 0.5 * shift[k]
            low = 1.0 if category == "B" else 3.0
            grade = float(np.clip(grade, low, 15))
            item = Series(int(code), sizes[k], category, grade, float(women[k]), needs)
            found[int(code)] = item
    if len(found) != N_OCCUPATIONS:
        raise AssertionError(f"there are {len(found)} occupations, not {N_OCCUPATIONS}")
    groups = [family.code for family in FAMILIES]
    codes_in_order = sorted(found)
    family_of = np.array([groups.index(code // 100) for code in codes_in_order], dtype=np.int8)
    return [found[code] for code in codes_in_order], family_of


def _places(codes: tuple[str, ...], tokens: str) -> Booleans:
    starts = tuple(tokens.split())
    return np.array([not starts or code.startswith(starts) for code in codes])


def _mix(
    rng: np.random.Generator,
    bureaus: list[Bureau],
    size: Floats,
    series: list[Series],
    family: Integers,
) -> Floats:
    """Fit shares of occupations by agency to the sizes of both (iterative proportional fitting)."""
    codes = tuple(bureau.code for bureau in bureaus)
    jobs = np.array([s.size for s in series])
    jobs = jobs / jobs.sum()
    like = np.empty((len(codes), len(series)))
    for o, (item, group) in enumerate(zip(series, family, strict=True)):
        home = _places(codes, item.only or FAMILIES[group].home)
        away = 0.0 if item.only else _ABROAD_BLUE if item.category == "B" else 1 / _HOME
        like[:, o] = np.where(home, 1.0, away)
    like *= np.exp(rng.normal(0, 0.5, like.shape))
    expected = _STOCK * size[:, None] * jobs * like
    sparse = rng.random(like.shape) > expected / 1.5 + 0.01
    everywhere = np.array([s.code in _EVERYWHERE for s in series])
    like[sparse & ~everywhere] = 0.0
    _inherit(like, bureaus, codes)
    for _ in range(30):
        like *= jobs / np.maximum((size[:, None] * like).sum(axis=0), 1e-12)
        like /= like.sum(axis=1, keepdims=True)
    return like


def _inherit(like: Floats, bureaus: list[Bureau], codes: tuple[str, ...]) -> None:
    """Give the heir of a renamed bureau the same occupations."""
    for a, bureau in enumerate(bureaus):
        if bureau.code[2].isdigit() and bureau.heirs:
            like[codes.index(bureau.heirs[0])] = like[a]


def _plans(rng: np.random.Generator, codes: tuple[str, ...], series: list[Series]) -> Integers:
    """Return the plan of every year, agency and occupation by the rules."""
    chance = rng.random((len(codes), len(series)))
    plan = np.zeros((len(_YEARS), len(codes), len(series)), dtype=np.int8)
    for rule in RULES:
        who = rule.who.split()
        rows = _places(codes, rule.where)[:, None]
        columns = np.array([s.category in who or str(s.code) in who for s in series])
        hit = rows & columns & (chance < rule.share)
        for t, year in enumerate(_YEARS):
            if rule.first <= year <= rule.last:
                plan[t][hit] = tuple(PLANS).index(rule.plan)
    return plan
