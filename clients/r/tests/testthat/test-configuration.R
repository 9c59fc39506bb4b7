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
  expect_match(problems_of_error(yaml(a = NA)), "NA has no place here")
  expect_match(problems_of_error(yaml(a = mean)), "a: a function has no place here")
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
