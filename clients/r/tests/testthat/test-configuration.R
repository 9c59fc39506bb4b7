yaml <- function(...) internal("yaml_text")(list(...))

test_that("a configuration is written without surprises", {
  expect_identical(
    yaml(m = 5, data = list(path = "a.csv"), keep = as.list("sex"), no = "no", seed = 2147483647,
         variables = list(`my x` = list(levels = list("1", "NA"), missing = list()))),
    paste(c("m: 5", "data:", "  path: \"a.csv\"", "keep: [\"sex\"]", "no: \"no\"",
            "seed: 2147483647", "variables:", "  \"my x\":", "    levels: [\"1\", \"NA\"]",
            "    missing: []", ""), collapse = "\n")
  )
  expect_identical(yaml(a = c("x\"y", "b\nc"), b = TRUE, c = 0.5, d = y ~ a + b),
                   "a: [\"x\\\"y\", \"b\\nc\"]\nb: true\nc: 0.5\nd: \"y ~ a + b\"\n")
  expect_identical(yaml(rules = list(list(`if` = "age < 15", then = list(m = "s")))),
                   "rules: [{if: \"age < 15\", then: {m: \"s\"}}]\n")
  expect_match(problems_of_error(yaml(a = NA)), "must not be NA")
  expect_match(problems_of_error(yaml(a = mean)), "a: must not be a function")
})

test_that("what synthpop gives by position becomes names", {
  data <- small_frame()
  data$empty <- NA
  forms <- internal("forms_of")(data)
  named <- internal("by_name")
  expect_identical(named(c("", "cart", "norm", "", "", "cart"), c(3, 6, 1), NULL, forms)[1:2],
                   list(method = list(age = "", sex = "cart", pay = "norm", edu = "", day = ""),
                        visit_sequence = list("pay", "age")))
  expect_identical(named("cart", NULL, NULL, forms)$method, "cart")
  square <- matrix(1, 6, 6)
  square[3, 1] <- 0
  found <- named(NULL, NULL, square, forms)$predictor_matrix
  expect_identical(found[c("age", "pay", "edu")],
                   list(age = list(), pay = list("sex"), edu = list("age", "sex", "pay")))
  expect_match(problems_of_error(named(c("cart", "norm"), NULL, NULL, forms)), "one name, or 6")
  expect_match(problems_of_error(named(NULL, 7, NULL, forms)), "from 1 to 6")
})

test_that("what the caller says of a variable goes before what the column says", {
  forms <- internal("forms_of")(small_frame())
  made <- internal("variables_of")(forms, list(sex = list(kind = "id"), age = list(missing = -8)))
  expect_identical(made$sex$kind, "id")
  expect_null(made$sex$levels)
  expect_identical(made$age, list(missing = list(-8)))
  expect_identical(made$edu$levels, list("low", "mid", "high"))
})

test_that("a matrix of predictors names columns of the data, and leaves nothing open", {
  data <- small_frame()
  forms <- internal("forms_of")(data)
  of <- function(matrix) internal("by_name")(NULL, NULL, matrix, forms)$predictor_matrix
  square <- matrix(1, 5, 5, dimnames = list(names(data), names(data)))
  square["pay", "age"] <- 0
  expect_identical(of(as.data.frame(square)), of(square))
  expect_identical(of(stats::setNames(as.data.frame(unname(square)), names(data))), of(square))
  misspelt <- square
  colnames(misspelt)[1] <- "agee"
  rownames(misspelt)[4] <- "edus"
  misspelt[2, 2] <- NA
  expect_identical(problems_of_error(of(misspelt)), paste("predictor.matrix:", c(
    "has NA; write 0 or 1", "unknown variable 'edus'; did you mean 'edu'?",
    "unknown variable 'agee'; did you mean 'age'?")))
})

test_that("arguments are looked at before the command is called, all at once", {
  problems <- problems_of_error(synthesize(
    small_frame(), m = 2.5, seed = "a", directory = c("a", "b"), overwrit = TRUE, quiet = NA,
    visit.sequence = 99, variables = list(pay = "numeric"), strata = small_frame()$edu,
    method = list(pay = ~ I(age^2))
  ))
  expect_match(problems, paste(
    "^m: must be a whole", "^seed: must be", "^directory: must be", "^quiet: must be",
    "^overwrit: .* 'overwrite'", "^strata: must be names .*; write strata = \"edu\"$", "^visit.sequence: ",
    "^method: leave I\\(\\) out; write pay = \"~ age\\*\\*2\"",
    "write list\\(pay = list\\(kind = ", sep = "|"))
  expect_length(problems, 9)
  expect_false(any(grepl("mid", problems)))
  refused <- function(...) problems_of_error(...)
  people <- small_frame()
  expect_match(refused(synthesize(as.list(people))), "must be a data frame, not a list")
  expect_match(refused(synthesize(tempdir())), "is a directory")
  expect_match(refused(risk(people, people, keys = as.character(people$age))), "write keys = \"age\"")
  expect_match(refused(risk(people, people, contrl = people[1:9, ])), "did you mean 'control'")
  expect_match(refused(frontier(people, list(cart.min_effective_rows = 1:2), utilty = "cap")), "'utility'")
  expect_match(refused(refine(people, people, "sex", "edu", genrations = 3)), "'generations'")
})
