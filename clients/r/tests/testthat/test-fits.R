test_that("combined variances are those of the papers", {
  q <- cbind(x = c(1, 2, 3))
  u <- cbind(c(0.5, 0.6, 0.7))
  combined <- function(rule, ...) combine_estimates(q, u, rule = rule, ...)
  expect_equal(combined("simple", n = 100, k = 50)$std_error^2, 0.6 * (0.5 + 1 / 3))
  expect_equal(combined("proper", n = 100, k = 50)$std_error^2, 0.6 * (0.5 + 1.5 / 3))
  partially <- combined("partially")
  expect_equal(partially$std_error^2, 0.6 + 1 / 3)
  expect_equal(partially$df, 2 * (1 + 0.6 / (1 / 3))^2)
  expect_equal(partially$high, 2 + qt(0.975, partially$df) * sqrt(0.6 + 1 / 3))
  fully <- combined("fully")
  expect_equal(fully$std_error^2, 4 / 3 - 0.6)
  expect_equal(fully$df, 2 * (1 - 0.6 / (4 / 3))^2)
  adjusted <- combine_estimates(q, 3 * u, rule = "fully", n = 100, k = 50)
  expect_equal(adjusted$std_error^2, 1.8 * 0.5)
  expect_identical(adjusted$df, Inf)
  expect_equal(combined("redrawn", n = 100, k = 10)$std_error^2, 4 / 3 - 0.66)
})

test_that("rules that do not apply are refused", {
  one <- matrix(1)
  refused <- function(...) problems_of_error(combine_estimates(one, one, ...))
  expect_match(refused(rule = "partially"), "at least two datasets")
  expect_match(refused(rule = "simple"), "needs n and k")
  expect_match(refused(rule = "rubin"), "must be one of")
  expect_match(refused(rule = "simple", n = 1, k = 1, level = 95), "between 0 and 1")
  expect_match(problems_of_error(combine_estimates(one, -one, n = 1, k = 1)), "not negative")
})

test_that("faults of a fit, and data that have nothing in common, are told", {
  people <- small_frame()
  s <- structure(class = "synthesis", list(datasets = list(people, people), m = 2L, n = 120L,
                                           rule = "simple", missing_codes = list()))
  refused <- function(...) problems_of_error(fit_synthetic(s, ...))
  expect_match(refused(pay ~ age, family = "binom"), "family: there is no 'binom'")
  expect_match(suppressWarnings(refused(pay ~ age, fun = mean)), "no coef\\(\\) and vcov")
  expect_match(refused(pay ~ nothing), "fitted to dataset 1: .*nothing")
  expect_match(refused(3), "must be a formula")
  fit <- fit_synthetic(s, pay ~ age, fun = "lm")
  expect_equal(summary(fit)$coefficients[, 1], coef(fit))
  expect_output(print(summary(fit)), "Pr\\(>\\|z\\|\\)")
  expect_match(problems_of_error(compare(fit, iris)), "fitted to the original")
  expect_match(problems_of_error(compare(s, iris)), "no column is on both sides")
  expect_match(problems_of_error(risk(people, iris)), "no column is on both sides")
  expect_identical(compare(people, people, "sex")$sex$synthetic, as.vector(table(people$sex)[c("f", "m")]) / 120)
  long <- data.frame(place = "all", name = strrep("a name ", 12), value = 0.12345, chance = NA,
                     original = 1, direction = "lower is safer")
  expect_output(internal("print_figures")(long), paste0(strrep("a name ", 12), "\n.*0.123"))
})

test_that("arguments that a function does not have are refused", {
  people <- small_frame()
  s <- structure(class = "synthesis", list(datasets = list(people), m = 1L, n = 120L,
                                           rule = "simple", missing_codes = list()))
  refused <- function(words, ...) {
    problems <- problems_of_error(...)
    expect_match(problems, words)
  }
  refused("datset: .* 'dataset'", as.data.frame(s, datset = 1))
  refused("'missing'", as.list(s, mising = "NA"))
  refused("an argument too many", summary(s, 3))
  refused("write variables", compare(s, people, vars = "age"))
  refused("write variables", plot(s, vars = "age"))
  refused("name the original", report(s, keys = "age"))
  expect_identical(dim(data.frame(s)), dim(people))
  fit <- fit_synthetic(s, pay ~ age)
  refused("always infers about the population", summary(fit, population.inference = TRUE))
  refused("name it in fit_synthetic", compare(fit, people, level = 0.9))
  refused("no coefficient 'agee'; did you mean 'age'", confint(fit, "agee"))
  refused("formula: cannot be read", fit_synthetic(s, "pay ~ ~ ("))
  refused("'family'", fit_synthetic(s, pay ~ age, famly = binomial))
  refused("subset: .*write it into fun", fit_synthetic(s, pay ~ age, subset = age > 3))
  refused("weights = NAME", fit_synthetic(s, pay ~ edu, weights = age))
  for (weighted in list(function(formula, data) lm(formula, data, weights = age),
                        function(formula, data) lm(formula, data, weights = data$age))) {
    fit <- fit_synthetic(s, pay ~ edu, fun = weighted)
    expect_equal(coef(fit), coef(lm(pay ~ edu, people, weights = age)))
  }
})
