#' Compare synthetic with original data
#'
#' For a synthesis, compares the distribution of each variable. For a fit of [fit_synthetic()],
#' compares the estimates, measures the overlap of their intervals, and tests all differences at
#' once. The result is confidential.
#'
#' @param object A result of [synthesize()] or [fit_synthetic()], a data frame of another program, or
#'   a list of such data frames.
#' @param data The original data frame.
#' @param variables Names of columns; by default all columns that both have.
#' @param draw Whether to draw the comparison.
#' @param x A comparison.
#' @param ... Not used; an unknown argument is an error.
#' @return For a synthesis a named list of data frames with `level`, `original` and `synthetic`
#'   (shares over all synthetic datasets). Levels of factors keep their order. For a fit an object
#'   with the data frames `coefficients` and `combined`, and `lack_of_fit`. `plot()` draws both.
#' @examples
#' \dontrun{
#' compare(s, people, variables = c("age", "sex"))
#' compare(fit_synthetic(s, income ~ age + sex), people)
#' }
#' @export
compare <- function(object, data, ...) UseMethod("compare")

#' @export
compare.default <- function(object, data, variables = NULL, draw = interactive(), ...) {
  no_further("compare", c("variables", "draw"), ..., hints = old_names)
  frames <- if (is.data.frame(object)) list(object) else object
  if (!is.list(frames) || !length(frames) || !all(vapply(frames, is.data.frame, NA))) {
    fail(paste("compare: needs a result of synthesize() or fit_synthetic(), or data frames,",
               "and the original"))
  }
  check_frame(data)
  drawn(distributions_of(data, frames, variables, NULL), draw)
}

#' @rdname compare
#' @export
compare.synthesis <- function(object, data, variables = NULL, draw = interactive(), ...) {
  no_further("compare", c("variables", "draw"), ..., hints = old_names)
  check_frame(data)
  drawn(distributions_of(data, object$datasets, variables, object$missing_codes), draw)
}

drawn <- function(comparison, draw) {
  if (!isTRUE(draw) && !isFALSE(draw)) fail("draw: must be TRUE or FALSE")
  if (draw) plot(comparison)
  comparison
}

most_levels <- 12
bins <- 10

distributions_of <- function(data, datasets, variables, codes) {
  shared <- Reduce(intersect, lapply(datasets, names))
  if (!is.null(data)) shared <- shared_columns(shared, names(data))
  unknown <- setdiff(variables, shared)
  if (length(unknown)) fail(sprintf("variables: there is no column '%s' on both sides", unknown))
  tables <- lapply(stats::setNames(nm = variables %||% shared), function(name) {
    synthetic <- unlist(lapply(datasets, function(frame) plain_values(frame[[name]])))
    original <- if (!is.null(data)) plain_values(data[[name]])
    factors <- Filter(is.factor, lapply(c(list(data), datasets), function(frame) frame[[name]]))
    distribution_of(original, synthetic, codes[[name]], unlist(lapply(factors, levels)))
  })
  structure(tables, class = "synthetic_comparison")
}

# Return the columns on both sides; none is an error.
shared_columns <- function(synthetic, original) {
  shared <- intersect(synthetic, original)
  if (!length(shared)) {
    fail(sprintf("no column is on both sides: the synthetic data have %s, the original has %s",
                 few_names(synthetic), few_names(original)))
  }
  shared
}

few_names <- function(names) {
  if (!length(names)) return("none")
  more <- if (length(names) > 5) sprintf(" and %d more", length(names) - 5)
  paste0(paste(utils::head(names, 5), collapse = ", "), more)
}

# Numbers or texts; dates are years.
plain_values <- function(x) {
  if (is.factor(x) || is.logical(x)) return(as.character(x))
  if (inherits(x, "Date")) return(1970 + as.numeric(x) / 365.2425)
  if (inherits(x, "POSIXct")) return(1970 + as.numeric(x) / 86400 / 365.2425)
  if (inherits(x, "integer64")) return(suppressWarnings(as.numeric(as.character(x))))
  as.vector(unclass(x))
}

# Shares of levels, or of groups of numbers; missing codes and NA are levels. `ordered` are the
# levels of factors in their order.
distribution_of <- function(original, synthetic, codes = NULL, ordered = NULL) {
  both <- c(original, synthetic)
  group <- as.character
  codes <- intersect(setdiff(codes, ""), as.character(both))
  if (is.numeric(both) && length(unique(both)) > most_levels) {
    breaks <- breaks_of(both[is.finite(both) & !as.character(both) %in% codes])
    cut_at <- function(x) cut(x, breaks, include.lowest = TRUE, dig.lab = 6)
    levels <- c(levels(cut_at(breaks)), codes)
    group <- function(x) ifelse(as.character(x) %in% codes, as.character(x), as.character(cut_at(x)))
  } else {
    levels <- union(intersect(ordered, both), as.character(sort(unique(both))))
    if (is.null(ordered) && length(levels) > most_levels) levels <- names(sort(-table(both)))
  }
  shares <- function(x) {
    counts <- table(factor(group(x), levels), useNA = "always")
    as.vector(counts) / max(1, length(x))
  }
  table <- data.frame(level = c(levels, NA))
  if (!is.null(original)) table$original <- shares(original)
  table$synthetic <- shares(synthetic)
  if (anyNA(both)) table else table[!is.na(table$level), ]
}

# Return round borders of groups; the two outer groups contain the most extreme 1 % each.
breaks_of <- function(numbers) {
  inner <- pretty(stats::quantile(numbers, c(0.01, 0.99), names = FALSE), bins)
  inner <- inner[inner > min(numbers) & inner < max(numbers)]
  unique(c(min(numbers), inner, max(numbers)))
}

#' @export
print.synthetic_comparison <- function(x, ...) {
  for (name in names(x)) {
    cat(name, "\n", sep = "")
    table <- utils::head(x[[name]], 2 * most_levels)
    table[-1] <- lapply(table[-1], function(share) sprintf("%.4f", share))
    print(table, row.names = FALSE)
    further <- nrow(x[[name]]) - nrow(table)
    if (further > 0) cat(sprintf("and %d further levels\n", further))
  }
  invisible(x)
}

#' @rdname compare
#' @export
plot.synthetic_comparison <- function(x, ...) {
  no_further("plot", character(), ..., hints = c(variables = "name them in compare()"))
  shown <- utils::head(names(x), 12)
  rows <- ceiling(sqrt(length(shown)))
  before <- graphics::par(mfrow = c(rows, ceiling(length(shown) / rows)), mar = c(6, 3, 2, 0.5))
  on.exit(graphics::par(before))
  for (name in shown) {
    draw_bars(utils::head(x[[name]], 2 * most_levels), name, legend = name == shown[1])
  }
  if (length(x) > length(shown)) {
    message(sprintf("%d of %d variables are shown; name others", length(shown), length(x)))
  }
  invisible(x)
}

draw_bars <- function(table, title, legend) {
  sides <- intersect(c("original", "synthetic"), names(table))
  labels <- ifelse(is.na(table$level), "NA", table$level)
  short <- ifelse(nchar(labels) > 14, paste0(substr(labels, 1, 12), ".."), labels)
  colours <- c(original = "#7a8794", synthetic = "#1f6fb2")[sides]
  shares <- t(as.matrix(table[sides]))
  graphics::barplot(shares, beside = TRUE, names.arg = short, las = 2, col = colours, border = NA,
                    main = title, cex.names = 0.7, ylim = c(0, 1.25 * max(shares)))
  if (legend) graphics::legend("topright", sides, fill = colours, border = NA, bty = "n")
}
