#' Fit a model to synthetic data
#'
#' Fits a model to each dataset and combines the estimates. The result is an inference about the
#' population of which the original is a sample. Let q be the estimates, u their variances, U the
#' mean of u, and B the variance between the q. The variance of the combined estimate is
#' \describe{
#'   \item{`simple`}{U (k/n + 1/m): all values drawn with fixed parameters;}
#'   \item{`proper`}{U (k/n + (1 + k/n)/m): all values drawn, parameters drawn anew each time;}
#'   \item{`partially`}{U + B/m: some values are the original's;}
#'   \item{`fully`}{(1 + 1/m) B - U: draws from the posterior predictive distribution;}
#'   \item{`redrawn`}{(1 + 1/m) B - U (1 + k/n): samples drawn anew by the design of a survey;}
#'   \item{`imputed`}{U + (1 + 1/m) B: missing values were drawn m times, by [complete_data()];}
#'   \item{`nested`}{U k/n + (1 + 1/m) B - W/r: r synthetic datasets of each of m completed ones,
#'     with B between the m means and W within them,}
#' }
#' for m datasets of k records from n original ones (Raghunathan, Reiter and Rubin 2003; Reiter
#' 2002, 2003; Raab, Nowok and Dibben 2016; Rubin 1987; Reiter 2004).
#'
#' @param object A result of [synthesize()] or [read_synthetic()].
#' @param formula Formula of the model.
#' @param fun Function that fits the model, or its name. It is called as
#'   `fun(formula, data = , ...)`, and its result needs `coef()` and `vcov()`. The default is
#'   [stats::lm()], or [stats::glm()] if `...` has a `family`.
#' @param ... Further arguments of `fun`. `weights` and `subset` are refused, because they would be
#'   values of one data frame. For a weighted fit write a `fun` that names the column, as in the
#'   examples, or `utility(s, people, fits = list(list(formula = , weights = "w")))`.
#' @param rule How the datasets were made; by default that of the run.
#' @param level Confidence level of the intervals.
#' @param n Number of original records; by default that of the run.
#' @param x A fit.
#' @return An object of class `synthetic_fit`: `coefficients` (a data frame of estimates, standard
#'   errors, intervals, degrees of freedom and p-values), `fits`, `rule`, `m`, `n` and `k`. Missing
#'   codes such as -8 are `NA` in the fits. It has methods for `summary()`, `coef()`, `confint()`,
#'   and `vcov()`, whose matrix is diagonal.
#' @seealso [compare()] compares it with the same model of the original.
#' @examples
#' \dontrun{
#' fit_synthetic(s, income ~ age + sex)
#' fit_synthetic(s, employed ~ age, family = binomial)
#' weighted <- function(formula, data) lm(formula, data, weights = w)
#' fit_synthetic(s, income ~ age, fun = weighted)  # w is a column of the data
#' }
#' @export
fit_synthetic <- function(object, formula, fun = NULL, ..., rule = NULL, level = 0.95, n = NULL) {
  if (!inherits(object, "synthesis")) {
    fail("fit_synthetic: needs a result of synthesize() or read_synthetic()")
  }
  formula <- formula_of(formula, parent.frame())
  refuse_columns(names(substitute(list(...))))
  fun <- fitting_function(fun, list(...)$family)
  check_fit_arguments(fun, names(list(...)))
  frames <- lapply(object$datasets, codes_to_na, object$missing_codes)
  fits <- lapply(seq_along(frames), function(i) {
    fitted_to(paste("dataset", i), fun, formula, frames[[i]], ...)
  })
  k <- mean(vapply(frames, nrow, 0L))
  fitted <- list(
    formula = formula, fun = fun, arguments = list(...), fits = fits, m = length(fits),
    rule = rule %||% object$rule, level = level, n = n %||% object$n, k = k,
    missing_codes = object$missing_codes
  )
  fitted$coefficients <- combined_fits(fits, fitted$rule, fitted$n, k, level)
  structure(fitted, class = "synthetic_fit")
}

formula_of <- function(formula, frame) {
  if (is_text(formula)) {
    formula <- tryCatch(stats::as.formula(formula, env = frame), error = function(error) NULL)
  }
  if (!inherits(formula, "formula")) {
    fail("formula: cannot be read; it must be a formula, such as income ~ age + sex")
  }
  formula
}

# Refuse arguments whose values would be columns of one data frame.
refuse_columns <- function(names) {
  taken <- intersect(c("weights", "subset"), names)
  advice <- c(
    weights = paste("weights: would be values of one data frame; write them into fun:",
                    "fun = function(formula, data) lm(formula, data, weights = NAME), or",
                    "utility(fits = list(list(formula = , weights = \"NAME\")))"),
    subset = paste("subset: would be values of one data frame; write it into fun:",
                   "fun = function(formula, data) lm(formula, data[data$NAME == \"LEVEL\", ])")
  )
  if (length(taken)) fail(unname(advice[taken]))
}

# Refuse unknown arguments: lm() and glm() ignore them.
check_fit_arguments <- function(fun, names) {
  takes <- names(formals(args(fun)))
  inner <- if (identical(fun, stats::lm)) stats::lm.fit else
    if (identical(fun, stats::glm)) stats::glm.control
  known <- setdiff(c(takes, if (!is.null(inner)) names(formals(inner)), if (identical(fun, stats::lm)) "family"), "...")
  unknown <- setdiff(names, c(known, ""))
  if (!is.null(inner) || !"..." %in% takes) {
    if (length(unknown)) fail(unknown_names(unknown, c(known, "rule", "level"), "unknown argument"))
  } else {
    misspelt_arguments(unknown, c(known, "rule", "level"))
  }
}

fitting_function <- function(fun, family) {
  if (is.character(family) && !exists(family[1], mode = "function")) {
    fail(sprintf("family: there is no '%s'; use binomial, poisson, Gamma or another of ?family",
                 family[1]))
  }
  fun <- fun %||% if (is.null(family)) stats::lm else stats::glm
  if (is.character(fun) && exists(fun[1], mode = "function")) fun <- get(fun[1], mode = "function")
  if (!is.function(fun)) fail("fun must be a function that fits a model, such as lm or glm")
  fun
}

# Return a fit that has coefficients and their variances. The formula sees `data`, so that
# weights = data$w in `fun` are those of the dataset.
fitted_to <- function(what, fun, formula, data, ...) {
  environment(formula) <- list2env(list(data = data), parent = environment(formula))
  fit <- tryCatch(fun(formula, data = data, ...), error = function(error) {
    fail(sprintf("the model cannot be fitted to %s: %s", what, conditionMessage(error)))
  })
  has_both <- tryCatch(is.numeric(stats::coef(fit)) && is.numeric(as.matrix(stats::vcov(fit))),
                     error = function(error) FALSE)
  if (!has_both) {
    fail("fun: what it returns has no coef() and vcov(); use lm, glm or another that fits models")
  }
  fit
}

combined_fits <- function(fits, rule, n, k, level) {
  estimates <- lapply(fits, function(fit) stats::coef(fit))
  names <- names(estimates[[1]])
  for (i in seq_along(estimates)) {
    gone <- c(setdiff(union(names, names(estimates[[i]])),
                      intersect(names, names(estimates[[i]]))),
              names(estimates[[i]])[is.na(estimates[[i]])])
    if (length(gone)) {
      fail(sprintf("dataset %d has no estimate of %s; use a smaller model", i,
                   paste(unique(gone), collapse = ", ")))
    }
  }
  q <- do.call(rbind, estimates)
  u <- do.call(rbind, lapply(fits, function(fit) diag(as.matrix(stats::vcov(fit)))))
  combine_estimates(q, u, rule = rule, n = n, k = k, level = level)
}

#' Combine estimates of m synthetic datasets
#'
#' @param q,u Matrices of estimates and their variances, a row for each dataset.
#' @param rule See [fit_synthetic()].
#' @param n,k Records of the original and of each synthetic dataset.
#' @param level Confidence level of the intervals.
#' @param df For `imputed`: degrees of freedom of a complete dataset.
#' @param imputations For `nested`: number of completed datasets. The rows of `q` are the synthetic
#'   datasets of the first one, of the second one, and so on.
#' @return A data frame with `estimate`, `std_error`, `low`, `high`, `df` and `p_value`.
#' @examples
#' combine_estimates(cbind(x = c(1, 2, 3)), cbind(c(0.5, 0.5, 0.5)), rule = "partially")
#' @export
combine_estimates <- function(q, u, rule = "simple", n = NULL, k = NULL, level = 0.95, df = Inf,
                              imputations = NULL) {
  q <- as.matrix(q)
  u <- as.matrix(u)
  check_rule(q, u, rule, n, k, level, imputations)
  m <- nrow(q)
  ratio <- if (is.null(n) || is.null(k)) 0 else k / n
  within <- colMeans(u)
  between <- if (m > 1) apply(q, 2, stats::var) else 0 * within
  parts <- switch(
    rule,
    simple = list(total = within * (ratio + 1 / m), df = Inf),
    proper = list(total = within * (ratio + (1 + ratio) / m), df = Inf),
    partially = list(total = within + between / m,
                     df = (m - 1) * (1 + quotient(within, between / m))^2),
    imputed = imputed_total(within, (1 + 1 / m) * between, m, df),
    nested = nested_total(q, within * ratio, imputations),
    fully_total(within, between, m, ratio, redrawn = rule == "redrawn")
  )
  estimate <- colMeans(q)
  error <- sqrt(parts$total)
  half <- stats::qt((1 + level) / 2, parts$df) * error
  data.frame(estimate = estimate, std_error = error, low = estimate - half,
             high = estimate + half, df = parts$df,
             p_value = 2 * stats::pt(-abs(estimate / error), parts$df),
             row.names = colnames(q) %||% seq_along(estimate))
}

# Rubin (1987), with the degrees of freedom of Barnard and Rubin (1999).
imputed_total <- function(within, excess, m, complete) {
  share <- quotient(excess, within + excess)
  observed <- if (all(is.infinite(complete))) Inf else
    (complete + 1) / (complete + 3) * complete * (1 - share)
  list(total = within + excess, df = 1 / (share^2 / (m - 1) + 1 / observed))
}

# Reiter (2004); the part beside U is at least W / (m r).
nested_total <- function(q, within, m) {
  r <- nrow(q) / m
  nest <- factor(rep(seq_len(m), each = r))
  means <- apply(q, 2, function(x) tapply(x, nest, mean))
  between <- (1 + 1 / m) * apply(means, 2, stats::var)
  drawn <- apply(q, 2, function(x) mean(tapply(x, nest, stats::var))) / r
  total <- within + pmax(between - drawn, drawn / m)
  list(total = total, df = total^2 / (between^2 / (m - 1) + drawn^2 / (m * (r - 1))))
}

# Total variances that are not positive (or below that of a sample) have (k/n) U in their place.
fully_total <- function(within, between, m, ratio, redrawn) {
  taken <- if (redrawn) within * (1 + ratio) else within
  least <- if (redrawn) within * ratio else 0 * within
  total <- (1 + 1 / m) * between - taken
  df <- (m - 1) * (1 - quotient(taken, (1 + 1 / m) * between))^2
  adjusted <- total <= least & within > 0
  if (any(adjusted) && ratio == 0) {
    fail("rule 'fully': a total variance is not positive, and its adjustment needs n and k")
  }
  list(total = ifelse(adjusted, within * ratio, total), df = ifelse(adjusted, Inf, df))
}

quotient <- function(one, other) ifelse(other > 0, one / other, ifelse(one > 0, Inf, 0))

rules <- c("simple", "proper", "partially", "fully", "redrawn", "imputed", "nested")

check_rule <- function(q, u, rule, n, k, level, imputations = NULL) {
  if (!is.character(rule) || length(rule) != 1 || !rule %in% rules) {
    fail(sprintf("rule must be one of %s", paste(rules, collapse = ", ")))
  }
  needs_sizes <- rule %in% c("simple", "proper", "redrawn", "nested") && (is.null(n) || is.null(k))
  faults <- c(
    if (!identical(dim(q), dim(u))) "q and u must be matrices of one shape",
    if (!all(is.finite(q)) || !all(is.finite(u)) || any(u < 0)) {
      "q and u must be finite numbers, and variances not negative"
    },
    if (nrow(q) < 2 && rule %in% c("partially", "fully", "redrawn", "imputed")) {
      sprintf("rule '%s' needs at least two datasets; make more", rule)
    },
    if (rule == "nested" && !isTRUE(imputations > 1 && nrow(q) %% imputations == 0 &&
                                    nrow(q) > imputations)) {
      "rule 'nested' needs imputations, a divisor of the datasets with 2 or more of each"
    },
    if (needs_sizes) sprintf("rule '%s' needs n and k, the numbers of records", rule),
    if (rule == "partially" && !is.null(n) && !is.null(k) && n != k) {
      "rule 'partially' is for datasets with as many records as the original"
    },
    if (!is.numeric(level) || !isTRUE(level > 0 && level < 1)) "level must be between 0 and 1"
  )
  if (length(faults)) fail(faults)
}

#' @rdname fit_synthetic
#' @export
print.synthetic_fit <- function(x, ...) {
  print_lines(headline(x))
  print(signif(x$coefficients, 4), ...)
  invisible(x)
}

headline <- function(x) {
  sprintf("%s: %s of %s records from %s, combined by rule '%s'", formula_text(x$formula),
          counted(x$m, "synthetic dataset"), format(x$k, big.mark = ","),
          format(x$n, big.mark = ","), x$rule)
}

#' @rdname fit_synthetic
#' @export
summary.synthetic_fit <- function(object, ...) {
  no_further("summary", character(), ..., hints = old_names)
  table <- object$coefficients
  normal <- all(is.infinite(table$df))
  columns <- cbind(table$estimate, table$std_error, table$estimate / table$std_error, table$p_value)
  dimnames(columns) <- list(rownames(table), c(
    "Estimate", "Std. Error", if (normal) c("z value", "Pr(>|z|)") else c("t value", "Pr(>|t|)")))
  structure(class = "summary.synthetic_fit",
            list(headline = headline(object), coefficients = columns))
}

#' @export
print.summary.synthetic_fit <- function(x, ...) {
  print_lines(x$headline)
  stats::printCoefmat(x$coefficients, ...)
  print_lines("Estimates for the population; their errors include the synthesis.")
  invisible(x)
}

#' @export
coef.synthetic_fit <- function(object, ...) {
  stats::setNames(object$coefficients$estimate, rownames(object$coefficients))
}

#' @export
vcov.synthetic_fit <- function(object, ...) {
  names <- rownames(object$coefficients)
  matrix(diag(object$coefficients$std_error^2, length(names)), length(names),
         dimnames = list(names, names))
}

#' @export
confint.synthetic_fit <- function(object, parm = NULL, level = object$level, ...) {
  no_further("confint", c("parm", "level"), ...)
  table <- combined_fits(object$fits, object$rule, object$n, object$k, level)
  limits <- as.matrix(table[c("low", "high")])
  if (is.null(parm)) return(limits)
  if (is.character(parm)) {
    unknown <- unknown_names(parm, rownames(limits), "the model has no coefficient")
    if (length(unknown)) fail(paste("parm:", unknown))
  } else if (!is.numeric(parm) || !all(abs(parm) %in% seq_len(nrow(limits)))) {
    fail(sprintf("parm: must be names of coefficients, or numbers from 1 to %d", nrow(limits)))
  }
  limits[parm, , drop = FALSE]
}

#' @rdname compare
#' @export
compare.synthetic_fit <- function(object, data, draw = interactive(), ...) {
  no_further("compare", "draw", ..., hints = c(
    level = "name it in fit_synthetic()", variables = "name them in the formula", old_names))
  check_frame(data)
  original <- do.call(fitted_to, c(
    list("the original", object$fun, object$formula, codes_to_na(data, object$missing_codes)),
    object$arguments
  ))
  names <- rownames(object$coefficients)
  q <- stats::coef(original)
  gone <- c(setdiff(names, names(q)), names(q)[is.na(q)])
  if (length(gone)) {
    fail(sprintf("the original has no estimate of %s; %s", paste(gone, collapse = ", "),
                 "give its columns the classes of the synthetic ones, or use a smaller model"))
  }
  v <- as.matrix(stats::vcov(original))[names, names, drop = FALSE]
  n <- used_records(original, nrow(data))
  sizes <- vapply(object$fits, used_records, 0, object$k)
  drawn(draw = draw, structure(class = "synthetic_fit_comparison", list(
    formula = object$formula, rule = object$rule, level = object$level,
    coefficients = compared_coefficients(object, original, q[names], v, n, sizes),
    combined = combined_fits(object$fits, object$rule, n, mean(sizes), object$level),
    lack_of_fit = lack_of_fit(object, q[names], v, n, sizes)
  )))
}

used_records <- function(fit, otherwise) {
  as.numeric(tryCatch(stats::nobs(fit), error = function(error) otherwise))
}

# Karr and others (2006): the mean share of each interval that lies in the other one.
compared_coefficients <- function(object, original, q, v, n, sizes) {
  u <- lapply(object$fits, function(fit) diag(as.matrix(stats::vcov(fit))))
  expected <- sqrt(Reduce(`+`, Map(`*`, u, sizes / n)) / object$m)[names(q)]
  synthetic <- stats::coef(object)[names(q)]
  df <- if (inherits(original, "lm") && !inherits(original, "glm")) stats::df.residual(original) else Inf
  half <- stats::qt((1 + object$level) / 2, df)
  error <- sqrt(diag(v))
  common <- pmin(q + half * error, synthetic + half * expected) -
    pmax(q - half * error, synthetic - half * expected)
  data.frame(
    original = q, original_error = error, synthetic = synthetic, expected_error = expected,
    difference = synthetic - q, standardised = (synthetic - q) / error,
    overlap = (common / (2 * half * error) + common / (2 * half * expected)) / 2
  )
}

# All differences at once, against those of a correct model (Raab, Nowok and Dibben 2021).
lack_of_fit <- function(object, q, v, n, sizes) {
  difference <- stats::coef(object)[names(q)] - q
  if (!object$rule %in% c("simple", "proper", "fully")) return(NULL)
  ratio <- mean(n / sizes)
  factor <- (if (object$rule == "simple") ratio else 1 + ratio) / object$m
  statistic <- tryCatch(drop(difference %*% solve(v * factor, difference)),
                        error = function(error) NA_real_)
  c(statistic = statistic, df = length(q),
    p_value = stats::pchisq(statistic, length(q), lower.tail = FALSE))
}

#' @export
print.synthetic_fit_comparison <- function(x, ...) {
  print_lines(sprintf("%s: original and synthetic (rule '%s')", formula_text(x$formula), x$rule))
  print(signif(x$coefficients, 4), ...)
  print_lines(sprintf("mean overlap of intervals %.3f, mean size of differences %.2f standard errors",
              mean(x$coefficients$overlap), mean(abs(x$coefficients$standardised))))
  if (!is.null(x$lack_of_fit)) {
    print_lines(sprintf("lack of fit: chi-square %.2f with %d degrees of freedom, p-value %.3g",
                x$lack_of_fit[["statistic"]], x$lack_of_fit[["df"]], x$lack_of_fit[["p_value"]]))
  }
  invisible(x)
}

#' @rdname compare
#' @export
plot.synthetic_fit_comparison <- function(x, ...) {
  no_further("plot", character(), ...)
  table <- x$coefficients
  half <- stats::qnorm((1 + x$level) / 2)
  rows <- rev(seq_len(nrow(table)))
  from <- cbind(-half, table$standardised - half * table$expected_error / table$original_error)
  to <- cbind(half, table$standardised + half * table$expected_error / table$original_error)
  before <- graphics::par(mar = c(4, 10, 2, 0.5))
  on.exit(graphics::par(before))
  graphics::plot(range(from, to), c(0.5, nrow(table) + 0.5), type = "n", yaxt = "n", ylab = "",
                 xlab = "standard errors of the original, from its estimate",
                 main = formula_text(x$formula))
  graphics::axis(2, rows, rownames(table), las = 1, cex.axis = 0.8)
  colours <- c("#7a8794", "#1f6fb2")
  for (side in 1:2) {
    y <- rows + c(0.1, -0.1)[side]
    graphics::segments(from[, side], y, to[, side], y, col = colours[side], lwd = 2)
    graphics::points((from[, side] + to[, side]) / 2, y, col = colours[side], pch = 19)
  }
  graphics::legend("topright", c("original", "synthetic"), col = colours, lwd = 2, bty = "n")
  invisible(x)
}
