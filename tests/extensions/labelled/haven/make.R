# Writes the files of this folder: R 4.2, haven 2.5.1 (Debian bookworm). Made-up data.
# iris.sas7bdat.gz is the example that haven ships (R's iris), packed.
library(haven)
again <- function(x) rep(x, 5)
spss <- tibble::tibble(
  answer = labelled_spss(again(c(1, 2, 1, 98, 99, 2, 1, NA)),
    c(Yes = 1, No = 2, Never = 3, "Do not know" = 98, Refused = 99),
    na_values = c(98, 99), label = "Question 1"),
  income = labelled_spss(again(c(10.5, 20, -5, -3, -1, 30, NA, 40)), c(Filter = -5),
    na_range = c(-10, -1), label = "Income per month"),
  region = labelled_spss(again(c("a", "b", "XX", "longer than eight", "a", "b", "", "XX")),
    c("Region A" = "a", "The long one" = "longer than eight", Unknown = "XX"), na_values = "XX"),
  born = as.Date("1980-01-31") + 0:39,
  asked = as.POSIXct("2020-01-01 10:11:12", tz = "UTC") + 0:39)
write_sav(spss, "made.sav")
write_sav(spss, "made.zsav", compress = "zsav")
stata <- tibble::tibble(
  answer = labelled(again(c(1L, 2L, 1L, 2L, NA, 2L, 1L, 1L)), c(Yes = 1L, No = 2L), label = "Question 1"),
  why = labelled(again(c(1, 2, tagged_na("a"), tagged_na("b"), NA, 3, 1, 2)),
    c(One = 1, Two = 2, Refused = tagged_na("a"), "Do not know" = tagged_na("b"))),
  text = again(c("a", "b", strrep("z", 3000), "", "a", "b", "c", "d")),
  born = spss$born, asked = spss$asked)
write_dta(stata, "made.dta", version = 14)
write_dta(stata[c("answer", "why")], "made8.dta", version = 8)
