internal <- function(name) getFromNamespace(name, "synthesizer")

# Tests of the command itself are skipped where it is not installed.
skip_without_command <- function() {
  found <- tryCatch(!is.null(synthesizer_version()), synthesizer_error = function(error) FALSE)
  if (!found) skip("the command synthesizer is not installed")
}

problems_of_error <- function(expression) {
  tryCatch({
    expression
    character()
  }, synthesizer_error = function(error) error$problems)
}

# A program in place of the command, which does what the lines of shell say.
fake_command <- function(..., folder = parent.frame()) {
  path <- tempfile("fake")
  writeLines(c("#!/bin/sh", ...), path)
  Sys.chmod(path, "700")
  path
}

left_behind <- function() list.files(tempdir(), "^synthesizer-")

small_frame <- function(n = 120) {
  i <- seq_len(n)
  data.frame(
    age = 18 + (i * 37) %% 60,
    sex = factor(c("f", "m")[1 + (i * 7) %% 5 %% 2], levels = c("m", "f", "x")),
    pay = 900 + ((i * 53) %% 97) * 10 + 12 * ((i * 37) %% 60),
    edu = factor(c("low", "mid", "high", NA)[1 + (i * 11) %% 4],
                 levels = c("low", "mid", "high"), ordered = TRUE),
    day = as.Date("2020-02-20") + (i * 29) %% 300
  )
}
