#' Risk and utility of synthetic data
#'
#' Compute every measure of risk or utility, also for synthetic data of another program. The results
#' are confidential: they are computed from the original.
#'
#' @param object A result of [synthesize()], a data frame, a list of data frames, or paths of files.
#' @param data The original: a data frame, or the path of a file.
#' @param keys Columns that an intruder knows; chosen from the original by default.
#' @param target Column that an intruder wants to know; chosen from the original by default.
#' @param control Holdout records: of the same population, and not used for the synthesis. A data
#'   frame, or the path of a file.
#' @param variables For `risk()` the kinds of columns, as in [synthesize()]. For `utility()` the
#'   names of the columns to compare; all by default.
#' @param fits Models to fit to original and synthetic data: formulas, texts, or lists with
#'   `formula` and `family`, `weights`, `clusters`, `offset` or `by`, such as
#'   `list(list(formula = "pay ~ age", weights = "w"))`.
#' @param ... Further keys under `checks` of the configuration, such as
#'   `suda = list(max_size = 4)` or `groups = list(age = 10)`.
#' @param limits Named list of limits, such as `list(cap = 0.3)`. A figure above its limit gives a
#'   warning of class `synthesizer_limit`.
#' @param seed Seed of everything that is random: a whole number from 0.
#' @return An object of class `synthesizer_checks` with `figures` (a data frame), `verdict`,
#'   `exceeded` (limits), `notes`, `failed` (what could not be computed, and why), and `results`
#'   (every number of the command). A fit without a result gives a warning of class
#'   `synthesizer_failed`.
#' @examples
#' \dontrun{
#' r <- risk(s, people, keys = c("age", "sex"), target = "income")
#' r$figures
#' utility(s, people, fits = "income ~ age + sex")
#' }
#' @export
risk <- function(object, data, keys = NULL, target = NULL, control = NULL, ..., variables = NULL,
                 limits = NULL, seed = 0) {
  checks <- checks_keys("risk", data, names(formals(risk)), ..., keys = keys, target = target)
  run_checks("risk", object, data, checks, variables = variables, control = control,
             limits = limits, seed = seed)
}

#' @rdname risk
#' @export
utility <- function(object, data, variables = NULL, fits = NULL, ..., limits = NULL, seed = 0) {
  checks <- checks_keys("utility", data, names(formals(utility)), ...)
  checks$fits <- fits_of(fits, if (inherits(object, "synthesis")) object$rule)
  if (!is.data.frame(data) && length(variables)) {
    fail("variables: needs a data frame; of files all columns are compared")
  }
  if (length(variables)) {
    unknown <- setdiff(variables, names(data))
    if (length(unknown)) fail(paste("variables:", unknown_names(unknown, names(data), "no column")))
  }
  run_checks("utility", object, data, checks, limits = limits, seed = seed, names = variables)
}

# Models as the configuration lists them.
fits_of <- function(fits, rule) {
  if (inherits(fits, "formula") || is_map(fits) && !is.null(fits$formula)) fits <- list(fits)
  lapply(as.list(fits), function(fit) {
    if (!is.list(fit)) fit <- list(formula = fit)
    if (inherits(fit$formula, "formula")) fit$formula <- formula_text(fit$formula)
    if (!is_text(fit$formula)) fail("fits: must be formulas, such as income ~ age + sex")
    if (is.null(fit$rule)) fit$rule <- rule
    fit
  })
}

# Return keys under `checks`; each is an argument in R.
checks_keys <- function(what, data, arguments, ..., keys = NULL, target = NULL) {
  further <- list(...)
  if (length(further) && (is.null(names(further)) || any(!nzchar(names(further))))) {
    fail(sprintf("%s: arguments beyond data need names, such as keys = c(\"age\", \"sex\")", what))
  }
  checks <- c(dropped_nulls(list(keys = as_listed(keys), target = target)), further)
  together(misspelt_arguments(names(further), arguments), name_columns(checks, data))
  checks
}

run_checks <- function(only, object, data, checks, variables = NULL, names = NULL,
                       control = NULL, limits = NULL, seed = 0) {
  check_arguments(seed = seed)
  synthesizer_version()
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  files <- check_inputs(object, data, control, folder, names)
  config <- config_of_checks(files, checks, limits, variables, folder)
  out <- file.path(folder, "checks.json")
  seeded <- paste0("seed=", yaml_scalar(seed))
  called <- call_check(files, config, out, "--only", only, "--set", seeded)
  content <- read_json(out)
  if (is.null(content)) fail(called$problems, called$status)
  exceeded <- if (called$status == 3L) called$problems
  checks <- checks_of(content, only, exceeded)
  if (called$status == 1L) warn_of_failures(checks$failed)
  warn_of_limits(exceeded)
  checks
}

# Status 1 means that a model has no result; all other results are there.
call_check <- function(files, config, out, ...) {
  arguments <- c("check", files$original, files$synthetic, "--config", config, "--out", out, ...,
                 if (!is.null(files$control)) c("--control", files$control))
  as_arguments(call_synthesizer(arguments, accepted = 1L))
}

# Name keys of `checks` as arguments in errors.
as_arguments <- function(expression) {
  tryCatch(expression, synthesizer_error = function(error) {
    fail(sub("^checks\\.([a-z_]+)", "\\1", error$problems), error$status)
  })
}

warn_of_failures <- function(failed) {
  lost <- failed[startsWith(names(failed), "fit ")]
  if (length(lost)) {
    warning(condition(c("synthesizer_failed", "warning"), unname(paste0(names(lost), ": ", lost)), 1L))
  }
}

checks_of <- function(content, command, exceeded) {
  structure(class = "synthesizer_checks", list(
    command = command,
    verdict = verdict_of(content),
    figures = figures_of(content),
    exceeded = exceeded,
    notes = notes_of(content),
    failed = failed_of(content),
    results = content$results
  ))
}

notes_of <- function(checks) {
  parts <- lapply(checks$results[c("risk", "utility", "panel")], function(part) part$notes)
  in_words_of_r(unique(as.character(c(unlist(checks$notes), unlist(parts)))))
}

failed_of <- function(checks) {
  failed <- unlist(checks$results$failed)
  if (length(failed)) failed else stats::setNames(character(), character())
}

print_remarks <- function(x) {
  for (problem in x$exceeded) print_lines("limit exceeded: ", problem)
  for (name in names(x$failed)) print_lines("not computed: ", name, ": ", x$failed[[name]])
  for (note in x$notes) print_lines("note: ", note)
}

config_of_checks <- function(files, checks, limits, variables, folder) {
  content <- list(version = 2, data = list(path = files$original))
  content$variables <- variables_of(files$forms, variables)
  content$checks <- checks
  content$limits <- limits
  content <- content[lengths(content) > 0]
  write_private(as_arguments(yaml_text(content)), file.path(folder, "checks.yaml"))
}

# Files of the original, of every synthetic dataset and of the control, in a private directory.
check_inputs <- function(object, data, control, folder, names = NULL) {
  frames <- synthetic_frames(object)
  data_names <- if (is.data.frame(data)) names(data)
  keep <- function(frame) if (length(names)) frame[intersect(names, names(frame))] else frame
  if (is.data.frame(data)) {
    for (frame in Filter(is.data.frame, frames)) {
      shared_columns(names(keep(frame)), names(keep(data)))
    }
    data <- keep(data)
    forms <- forms_of(data)
    original <- write_frame(data, forms, file.path(folder, "original.csv"))
  } else {
    forms <- NULL
    original <- path_of(data, "data")
  }
  put <- function(frame, name) {
    if (is.character(frame)) return(path_of(frame, name))
    frame <- keep(frame)
    write_frame(frame, forms %||% forms_of(frame), file.path(folder, paste0(name, ".csv")))
  }
  if (is.character(data) && inherits(object, "synthesis") && is.null(object$forms)) {
    frames <- dataset_files(object)  # of one format with the original
  }
  list(
    original = original,
    synthetic = vapply(seq_along(frames), function(i) put(frames[[i]], paste0("synthetic_", i)), ""),
    control = if (!is.null(control)) put(control_of(control, data_names), "control"),
    forms = forms
  )
}

control_of <- function(control, names) {
  if (is.data.frame(control) && length(names) && !length(intersect(names(control), names))) {
    fail(sprintf("control: has no column in common with the original: it has %s, the original has %s",
                 few_names(names(control)), few_names(names)))
  }
  control
}

synthetic_frames <- function(object) {
  if (inherits(object, "synthesis")) return(object$datasets)
  if (is.data.frame(object)) return(list(object))
  if (is.character(object)) object <- as.list(object)
  is_input <- function(x) is.data.frame(x) || is.character(x) && length(x) == 1
  if (!is.list(object) || !length(object) || !all(vapply(object, is_input, NA))) {
    fail("object must be a synthesis, data frames, or paths of files")
  }
  object
}

path_of <- function(path, what) {
  if (!is.character(path) || length(path) != 1 || is.na(path)) {
    fail(sprintf("%s must be a data frame or the path of a file", what))
  }
  file_path(path)
}

dataset_files <- function(x) {
  files <- list.files(result_directory(x), "^synthetic_[0-9]+\\.", full.names = TRUE)
  as.list(files)
}

#' @export
print.synthesizer_checks <- function(x, ...) {
  print(x$verdict)
  print_figures(x$figures)
  print_remarks(x)
  invisible(x)
}

#' @export
summary.synthesizer_checks <- function(object, ...) {
  no_further("summary", character(), ...)
  object$figures
}

#' Open the report
#'
#' Opens the report of a run, or writes one for other synthetic data if `data` is named. The report
#' is confidential.
#'
#' @inheritParams risk
#' @param data The original, for synthetic data that are no result of [synthesize()].
#' @param file HTML file to write. The default is a file below [tempdir()], which R removes at its
#'   end.
#' @param overwrite Whether to replace `file`.
#' @param browse Whether to open the report.
#' @return The path of the report, invisibly.
#' @examples
#' \dontrun{
#' report(s)
#' report(list(theirs_1, theirs_2), people, keys = c("age", "sex"), target = "income",
#'        file = "report.html")
#' }
#' @export
report <- function(object, data = NULL, keys = NULL, target = NULL, control = NULL, ...,
                   variables = NULL, limits = NULL, file = NULL, overwrite = FALSE,
                   browse = interactive()) {
  check_arguments(overwrite = overwrite, file = file)
  if (!isTRUE(browse) && !isFALSE(browse)) fail("browse: must be TRUE or FALSE")
  page <- if (is.null(data)) {
    further <- c(names(list(...)), names(dropped_nulls(list(
      keys = keys, target = target, control = control, variables = variables, limits = limits))))
    misspelt_arguments(further, names(formals(report)))
    if (length(further)) {
      fail(sprintf("%s: the report of a run shows what the run measured; %s", further,
                   "name the original as data to measure anew"))
    }
    report_of_run(object, file, overwrite)
  } else {
    checks <- checks_keys("report", data, names(formals(report)), ..., keys = keys, target = target)
    report_of_files(object, data, checks, variables, limits, control, file, overwrite)
  }
  if (browse) utils::browseURL(page)
  invisible(page)
}

report_of_run <- function(object, file, overwrite) {
  if (!inherits(object, "synthesis")) {
    fail("report: needs a result of synthesize(), or the original as data")
  }
  directory <- result_directory(object)
  page <- file.path(directory, "report.html")
  if (is.null(file) && file.exists(page)) return(page)
  page <- file %||% page
  call_synthesizer(c("report", directory, "--out", page, if (overwrite) "--overwrite"))
  page
}

report_of_files <- function(object, data, checks, variables, limits, control, file, overwrite) {
  synthesizer_version()
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  files <- check_inputs(object, data, control, folder)
  config <- config_of_checks(files, checks, limits, variables, folder)
  page <- file %||% file.path(private_directory(), "report.html")
  called <- call_check(files, config, page, if (overwrite) "--overwrite")
  if (called$status == 1L && !file.exists(page)) fail(called$problems, called$status)
  warn_of_limits(if (called$status == 3L) called$problems)
  page
}
