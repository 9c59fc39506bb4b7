# Against the command itself, on public data; few calls, since each takes seconds.
test_that("a run is that of the command line, byte by byte, and comes back typed", {
  skip_without_command()
  people <- small_frame()
  kept <- tempfile("kept")
  before <- left_behind()
  s <- synthesize(people, m = 2, seed = 7, random_key = "none", checks = FALSE, directory = kept,
                  default_method = "cart", quiet = TRUE)
  expect_identical(left_behind(), before)
  folder <- tempfile("by hand")
  dir.create(folder)
  internal("write_frame")(people, internal("forms_of")(people), file.path(folder, "x.csv"))
  writeLines(c("data: {path: x.csv}", "output: {directory: r, report: false, codebook: false}", "m: 2", "random_key: none",
               "checks: false", "variables:",
               "  sex: {kind: categorical, levels: [m, f, x]}",
               "  edu: {kind: ordered, levels: [low, mid, high]}"), file.path(folder, "x.yaml"))
  internal("call_synthesizer")(c("run", file.path(folder, "x.yaml"), "--seed", "7"))
  bytes <- function(directory, i) {
    path <- file.path(directory, sprintf("synthetic_%d.csv", i))
    readBin(path, "raw", file.size(path))
  }
  for (i in 1:2) expect_identical(bytes(kept, i), bytes(file.path(folder, "r"), i))

  expect_identical(lapply(as.data.frame(s), class), lapply(people, class))
  # the codebook lists a level that no dataset has only where it is public
  expect_identical(lapply(as.data.frame(s, dataset = 2), levels), lapply(droplevels(people), levels))
  expect_identical(c(s$m, s$n, s$seed), c(2L, 120L, 7L))
  expect_identical(s$rule, "simple")
  expect_identical(verdict(s)$word, rep("unclear", 3))
  expect_identical(verdict(s)$title, c("A person in the data", "Anybody", "Use"))
  said <- capture.output(print(verdict(s)))
  expect_identical(sum(grepl("^(A person in the data|Anybody|Use): UNCLEAR[.] ", said)), 3L)
  expect_output(print(s), "2 synthetic datasets: 120 records, 5 variables")
  again <- read_synthetic(kept)
  expect_identical(again$datasets, s$datasets)
  expect_identical(as.character(file.mode(file.path(kept, "columns.rds"))), "600")
  stored <- rapply(list(readRDS(file.path(kept, "columns.rds"))), as.character, how = "unlist")
  expect_gt(length(stored), 0)
  expect_false(any(as.character(people$pay) %in% stored))  # values, not digits within a path
  expect_identical(names(s$configuration$data), "path")
  expect_identical(basename(report(s, browse = FALSE)), "report.html")

  pdf(NULL)
  on.exit(dev.off())
  plot(s)
  tables <- compare(s, people)
  expect_equal(tables$sex$original, as.vector(table(people$sex)[c("m", "f")]) / 120)
  plot(tables)

  # The same model by R and by the command.
  fitted <- compare(fit_synthetic(s, pay ~ age + sex), people)
  plot(fitted)
  u <- utility(s, people, c("age", "sex", "pay"), fits = pay ~ age + sex,
               two_way = FALSE, propensity = FALSE, regressions = FALSE,
               equivalent_sample = FALSE, conditional_tables = FALSE)
  theirs <- u$results$utility$fits[[1]]
  ours <- fitted$coefficients
  for (key in c("original", "original_error", "synthetic", "standardised", "overlap")) {
    expect_equal(ours[[key]], vapply(theirs$coefficients, function(row) row[[key]], 0), label = key)
  }
  expect_equal(ours$expected_error, vapply(theirs$coefficients, function(row) row$synthetic_error, 0))
  expect_equal(fitted$combined$std_error^2, unlist(theirs$combined$total))
  expect_equal(fitted$combined$low, unlist(theirs$combined$low))
  expect_equal(fitted$lack_of_fit[["statistic"]], theirs$lack_of_fit$statistic)
  expect_equal(fitted$lack_of_fit[["p_value"]], theirs$lack_of_fit$p_value)
})

test_that("a limit that is exceeded is a warning, and risk takes any data frames", {
  skip_without_command()
  people <- small_frame()
  warned <- NULL
  r <- withCallingHandlers(
    risk(people, people, keys = c("age", "sex"), target = "edu", limits = list(cap = 0.01),
         copied_uniques = FALSE, suda = FALSE),
    synthesizer_limit = function(warning) {
      warned <<- warning$problems
      invokeRestart("muffleWarning")
    }
  )
  expect_match(warned, "cap")
  expect_gt(r$figures$value[r$figures$key == "cap"], 0.5)
  tests <- attr(r$verdict, "evidence")
  expect_true(all(tests$word %in% c("pass", "unclear", "fail")))
  own <- tests[tests$test == "limits.cap", ]
  expect_identical(unique(own$word), "fail")
  expect_true(all(own$value > 0.5) && all(own$mark == 0.01) && all(is.na(own$fresh)))
  expect_identical(r$verdict$subject, c("person", "anybody", "use")[seq_along(r$verdict$subject)])
})

test_that("a model that cannot be fitted is a warning, and everything else is there", {
  skip_without_command()
  people <- small_frame()
  warned <- NULL
  u <- withCallingHandlers(
    utility(people, people, fits = list(sex ~ age, list(formula = "pay ~ age", weights = "age")),
            two_way = FALSE, propensity = FALSE, regressions = FALSE, equivalent_sample = FALSE,
            conditional_tables = FALSE),
    synthesizer_failed = function(warning) {
      warned <<- warning$problems
      invokeRestart("muffleWarning")
    }
  )
  expect_match(warned, "fit sex ~ age: .*numeric response")
  expect_match(u$failed[["fit sex ~ age"]], "numeric response")
  expect_identical(u$results$utility$fits[[1]]$weights, "age")
})

test_that("the rule of combining follows from how the data were made", {
  rule <- function(kept = FALSE, ...) {
    internal("rule_of")(list(chain = list(list(kept = kept)), config = list(...)), NULL)
  }
  expect_identical(rule(), "simple")
  expect_identical(rule(proper = TRUE), "proper")
  expect_identical(rule(TRUE, proper = TRUE), "partially")
  expect_identical(rule(weights = list(variable = "w", draw = "design")), "redrawn")
})

test_that("settings are compared, and a file is refined", {
  skip_without_command()
  people <- small_frame()
  quick <- as.list(c(attacks = FALSE, nearest = FALSE, suda = FALSE,
                     propensity = FALSE, regressions = FALSE, equivalent_sample = FALSE,
                     conditional_tables = FALSE, differential_confidentiality = FALSE))
  f <- frontier(people, list(cart.min_effective_rows = c(30, 100)), seed = 1, quiet = TRUE,
                checks = c(list(keys = list("age", "sex"), target = "edu"), quick))
  expect_identical(f$setting, c("cart.min_effective_rows=30", "cart.min_effective_rows=100"))
  expect_true(any(f$best) && all(is.finite(f$risk) & is.finite(f$utility)))
  expect_identical(read_synthetic(f$directory[2])$m, 1L)
  expect_output(print(f), "cart.min_effective_rows=100")
  age <- rep(20:59, 8)
  related <- data.frame(age, edu = ifelse((age * 7) %% 11 + age > 45, "high", "low"), pay = 90 * age)
  a <- advise(related, seed = 1, random_key = "none", default_method = "sample", quiet = TRUE)
  expect_identical(a$setting[1], "present setting")
  expect_true(all(a$word %in% c("pass", "unclear", "fail")) && nrow(a) > 1)
  expect_identical(a$word[1], "fail")
  expect_true(is.null(attr(a, "advised")) || attr(a, "advised") %in% a$setting[-1])
  expect_output(print(a), "present setting")
  codes <- data.frame(lapply(people[c("sex", "edu")], factor), age = factor(people$age %/% 20))
  r <- suppressWarnings(refine(
    transform(codes, edu = rev(edu)), codes, c("sex", "age"), "edu", risk = "cap",
    risk_at_most = 0.3, generations = 3, population = 6, random_key = "none"
  ))
  expect_identical(lapply(r$data, levels), lapply(codes, levels))
  expect_lte(r$after[["risk"]], r$before[["risk"]])
  expect_match(problems_of_error(refine(codes, codes, "sex", "edu", generatons = 3)),
               "did you mean 'generations'")
})

test_that("missing cells are filled, and observed ones stay", {
  skip_without_command()
  people <- small_frame()
  people$pay[c(3, 50)] <- NA
  made <- complete_data(people, m = 2, cells = list(pay = ""), seed = 1, quiet = TRUE,
                        variables = list(pay = list(kind = "numeric")))
  expect_length(made, 2)
  expect_identical(attr(made, "filled"), c(pay = 2L))
  for (one in made) {
    expect_false(anyNA(one$pay))
    expect_equal(one$pay[-c(3, 50)], people$pay[-c(3, 50)])
    expect_identical(one[names(one) != "pay"], people[names(people) != "pay"])
  }
})
