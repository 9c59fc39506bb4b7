# Find and call the command, and raise its errors as conditions of R.

oldest_version <- "0.2.0"

known_versions <- new.env(parent = emptyenv())

#' Version of the command
#'
#' @return `synthesizer_version()` returns the version of the command `synthesizer`. A missing or
#'   old command gives an error of class `synthesizer_error` with the remedy.
#' @examples
#' \dontrun{
#' options(synthesizer.command = "/opt/synthesizer/bin/synthesizer")
#' synthesizer_version()
#' }
#' @export
synthesizer_version <- function() {
  path <- command_path()
  if (is.null(known_versions[[path]])) {
    done <- call_program(path, "--version")
    found <- regmatches(done$out, regexpr("[0-9]+(\\.[0-9]+)+", done$out))
    if (done$status != 0 || length(found) == 0) {
      fail(sprintf("%s does not print its version; install synthesizer %s or newer, %s",
                   path, oldest_version, where_it_is_named))
    }
    if (package_version(found[1]) < oldest_version) {
      fail(sprintf("%s is version %s; install synthesizer %s or newer, %s",
                   path, found[1], oldest_version, where_it_is_named))
    }
    assign(path, package_version(found[1]), envir = known_versions)
  }
  known_versions[[path]]
}

where_it_is_named <-
  "or name another in options(synthesizer.command = ) or SYNTHESIZER_COMMAND"

command_path <- function() {
  named <- getOption("synthesizer.command", Sys.getenv("SYNTHESIZER_COMMAND"))
  if (!is.character(named) || length(named) != 1 || is.na(named)) {
    fail("option synthesizer.command must be one path")
  }
  path <- unname(Sys.which(if (nzchar(named)) path.expand(named) else "synthesizer"))
  if (is.na(path) || !nzchar(path)) {
    fail(sprintf("%s: there is no such command; install it with pip, %s",
                 if (nzchar(named)) named else "synthesizer", where_it_is_named))
  }
  path
}

# Run the command. Status 3 means that a limit is exceeded; any other status than 0 and `accepted`
# is an error.
call_synthesizer <- function(arguments, accepted = integer()) {
  synthesizer_version()
  done <- call_program(command_path(), arguments)
  if (any(startsWith(done$err, "Traceback"))) {  # its last line may hold values of the data
    kind <- sub("[^A-Za-z0-9_.].*", "", utils::tail(done$err[nzchar(done$err)], 1))
    fail(sprintf("the command '%s' broke with %s: a fault of the program, please report it; %s",
                 arguments[1], kind, "its message is hidden, because it may contain values"),
         done$status)
  }
  if (done$status %in% c(9L, 15L, 137L, 143L)) {
    fail(sprintf("the command '%s' was killed before its end, perhaps for lack of memory: %s",
                 arguments[1], "use fewer rows or columns, or a machine with more memory"),
         done$status)
  }
  problems <- in_words_of_r(c(problems_of(done$err), lines_above(done)))
  if (!done$status %in% c(0L, 3L, accepted)) {
    fail(if (length(problems)) problems else
      sprintf("the command '%s' ended with status %d without a message", arguments[1], done$status),
      done$status)
  }
  list(status = done$status, out = done$out, problems = if (done$status != 0L) problems)
}

# While a command runs, R does not hear an interrupt, which goes to the command and its shell: it is
# repeated here, so that handlers of interrupts run and a script stops. The shell dies by the signal
# (2) where it does not pass on the 130 of the command.
pass_interrupt_on <- function(done) {
  lines <- done$err[nzchar(done$err)]
  stopped <- done$status == 130L || done$status == 2L && !length(lines) ||
    done$status != 0L && any(grepl("^(error: )?interrupted[,;]|^KeyboardInterrupt", lines))
  if (!stopped) return(invisible())
  kept <- grep("nothing was written|Keyboard", problems_of(lines), value = TRUE, invert = TRUE)
  kept <- kept[!grepl(tempdir(), kept, fixed = TRUE)]
  if (length(kept)) message(kept[1])
  if (.Platform$OS.type == "unix") {
    tools::pskill(Sys.getpid(), tools::SIGINT)
    Sys.sleep(1)  # R looks for signals here
  }
  signalCondition(structure(class = c("interrupt", "condition"),
                            list(message = "interrupted", call = NULL)))
  fail("interrupted", 130L)
}

# Write options and YAML of messages of the command as arguments of R.
in_words_of_r <- function(problems) {
  for (i in seq_along(r_words)) {
    problems <- gsub(names(r_words)[i], r_words[[i]], problems, perl = TRUE)
  }
  nested <- gregexpr("\\[\\[[^][]+\\]\\]", problems)
  regmatches(problems, nested) <- lapply(regmatches(problems, nested), function(lists) {
    names <- gsub("([^, ]+)", "\"\\1\"", substr(lists, 3, nchar(lists) - 2))
    sprintf(rep("list(c(%s))", length(names)), names)
  })
  problems
}

r_words <- c(
  "^Invalid value for '?-{1,2}([a-z-]+)'?: (?:Input should be|input should be) (.*)" = "\\1: must be \\2",
  "^Invalid value for '?-{1,2}([a-z-]+)'?: " = "\\1: ",
  "(?:[a-z]+ |name another )?--overwrite(?: \\((?:output\\.overwrite: true|overwrite=True in Python)\\))?" =
    "write overwrite = TRUE",
  "write models: \\{([a-z_]+): \\{([a-z_]+): \\.\\.\\.\\}\\}" = "write \\1.\\2 = ...",
  "write ([a-z]+): \\{([a-z_]+): \\.\\.\\.\\}" = "write \\1 = list(\\2 = ...)",
  "must be true or false" = "must be TRUE or FALSE",
  "^random_key\\.from:" = "random_key:",
  "[^ ]*/synthesizer-[0-9a-f]+/" = "",
  "^output\\.(directory|format):" = "\\1:",
  "--(risk|utility|vary|seed|rule|weight|groups) ([A-Za-z_.0-9]+)(?=[:,; ]|$)" = "\\1 = \"\\2\"",
  "(?<![\\w-])-m ([0-9]+)" = "m = \\1",
  "(plugins|codes|key|seed|control|weight|rule) \\(--[a-z-]+(?: [A-Z]+)?\\)" = "\\1",
  ", or [a-z]+ --json" = "",
  "--set plugins=\\[([A-Za-z_.]+)\\]" = "plugins = \"\\1\"",
  "--set ([A-Za-z_.]+)(?=[=:])" = "\\1",
  "rules: \\[\\{if: ([A-Za-z]+), then: \\{([A-Za-z]+): ([A-Za-z]+)\\}\\}\\]" =
    "rules = list(list(`if` = \"\\1\", then = list(\\2 = \"\\3\")))",
  "([a-z_.]+): \\{([a-z_]+): ([0-9.]+), ([a-z_]+): ([a-z_]+)\\}" =
    "\\1 = list(\\2 = \\3, \\4 = \"\\5\")",
  "Turn on (?=checks\\.)" = "Turn on, as in checks = list(NAME = TRUE), ",
  "(?<=[, ])checks\\.([a-z_]+)(?=[,;. ]|$)" = "\\1",
  "(?<![\\w-])--([a-z]+)-([a-z]+)-([a-z]+)" = "\\1_\\2_\\3",
  "(?<![\\w-])--([a-z]+)-([a-z]+)" = "\\1_\\2",
  "(?<![\\w-])--([a-z]+)" = "\\1"
)

call_program <- function(path, arguments) {
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  files <- file.path(folder, c("out", "err"))
  restore <- set_environment(c(
    NO_COLOR = "1", COLUMNS = "80", PYTHONUTF8 = "1", library_path()
  ))
  on.exit(restore(), add = TRUE)
  status <- suppressWarnings(system2(
    path, shQuote(enc2utf8(arguments)), stdout = files[1], stderr = files[2], stdin = ""
  ))
  done <- list(status = as.integer(status), out = lines_of(files[1]), err = lines_of(files[2]))
  pass_interrupt_on(done)
  done
}

lines_of <- function(path) {
  if (file.exists(path)) readLines(path, warn = FALSE, encoding = "UTF-8") else character()
}

# Set variables of the environment (NA removes one); the result puts them back.
set_environment <- function(values) {
  before <- Sys.getenv(names(values), unset = NA, names = TRUE)
  put <- function(values) {
    Sys.unsetenv(names(values)[is.na(values)])
    if (any(!is.na(values))) do.call(Sys.setenv, as.list(values[!is.na(values)]))
  }
  put(values)
  function() put(before)
}

# R's own libraries go before those of the system, which a Python program must not be given.
library_path <- function() {
  folders <- strsplit(Sys.getenv("LD_LIBRARY_PATH"), ":", fixed = TRUE)[[1]]
  script <- file.path(R.home("etc"), "ldpaths")
  if (!length(folders) || !file.exists(script)) return(c(LD_LIBRARY_PATH = NA)[length(folders) > 0])
  code <- sprintf("unset LD_LIBRARY_PATH; . %s; echo \"$LD_LIBRARY_PATH\"", shQuote(script))
  of_r <- suppressWarnings(system2("sh", c("-c", shQuote(code)), stdout = TRUE, stderr = FALSE))
  left <- setdiff(folders, strsplit(of_r, ":", fixed = TRUE)[[1]])
  c(LD_LIBRARY_PATH = if (length(left)) paste(left, collapse = ":") else NA)
}

# Return the problems after "error: " or "2 errors:"; indented lines continue a problem.
problems_of <- function(lines) {
  lines <- lines[nzchar(trimws(lines)) & !grepl("^(Usage: |Try ')", lines)]
  start <- grep("^(error: |[0-9,]+ errors:)", lines)
  if (length(start)) lines <- lines[start[1]:length(lines)]
  lines <- lines[!grepl("^[0-9,]+ errors:$", lines)]
  if (!length(lines)) return(character())
  starts <- !grepl("^[ \t]", lines)
  starts[1] <- TRUE
  joined <- vapply(split(trimws(lines), cumsum(starts)), paste, "", collapse = " ")
  sub("^([Ee]rror: |- )", "", unname(joined))
}

# Return the lines before an error that ends with "see above".
lines_above <- function(done) {
  if (!any(grepl("see above", done$err, fixed = TRUE))) return(character())
  first <- grep("^(error: |[0-9,]+ errors:)", done$err)
  before <- done$err[seq_len(max(0, first[1] - 1, na.rm = TRUE))]
  trimws(c(grep("could not be computed", done$out, value = TRUE), before[nzchar(before)]))
}

# Raise a condition of the package with every problem.
fail <- function(problems, status = NA_integer_) {
  stop(condition(c("synthesizer_error", "error"), problems, status))
}

# Return the values of all arguments; raise one error with all their problems.
together <- function(...) {
  problems <- character()
  values <- stats::setNames(vector("list", ...length()), names(substitute(list(...)))[-1])
  for (i in seq_len(...length())) {
    value <- tryCatch(list(...elt(i)), synthesizer_error = function(error) {
      problems <<- c(problems, error$problems)
      list(NULL)
    })
    values[i] <- value
  }
  if (length(problems)) fail(unique(problems))
  values
}

# Put the name of an argument before the problems of an expression.
about <- function(name, expression) {
  tryCatch(expression, synthesizer_error = function(error) {
    joint <- ifelse(grepl("^[A-Za-z_.]+: ", error$problems), ".", ": ")
    fail(paste0(name, joint, error$problems), error$status)
  })
}

# Return the known name that is nearest to a misspelt one; NULL if none is near.
near_name <- function(name, known) {
  if (!length(known)) return(NULL)
  distance <- drop(utils::adist(name, known, ignore.case = TRUE))
  best <- which.min(distance)
  if (distance[best] <= max(1, nchar(name) %/% 3)) known[best]
}

# A problem for each name that is unknown.
unknown_names <- function(names, known, what) {
  vapply(setdiff(names, known), function(name) {
    near <- near_name(name, known)
    sprintf("%s '%s'%s", what, name, if (is.null(near)) {
      sprintf("; there %s %s", if (length(known) == 1) "is" else "are", few_names(known))
    } else {
      sprintf("; did you mean '%s'?", near)
    })
  }, "", USE.NAMES = FALSE)
}

# Refuse arguments that a function does not have.
no_further <- function(what, known, ..., hints = character(), unless = character()) {
  names <- names(substitute(list(...)))[-1] %||% character(...length())
  names <- setdiff(names, unless)
  if (!length(names)) return(invisible())
  problems <- vapply(names, function(name) {
    if (!nzchar(name)) return(sprintf("%s: has an argument too many; its arguments are %s", what,
                                      paste(known, collapse = ", ")))
    if (name %in% names(hints)) return(sprintf("%s: %s", name, hints[[name]]))
    near <- near_name(name, known)
    sprintf("%s: %s has no such argument%s", name, what, if (!is.null(near)) {
      sprintf("; did you mean '%s'?", near)
    } else if (length(known)) {
      sprintf("; it has %s", paste(known, collapse = ", "))
    } else {
      ""
    })
  }, "", USE.NAMES = FALSE)
  fail(unique(problems))
}

# Names of synthpop.
old_names <- c(
  vars = "write variables = c(\"age\", \"sex\")",
  population.inference =
    "take it out; fit_synthetic() always infers about the population, by the rule of the synthesis"
)

# Refuse names in `...` that are misspelt arguments.
misspelt_arguments <- function(names, known) {
  known <- known[nchar(known) > 3]
  problems <- vapply(setdiff(names, c(known, "")), function(name) {
    near <- near_name(name, known)
    if (is.null(near) || utils::adist(name, near) > 2 || substr(name, 1, 1) != substr(near, 1, 1)) {
      return("")
    }
    sprintf("%s: unknown argument; did you mean '%s'?", name, near)
  }, "", USE.NAMES = FALSE)
  if (any(nzchar(problems))) fail(problems[nzchar(problems)])
}

# Check arguments that many functions have.
check_arguments <- function(m = 1, seed = NULL, directory = NULL, overwrite = FALSE, quiet = FALSE,
                            format = NULL, file = NULL) {
  faults <- c(
    if (!is_whole(m, 1)) "m: must be a whole number from 1, such as m = 5",
    if (!is.null(seed) && !is_whole(seed, 0)) "seed: must be a whole number from 0, such as seed = 1",
    if (!is.null(directory) && !is_text(directory)) "directory: must be one path",
    if (!is.null(file) && !is_text(file)) "file: must be one path",
    if (!is.null(format) && !is_text(format)) "format: must be one text, such as \"csv\"",
    if (!isTRUE(overwrite) && !isFALSE(overwrite)) "overwrite: must be TRUE or FALSE",
    if (!isTRUE(quiet) && !isFALSE(quiet)) "quiet: must be TRUE or FALSE"
  )
  if (length(faults)) fail(faults)
}

is_whole <- function(x, least) {
  is.numeric(x) && length(x) == 1 && is.finite(x) && x == trunc(x) && x >= least
}

is_text <- function(x) is.character(x) && length(x) == 1 && !is.na(x) && nzchar(x)

condition <- function(class, problems, status = NA_integer_) {
  text <- if (length(problems) > 1) {
    paste0(length(problems), " problems:\n", paste0("- ", problems, collapse = "\n"))
  } else {
    problems
  }
  structure(class = c(class, "condition"),
            list(message = text, call = NULL, problems = problems, status = status))
}

warn_of_limits <- function(problems) {
  if (length(problems)) warning(condition(c("synthesizer_limit", "warning"), problems, 3L))
}

# A new directory that only its owner can look into.
private_directory <- function() {
  folder <- tempfile("synthesizer-")
  if (!dir.create(folder, mode = "0700")) {
    fail(sprintf("%s: cannot be made; is there room below tempdir()?", folder))
  }
  folder
}

# Write lines of UTF-8 that only their owner can read.
write_private <- function(lines, path) {
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  connection <- file(path, open = "wb")
  on.exit(close(connection), add = TRUE)
  writeLines(enc2utf8(lines), connection, useBytes = TRUE)
  path
}
