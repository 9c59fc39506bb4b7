"""The occupations of the simulated workforce: families, and the series that are set by hand.

Sizes are in thousandths of the workforce, rounded. Grades are what a person of middle age
reaches, as grades of the General Schedule (17 and 18 stand for more than it pays).
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["CATEGORIES", "FAMILIES", "N_OCCUPATIONS", "SERIES", "Family", "Series"]

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
