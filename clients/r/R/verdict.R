#' May these data be released?
#'
#' Returns a verdict of three lines: what the release adds about a person in the data, what it shows
#' about anybody, and how useful it is. Each line has a word, `pass`, `unclear` or `fail`, and its
#' reason. A line without a measurement is `unclear`.
#'
#' @param x A result of [synthesize()], [risk()], [utility()] or [report()].
#' @param ... Not used.
#' @return A data frame of class `synthesizer_verdict` with `subject`, `title`, `word` and
#'   `sentence`. Its attribute `evidence` is a data frame of all tests: `value` and its interval,
#'   the limit (`mark`), and the values of a new sample (`fresh`) and of releasing the original
#'   (`released`).
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
verdict.synthesis <- function(x, ...) {
  no_further("verdict", "x", ...)
  x$verdict
}

#' @export
verdict.synthesizer_checks <- verdict.synthesis

verdict_of <- function(checks) {
  lines <- checks$verdict$lines
  verdict <- rows_frame(lines, c("subject", "title", "word", "sentence"))
  verdict$sentence <- in_words_of_r(verdict$sentence)
  evidence <- lapply(lines, function(line) {
    rows <- rows_frame(line$evidence, c("test", "word", "sentence"),
                       c("value", "low", "high", "mark", "fresh", "released"))
    if (nrow(rows)) cbind(subject = line$subject, rows) else NULL
  })
  structure(verdict, class = c("synthesizer_verdict", "data.frame"),
            evidence = do.call(rbind, evidence))
}

# Return a list of records as a data frame; an absent number is NA.
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
    print_lines(sprintf("%s: %s. %s", x$title[i], toupper(x$word[i]), x$sentence[i]))
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
    print_lines(place)
    shown <- figures[figures$place == place, ]
    rows <- cbind(figure = shown$name, value = short_number(shown$value),
                  chance = short_number(shown$chance), original = short_number(shown$original),
                  reads = shown$direction)
    print_rows(rows)
  }
}

short_number <- function(x) {
  ifelse(is.na(x), "", vapply(signif(x, 3), format, "", digits = 3, scientific = 5))
}

# Print a table of 80 columns; a name that is too long has its own line.
print_rows <- function(rows) {
  cells <- rbind(colnames(rows), rows)
  widths <- apply(nchar(cells), 2, max)
  widths[1] <- min(widths[1], 79 - sum(widths[-1] + 2))
  for (i in seq_len(nrow(cells))) {
    if (nchar(cells[i, 1]) > widths[1]) {
      cat(cells[i, 1], "\n", sep = "")
      cells[i, 1] <- ""
    }
    sides <- ifelse(seq_along(widths) %in% c(1, length(widths)), "left", "right")
    cat(sub(" +$", "", paste(mapply(formatC, cells[i, ], width = widths,
                                    flag = ifelse(sides == "left", "-", "")), collapse = "  ")),
        "\n", sep = "")
  }
}
