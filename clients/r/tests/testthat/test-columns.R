# Every column comes back from its texts as it was: value, class, levels, attributes.
round_trip <- function(x) {
  form <- internal("form_of")(x)
  internal("decode_column")(internal("encode_column")(x, form), form)
}

test_that("columns come back from text as they were", {
  columns <- list(
    factor = factor(c("b", "a", NA, "NA", ""), levels = c("b", "unused", "a", "NA", "")),
    factor_with_empty_level = factor(c("", "a")),
    factor_with_na = addNA(factor(c("a", NA))),
    ordered = factor(c("lo", "hi"), levels = c("lo", "mid", "hi"), ordered = TRUE),
    integer = c(1L, NA, -.Machine$integer.max),
    double = c(0.1, 1 / 3, 1e-300, 123456789.123456789, 1e15, NaN, NA),
    logical = c(TRUE, NA, FALSE),
    text = c("a", "", NA, "NA", " lead", "q \"x\"", "a\nb", "\u00e9\u4e2d"),
    text_without_na = c("", "a"),
    date = as.Date(c("1899-12-31", NA, "2024-02-29")),
    whole_date = structure(c(18000L, NA, 18400L), class = "Date"),
    whole_difference = as.difftime(c(1L, NA), units = "mins"),
    labelled = structure(c(1, 2, 9, NA), labels = c(yes = 1, no = 2, refused = 9), label = "Agrees",
                         class = c("haven_labelled", "vctrs_vctr", "double")),
    labelled_integer = structure(c(1L, 2L, NA), labels = c(yes = 1L, no = 2L),
                                 class = c("haven_labelled", "vctrs_vctr", "integer")),
    seconds = structure(c(0.5, NA, 1e9), class = c("POSIXct", "POSIXt"), tzone = "Asia/Tokyo"),
    difference = as.difftime(c(1, 2.5), units = "hours"),
    classed = structure(c(3, 1), class = "of_somebody", unit = "kg")
  )
  for (name in names(columns)) {
    expect_identical(round_trip(columns[[name]]), columns[[name]], label = name)
  }
})

test_that("times keep their zone, and midnight stays midnight", {
  x <- as.POSIXct(c("2024-01-15 00:00:00", "2024-07-15 00:00:00", NA), tz = "Europe/Warsaw")
  form <- internal("form_of")(x)
  expect_identical(internal("encode_column")(x, form)[1:2],
                   c("2024-01-15 00:00:00", "2024-07-15 00:00:00"))
  expect_equal(round_trip(x), x)
  skipped <- internal("decode_column")("2024-03-31 02:30:00", form)  # clocks go from 2 to 3
  expect_identical(format(skipped, "%H:%M"), "03:30")
})

test_that("integer64 and labelled columns of haven come back", {
  skip_if_not_installed("bit64")
  skip_if_not_installed("haven")
  big <- bit64::as.integer64(c("9007199254740993", NA))
  expect_identical(round_trip(big), big)
  spss <- haven::labelled_spss(c(1, 2, 8, 99, NA), c(yes = 1, refused = 8), na_values = 8,
                               na_range = c(90, Inf), label = "Agrees")
  expect_identical(round_trip(spss), spss)
  expect_identical(internal("form_of")(spss)$entry$missing, list("", "8", "99"))
  stata <- haven::labelled(c(1, haven::tagged_na("a"), NA), c(one = 1, gone = haven::tagged_na("a")))
  expect_identical(haven::na_tag(round_trip(stata)), c(NA, "a", NA))
  expect_identical(internal("form_of")(stata)$entry$level_labels, list(`1` = "one", .a = "gone"))
  words <- haven::labelled(c("a", "b", ""), c(Alpha = "a", Beta = "b"))
  expect_identical(round_trip(words), words)
})

test_that("a form holds no value of the data", {
  x <- c(31415926, 2.5, NA)
  form <- internal("form_of")(x)
  expect_false(grepl("31415926", paste(deparse(form), collapse = "")))
  expect_lt(length(serialize(internal("forms_of")(small_frame(5000)), NULL)), 5000)
})

test_that("a column of another class is written as it reads, not as codes of its levels", {
  write <- function(x, like) internal("encode_column")(x, internal("form_of")(like))
  expect_identical(write(factor(c("20", "7", NA)), c(1, 2)), c("20", "7", ""))
  expect_identical(write(factor("2020-02-29"), as.Date("2020-01-01")), "2020-02-29")
  expect_identical(write("TRUE", FALSE), "TRUE")
})

test_that("levels that the codebook does not list do not come back", {
  form <- internal("form_of")(factor(c("a", "rare", "b")))
  decode <- internal("decode_column")
  expect_identical(levels(decode(c("a", "other"), form, c("a", "b", "other"))), c("a", "b", "other"))
  ids <- decode(c("1", "2"), form, character(), "id")
  expect_identical(levels(ids), c("1", "2"))
})

test_that("what cannot be synthesised is told, all at once", {
  data <- data.frame(a = 1:2)
  data$l <- list(1, 2)
  data$m <- matrix(1:4, 2)
  data$c <- complex(2)
  data$lt <- as.POSIXlt(c("2020-01-01", "2020-01-02"))
  problems <- problems_of_error(synthesize(data))
  expect_length(problems, 4)
  expect_match(problems, "'l' is a list|'m' is a table|'c' is complex|'lt' is POSIXlt")
  expect_match(problems_of_error(synthesize(data.frame())), "no column|no row")
  expect_match(problems_of_error(synthesize(data.frame(a = integer()))), "no row")
  expect_match(problems_of_error(synthesize(data.frame(a = c(NA, NA)))), "no column with a value")
  twice <- stats::setNames(data.frame(1, 2), c("a", "a"))
  expect_match(problems_of_error(synthesize(twice)), "two columns 'a'")
  expect_match(problems_of_error(synthesize(42)), "must be a data frame")
  expect_match(problems_of_error(synthesize(small_frame(), 1, 1, NULL, NULL, 3)), "need names")
  expect_match(problems_of_error(internal("key_of")(3)), "random_key must be \"none\"")
})

test_that("bytes that are no letters are refused, with their number", {
  x <- c("a\xe9", "b", "a\xe9")
  expect_match(problems_of_error(synthesize(data.frame(x))), "column 'x' has 2 texts with bytes")
  expect_match(problems_of_error(synthesize(data.frame(x = factor(x, unique(x))))), "has 1 text")
  Encoding(x) <- "latin1"
  expect_null(internal("form_of")(x)$fault)
})
