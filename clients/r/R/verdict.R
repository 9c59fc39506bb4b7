#' May this be released?
#'
#' Three lines: what the release adds about a person in the data, what it would show about anybody,
#' and how useful it is. Each has a word, `safe` (by these tests), `look` or `stop`, and the
#' sentence that produced it. What was not measured is `look`.
#'
#' @param x A result of [synthesize()], [risk()], [utility()] or [report()].
#' @param ... Not used.
#' @return A data frame of class `synthesizer_verdict` with `subject`, `title`, `word`, `said` and
#'   `sentence`; its attribute `evidence` is a data frame of every test behind it.
#' @examples
#' \dontrun{
#' verdict(s)
#' attr(verdict(s), "evidence")
#' }
#' @export
verdict <- function(x, ...) UseMethod("verdict")

#' @export
verdict.default <- function(x, ...) {
  fail("verdict: needs a result of synthesize(), risk(), utility() or report()")
}

#' @export
verdict.synthesis <- function(x, ...) x$verdict

#' @export
verdict.synthesizer_checks <- function(x, ...) x$verdict

verdict_of <- function(checks) {
  lines <- checks$verdict$lines
  verdict <- rows_frame(lines, c("subject", "title", "word", "said", "sentence"))
  evidence <- lapply(lines, function(line) {
    rows <- rows_frame(line$evidence, c("test", "word", "sentence"), c("value", "low", "high", "mark"))
    if (nrow(rows)) cbind(subject = line$subject, rows) else NULL
  })
  structure(verdict, class = c("synthesizer_verdict", "data.frame"),
            evidence = do.call(rbind, evidence))
}

# A list of records as a data frame; numbers that are absent are NA.
rows_frame <- function(rows, texts, numbers = character()) {
  columns <- c(
    lapply(stats::setNames(nm = texts), function(key) {
      vapply(rows, function(row) as.character(row[[key]] %||% NA), "")
    }),
    lapply(stats::setNames(nm = numbers), function(key) {
      vapply(rows, function(row) as.numeric(row[[key]] %||% NA), 0)
    })
  )
  as.data.frame(columns)
}

#' @export
print.synthesizer_verdict <- function(x, ...) {
  for (i in seq_len(NROW(x))) {
    say(sprintf("%s: %s. %s", x$title[i], toupper(x$said[i]), x$sentence[i]))
  }
  invisible(x)
}

figures_of <- function(checks) {
  rows_frame(checks$figures, c("place", "key", "name", "direction", "meaning"),
             c("value", "low", "high", "baseline", "chance", "original", "n"))
}

print_figures <- function(figures) {
  figures <- figures[!is.na(figures$value), ]
  for (place in unique(figures$place)) {
    cat("\n")
    say(place)
    shown <- figures[figures$place == place, ]
    table <- data.frame(value = signif(shown$value, 4), chance = signif(shown$chance, 4),
                        original = signif(shown$original, 4), reads = shown$direction)
    names <- make.unique(substr(shown$name, 1, 32))
    print(`rownames<-`(table, names), na.print = "")
  }
}
