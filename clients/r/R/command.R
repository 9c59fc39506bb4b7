# The command: where it is, which version, how it is called, what its errors become.

oldest_version <- "0.1.0"

known_versions <- new.env(parent = emptyenv())

#' The command that does the work
#'
#' @return `synthesizer_version()` returns the version of the command that is found; an error of
#'   class `synthesizer_error` says what to do where there is none, or one that is too old.
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
      fail(sprintf("%s does not tell its version; install synthesizer %s or newer, %s",
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

# Run the command; 3 says that a limit is exceeded, everything else but 0 is an error, unless it is
# accepted.
call_synthesizer <- function(arguments, accepted = integer()) {
  synthesizer_version()
  done <- call_program(command_path(), arguments)
  if (any(startsWith(done$err, "Traceback"))) {  # its last line may hold values of the data
    kind <- sub("[^A-Za-z0-9_.].*", "", utils::tail(done$err[nzchar(done$err)], 1))
    fail(sprintf("the command '%s' broke with %s: a fault of the program, please report it; %s",
                 arguments[1], kind, "its words are not shown, since they may hold values"),
         done$status)
  }
  problems <- problems_of(done$err)
  if (!done$status %in% c(0L, 3L, accepted)) {
    fail(if (length(problems)) problems else
      sprintf("the command '%s' ended with status %d", arguments[1], done$status), done$status)
  }
  list(status = done$status, out = done$out, problems = if (done$status != 0L) problems)
}

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
  list(status = as.integer(status), out = lines_of(files[1]), err = lines_of(files[2]))
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

# The problems that the command tells: "error: ..." or "2 errors:" and a list. Long ones go on in
# lines that are indented.
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

# Raise a condition of the package with every problem.
fail <- function(problems, status = NA_integer_) {
  stop(condition(c("synthesizer_error", "error"), problems, status))
}

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
