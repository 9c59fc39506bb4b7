with_command <- function(path, expression) {
  before <- options(synthesizer.command = path)
  on.exit(options(before))
  expression
}

test_that("a command that is missing or too old is told", {
  expect_match(problems_of_error(with_command("/nowhere/synthesizer", synthesizer_version())),
               "/nowhere/synthesizer: there is no such command")
  skip_on_os("windows")
  old <- fake_command("echo synthesizer 0.0.9")
  expect_match(problems_of_error(with_command(old, synthesize(small_frame()))),
               "is version 0.0.9; install synthesizer 0.2.0 or newer")
  silent <- fake_command("echo no such option >&2; exit 2")
  expect_match(problems_of_error(with_command(silent, synthesizer_version())),
               "does not print its version")
})

test_that("errors become conditions with every problem, and no file is left", {
  skip_on_os("windows")
  known <- c("case $1 in --version) echo synthesizer 9.1.0; exit;; esac")
  two <- fake_command(known, "printf '2 errors:\\n- one is\\n  wrong\\n- so is two\\n' >&2; exit 2")
  before <- left_behind()
  error <- tryCatch(with_command(two, synthesize(small_frame(), quiet = TRUE)),
                    synthesizer_error = identity)
  expect_identical(error$problems, c("one is wrong", "so is two"))
  expect_identical(error$status, 2L)
  expect_identical(left_behind(), before)
  broken <- fake_command(known, "printf 'Traceback (most recent call last):\\n' >&2",
                         "printf 'ValueError: pay 12345\\n' >&2; exit 1")
  text <- problems_of_error(with_command(broken, synthesize(small_frame(), quiet = TRUE)))
  expect_match(text, "broke with ValueError")
  expect_false(grepl("12345", text))
})

test_that("words of a call reach the command as they are, and files are private meanwhile", {
  skip_on_os("windows")
  out <- tempfile()
  echo <- fake_command(
    "case $1 in --version) echo synthesizer 9.1.0; exit;; esac",
    sprintf("for word in \"$@\"; do echo \"$word\"; done > %s", shQuote(out)),
    sprintf("stat -c %%a \"$(dirname \"$2\")\" \"$(dirname \"$2\")\"/* >> %s", shQuote(out)),
    sprintf("cat \"$2\" >> %s; exit 1", shQuote(out))
  )
  directory <- file.path(tempdir(), "a $(touch hacked) `b` 'c' \"d\"")
  problems_of_error(with_command(echo, synthesize(small_frame(), directory = directory,
                                                  quiet = TRUE)))
  lines <- readLines(out)
  expect_identical(lines[1], "run")
  expect_identical(lines[3:4], c("--out", directory))
  expect_identical(lines[5:7], c("700", "600", "600"))
  expect_match(paste(lines, collapse = "\n"), "path: \"data.csv\"", fixed = TRUE)
  expect_false(file.exists("hacked"))
})

test_that("options of the command become arguments of R", {
  says <- function(from, to) expect_identical(internal("in_words_of_r")(from), to)
  says("x exists; name another directory or say --overwrite (output.overwrite: true)",
       "x exists; name another directory or write overwrite = TRUE")
  says("--risk capp: is no figure", "risk = \"capp\": is no figure")
  says("name codes under codes (--codes), or make more: -m 5", "name codes under codes, or make more: m = 5")
  says("Invalid value for '--seed': Input should be a valid integer", "seed: must be a valid integer")
  says("write rules: [{if: CONDITION, then: {VARIABLE: VALUE}}]",
       "write rules = list(list(`if` = \"CONDITION\", then = list(VARIABLE = \"VALUE\")))")
  says("--risk-at-most: is -8", "risk_at_most: is -8")
  says("min_leaf: unknown key; write models: {cart: {min_leaf: ...}}", "min_leaf: unknown key; write cart.min_leaf = ...")
  says("keys: unknown key; write checks: {keys: ...}", "keys: unknown key; write checks = list(keys = ...)")
  says("structural_zeros: write [[sex, town]]", "structural_zeros: write list(c(\"sex\", \"town\"))")
  says("/tmp/R/synthesizer-73c3/control.csv: is the original", "control.csv: is the original")
  says("proper: must be true or false (got 'x')", "proper: must be TRUE or FALSE (got 'x')")
})

test_that("an interrupt of the command is one of R, and a killed command is told", {
  skip_on_os("windows")
  known <- "case $1 in --version) echo synthesizer 9.1.0; exit;; esac"
  before <- left_behind()
  call <- function(...) {
    with_command(fake_command(known, ...), synthesize(small_frame(), quiet = TRUE))
  }
  stopped <- function(...) tryCatch(call(...), interrupt = function(signal) "interrupt")
  expect_identical(stopped("echo error: interrupted\\; nothing was written >&2; exit 130"), "interrupt")
  expect_identical(stopped("kill -INT $$; sleep 1"), "interrupt")
  expect_match(problems_of_error(call("kill -9 $$")), "'run' was killed before its end")
  expect_identical(left_behind(), before)
})

test_that("an error that points above itself comes with what stands there", {
  skip_on_os("windows")
  lost <- fake_command(
    "case $1 in --version) echo synthesizer 9.1.0; exit;; esac",
    "echo '  fit y ~ x: could not be computed: y has no number'",
    "echo 'error: fit y ~ x: has no result, see above' >&2; exit 1"
  )
  people <- small_frame()
  expect_identical(problems_of_error(with_command(lost, utility(people, people, fits = "y ~ x"))),
                   c("fit y ~ x: has no result, see above",
                     "fit y ~ x: could not be computed: y has no number"))
})
