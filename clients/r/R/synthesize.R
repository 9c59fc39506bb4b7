#' Make synthetic datasets
#'
#' Fits a chain of models to confidential data with the command `synthesizer`, draws datasets, and
#' checks their risk and utility.
#'
#' Columns of a data frame keep their classes: factors, ordered factors, logicals, dates, times, and
#' labelled columns of haven with their labels and missing codes. The result has the levels that the
#' codebook lists, and new numbers as identifiers. The command infers whether other columns are
#' amounts, categories or identifiers; `variables` overrides this. Columns without any value stay
#' empty. Times are synthesised as local times of their zone.
#'
#' @param data A data frame; or the path of a file (CSV, Parquet, SPSS, Stata, SAS, Excel); or a
#'   list with keys of `data` of the configuration, such as `list(sample = "fair")`.
#' @param m Number of datasets.
#' @param seed Seed of the draws: a whole number from 0; random by default.
#' @param visit.sequence Names or positions of columns: the order in which they are synthesised.
#' @param method One model for all columns, a vector with one for each column (`""` keeps a
#'   column), or a named vector or list of models of some columns.
#' @param ... Any other key of the configuration, with `.` or `_` in its name: `rows`, `keep`,
#'   `strata`, `rules`, `forbid`, `models`, `cart.min_leaf`, `checks`, `limits`, and the names of
#'   synthpop such as `k` and `cont.na`; `conditions = list(given = , where = , margins = )`, with
#'   data frames or paths, whose NA are drawn. Maps of the YAML are named lists. Paths are absolute.
#' @param predictor.matrix A 0/1 matrix whose rows are targets, or a named list of predictors.
#' @param variables Named list of kinds and missing codes of columns, such as
#'   `list(age = list(kind = "numeric", missing = -8))`.
#' @param random_key Key that is needed to repeat the draws; random by default. An earlier
#'   result, or its directory, repeats its draws. `"none"` makes the draws repeatable from the seed
#'   alone; use it for public data only.
#' @param directory Directory for the result. By default R removes the files with the R object.
#' @param overwrite Whether to replace an earlier result in `directory`.
#' @param format Format of the files; by default that of the source.
#' @param quiet Whether to print no messages.
#' @return An object of class `synthesis`: `datasets` (a list of m data frames), `m`, `seed`, `n`
#'   (records of the original), `rule` (of combining estimates), `verdict`, `figures`, `notes`,
#'   `variables`, `configuration` and `version`. It contains no confidential record. `figures`,
#'   `verdict` and the directory of the result are confidential.
#' @seealso [verdict()], [risk()], [utility()], [compare()], [report()], [fit_synthetic()]
#' @examples
#' \dontrun{
#' people <- data.frame(age = c(31, 45, 62), sex = factor(c("f", "m", "f")))
#' s <- synthesize(people[rep(1:3, 50), ], m = 2, seed = 1)
#' s
#' head(as.data.frame(s))
#' }
#' @export
synthesize <- function(data, m = 1, seed = NULL, visit.sequence = NULL, method = NULL, ...,
                       predictor.matrix = NULL, variables = NULL, random_key = NULL,
                       directory = NULL, overwrite = FALSE, format = NULL, quiet = FALSE) {
  name <- name_of(substitute(data))
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  run <- written_run(data, name, folder, m = m, seed = seed, visit.sequence = visit.sequence,
                     method = method, ..., predictor.matrix = predictor.matrix,
                     variables = variables, random_key = random_key, format = format,
                     where = list(directory, overwrite, quiet))
  run_file(run$file, directory, overwrite, quiet, run$forms)
}

# Write the YAML of a run and the file of its data frame to a private directory. One error lists all
# wrong arguments; `where` are those of the result.
written_run <- function(data, name, folder, m = 1, seed = NULL, visit.sequence = NULL,
                        method = NULL, ..., predictor.matrix = NULL, variables = NULL,
                        random_key = NULL, format = NULL, where = list(NULL, FALSE, FALSE)) {
  source <- NULL
  known <- together(
    check_arguments(m, seed, where[[1]], where[[2]], where[[3]], format),
    further = further_keys(data, names(formals(synthesize)), ...),
    random_key = key_of(random_key),
    check_reader(ending_of(format %||% if (is.character(data)) data[1] else "")),
    source <- source_of(data, folder, name),
    given = if (!is.null(source)) by_name(method, visit.sequence, predictor.matrix, source$forms),
    variables = if (!is.null(source)) variables_of(source$forms, variables)
  )
  synthesizer_version()
  content <- c(
    list(version = 2, data = source$data),
    list(output = dropped_nulls(list(directory = "result", format = format))),
    dropped_nulls(list(m = m, seed = seed, random_key = known$random_key)),
    dropped_nulls(known$given),
    known$further
  )
  content$conditions <- written_conditions(known$further$conditions, folder)
  content$variables <- known$variables
  if (!length(content$variables)) content$variables <- NULL
  list(file = write_private(yaml_text(content), file.path(folder, "run.yaml")),
       forms = source$forms)
}

# Conditions with data frames as files: NA is a cell to draw. Paths are absolute.
written_conditions <- function(conditions, folder) {
  file_of <- function(table, name) {
    if (!is.data.frame(table)) return(absolute_path(table))
    path <- file.path(folder, paste0(name, ".csv"))
    write_private(character(), path)
    utils::write.csv(table, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
    path
  }
  margins <- conditions$margins
  if (is.data.frame(margins)) margins <- list(margins)
  if (length(margins)) {
    names <- paste0("margins_", seq_along(margins))
    conditions$margins <- unname(Map(file_of, margins, names))
  }
  if (!is.null(conditions$given)) conditions$given <- file_of(conditions$given, "given")
  conditions
}

#' Fill missing cells several times
#'
#' Missing cells are drawn m times given the observed ones, which never change. Combine estimates of
#' the completed data by `combine_estimates(rule = "imputed")`. They are as confidential as the data.
#'
#' @inheritParams synthesize
#' @param m Number of completed datasets.
#' @param cells Missing codes to fill: a vector for all columns, or a named list by column; `""` is a
#'   blank cell. By default all, except where other answers determine the blank.
#' @return A list of m data frames; its attribute `filled` has the number of filled cells by column.
#' @examples
#' \dontrun{
#' made <- complete_data(people, m = 5, seed = 1)
#' fits <- lapply(made, function(d) lm(income ~ age, d))
#' combine_estimates(t(sapply(fits, coef)), t(sapply(fits, function(f) diag(vcov(f)))), "imputed",
#'                   df = df.residual(fits[[1]]))
#' }
#' @export
complete_data <- function(data, m = 5, cells = NULL, seed = NULL, ..., variables = NULL,
                          quiet = FALSE) {
  name <- name_of(substitute(data))
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  check_arguments(m = m, quiet = quiet)
  run <- written_run(data, name, folder, seed = seed, ..., variables = variables,
                     where = list(NULL, FALSE, quiet))
  made <- file.path(folder, "completed")
  cells <- if (!is.null(cells)) c("--cells", yaml_flow(if (is.list(cells)) cells else I(cells)))
  if (!quiet) message("synthesizer: fits and draws; large files take minutes")
  call_synthesizer(c("complete", run$file, "-m", m, "--out", made, "--quiet", cells))
  manifest <- read_json(file.path(made, "manifest.json"))
  paths <- file.path(made, vapply(manifest$files, function(file) file$name, ""))
  structure(lapply(paths, read_dataset, run$forms, list()), filled = unlist(manifest$filled))
}

#' Run a configuration
#'
#' @param file YAML of a run, as the command `synthesizer init` writes it.
#' @inheritParams synthesize
#' @return An object of class `synthesis`, as [synthesize()] returns it.
#' @examples
#' \dontrun{
#' s <- run_config("persons.yaml")
#' }
#' @export
run_config <- function(file, directory = NULL, overwrite = FALSE, quiet = FALSE) {
  if (!is_text(file)) fail("file must be the path of a YAML file")
  check_arguments(directory = directory, overwrite = overwrite, quiet = quiet)
  synthesizer_version()
  run_file(file, directory, overwrite, quiet, NULL)
}

run_file <- function(file, directory, overwrite, quiet, forms) {
  held <- is.null(directory)
  folder <- if (held) private_directory() else path.expand(directory)
  done <- FALSE
  if (held) on.exit(if (!done) unlink(folder, recursive = TRUE))
  result <- if (held) file.path(folder, "result") else folder
  if (!quiet) message("synthesizer: fits, draws and checks; large files take minutes")
  called <- call_synthesizer(c("run", file, "--out", result, if (overwrite) "--overwrite"))
  keep_forms(result, forms)
  made <- read_result(result, forms, exceeded = called$problems)
  if (held) made$files <- removed_at_last(folder)
  done <- TRUE
  warn_of_limits(called$problems)
  made
}

# An environment whose end removes a directory.
removed_at_last <- function(folder) {
  files <- new.env(parent = emptyenv())
  files$folder <- folder
  reg.finalizer(files, function(files) unlink(files$folder, recursive = TRUE), onexit = TRUE)
  files
}

# Return the caller's name of the data frame, for file names and the report.
name_of <- function(expression) {
  name <- if (is.symbol(expression)) as.character(expression) else "data"
  if (grepl("^[A-Za-z][A-Za-z0-9._]*$", name)) name else "data"
}

# Keys of the configuration in `...`; `arguments` are those that a misspelt one may mean.
further_keys <- function(data, arguments, ...) {
  further <- list(...)
  if (length(further) && (is.null(names(further)) || any(!nzchar(names(further))))) {
    fail("arguments beyond method need names, such as keep = \"sex\"")
  }
  taken <- intersect(names(further), c("data", "output", "version"))
  if (length(taken)) {
    fail(sprintf("%s: is no argument; use data, directory and format", taken))
  }
  together(misspelt_arguments(names(further), arguments), name_columns(further, data))
  further
}

# Refuse columns in place of their names: an error would show their values.
name_columns <- function(arguments, data) {
  if (!is.data.frame(data)) return(invisible())
  faults <- vapply(names(arguments), function(name) {
    x <- arguments[[name]]
    if (is.data.frame(x) && ncol(x) == 1) x <- x[[1]]
    if (is.list(x) && is.null(names(x)) && all(lengths(x) == 1)) x <- unlist(x)
    holds <- is.atomic(x) && length(x) == nrow(data) && length(x) > 1 &&
      !all(as.character(x) %in% names(data))
    if (!holds) return("")
    same <- vapply(data, function(column) {
      is.atomic(column) && identical(as.character(column), as.character(x))
    }, NA)
    sprintf("%s: must be names of columns, not their values; write %s = \"%s\"", name, name,
            if (any(same)) names(data)[same][1] else "NAME")
  }, "")
  if (any(nzchar(faults))) fail(unname(faults[nzchar(faults)]))
}

keys_of_data <- c("catalogue", "delimiter", "encoding", "fit_rows", "max_unpacked_mb", "path",
                  "persons", "sample", "sheet", "sql")

source_of <- function(data, folder, name) {
  if (is.data.frame(data)) {
    forms <- forms_of(data)
    if (!length(written_columns(forms))) fail("data has no column with a value")
    file <- paste0(name, ".csv")
    write_frame(data, forms, file.path(folder, file))
    return(list(data = list(path = file), forms = forms))
  }
  if (is.list(data) && is_map(data) && any(names(data) %in% keys_of_data)) {
    return(list(data = data))
  }
  if (is.list(data) || is.matrix(data)) {
    fail(sprintf("data must be a data frame, not a %s; write as.data.frame(data)",
                 if (is.matrix(data)) "matrix" else "list"))
  }
  if (!is_text(data)) {
    fail("data must be a data frame, the path of a file, or a list such as list(sample = \"fair\")")
  }
  list(data = list(path = file_path(data)))
}

file_path <- function(path) {
  path <- absolute_path(path)
  if (dir.exists(path)) fail(sprintf("%s: is a directory; name a file in it", path))
  path
}

# Return the absolute path: the YAML is in another directory.
absolute_path <- function(path) {
  path <- path.expand(path)
  if (grepl("^(/|\\\\|[A-Za-z]:)", path)) path else file.path(getwd(), path)
}

dropped_nulls <- function(values) values[!vapply(values, is.null, NA)]

#' Read the result of a run
#'
#' @param directory Directory that the command `synthesizer run` or [synthesize()] wrote.
#' @return An object of class `synthesis`, as [synthesize()] returns it. Columns of CSV files are
#'   have the classes of the data frame that [synthesize()] got, from `columns.rds` in its
#'   `directory`. For other results they have the kinds of the codebook: factors, ordered factors,
#'   logicals, numbers, dates.
#' @examples
#' \dontrun{
#' s <- read_synthetic("persons_synthetic")
#' }
#' @export
read_synthetic <- function(directory) {
  if (!is_text(directory)) fail("directory must be one path")
  directory <- path.expand(directory)
  read_result(directory, kept_forms(directory))
}

# A file in the directory of a result has the classes and attributes of its columns, and levels that
# the codebook lists. It contains no value of a record.
forms_file <- "columns.rds"

kept_attributes <- c("class", "tzone", "units", "label", "labels", "na_values", "na_range",
                     "format.spss", "format.stata", "format.sas", "display_width")

keep_forms <- function(directory, forms) {
  if (is.null(forms) || !file.exists(file.path(directory, "manifest.json"))) return(invisible())
  variables <- read_json(file.path(directory, "codebook.json"))$variables %||% list()
  variables <- stats::setNames(variables, vapply(variables, function(v) v$name, ""))
  forms <- lapply(stats::setNames(nm = names(forms)), function(name) {
    form <- forms[[name]]
    form$attributes <- form$attributes[intersect(names(form$attributes), kept_attributes)]
    form$entry <- NULL
    if (form$type == "factor") {
      listed <- if (!identical(variables[[name]]$kind, "id")) levels_of(variables[[name]])
      public <- form$texts %in% c(listed, form$empty)
      form[c("levels", "texts")] <- list(form$levels[public], form$texts[public])
    }
    form
  })
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  saveRDS(list(run = run_id(directory), forms = forms), file.path(directory, forms_file))
}

# None where another run has replaced the result since.
kept_forms <- function(directory) {
  path <- file.path(directory, forms_file)
  kept <- if (file.exists(path)) tryCatch(readRDS(path), error = function(error) NULL)
  if (is.list(kept) && identical(kept$run, run_id(directory))) kept$forms
}

run_id <- function(directory) unname(tools::md5sum(file.path(directory, "manifest.json")))

read_result <- function(directory, forms, exceeded = NULL) {
  manifest <- read_json(file.path(directory, "manifest.json"))
  if (is.null(manifest$files)) {
    fail(sprintf("%s: is no result of a run; it has no manifest.json", directory))
  }
  codebook <- read_json(file.path(directory, "codebook.json"))
  checks <- read_json(file.path(directory, "checks.json"))
  names <- vapply(manifest$files, function(file) file$name, "")
  names <- grep("^synthetic_[0-9]+\\.", names, value = TRUE)
  variables <- codebook$variables %||% list()
  if (!length(names)) {
    fail(sprintf("%s: its datasets are in parts; read them with arrow::open_dataset()", directory))
  }
  datasets <- lapply(file.path(directory, names), read_dataset, forms, variables)
  structure(class = "synthesis", list(
    datasets = datasets,
    m = length(datasets),
    seed = manifest$seed,
    n = manifest$data$rows,
    rule = rule_of(manifest, codebook),
    verdict = verdict_of(checks),
    figures = figures_of(checks),
    exceeded = exceeded %||% as.character(unlist(manifest$exceeded_limits)),
    notes = unique(c(in_words_of_r(as.character(unlist(manifest$notes))), notes_of(checks))),
    failed = failed_of(checks),
    variables = variables_frame(variables),
    missing_codes = missing_codes(variables),
    configuration = manifest$config,
    version = manifest$packages$synthesizer,
    directory = directory,
    forms = forms
  ))
}

rule_of <- function(manifest, codebook) {
  kept <- vapply(manifest$chain, function(step) isTRUE(step$kept), NA)
  if (any(kept) || length(codebook$synthesis$kept)) return("partially")
  weights <- manifest$config$weights
  if (is.list(weights) && identical(weights$draw, "design")) return("redrawn")
  if (isTRUE(manifest$config$proper)) "proper" else "simple"
}

variables_frame <- function(variables) {
  text <- function(key) vapply(variables, function(v) as.character(v[[key]] %||% ""), "")
  data.frame(name = text("name"), kind = text("kind"), label = text("label"),
             made = vapply(variables, function(v) v$made$words %||% "", ""))
}

# Missing codes by column, also the empty one.
missing_codes <- function(variables) {
  codes <- lapply(variables, function(v) {
    vapply(v$missing, function(code) code$code, "")
  })
  names(codes) <- vapply(variables, function(v) v$name, "")
  codes[lengths(codes) > 0]
}

result_directory <- function(x) {
  if (!dir.exists(x$directory)) {
    fail("the files of this result are gone; synthesise again with directory = \"...\"")
  }
  x$directory
}

#' Print, summarise and plot a synthesis
#'
#' `print()` shows the verdict, `summary()` the figures of all tests, `plot()` the distributions of
#' the synthetic datasets. `as.data.frame()` returns one dataset.
#'
#' @param x,object A result of [synthesize()], [run_config()] or [read_synthetic()].
#' @param variables Names of columns; by default those that fit on the page.
#' @param dataset Which of the m datasets.
#' @param missing `"code"` returns missing codes such as -8 as values, `"NA"` as `NA`.
#' @param row.names,optional Not used.
#' @param ... Not used; an unknown argument is an error.
#' @return `as.data.frame()` returns a dataset, `summary()` an object with the data frames `figures`
#'   and `variables`; the others return `x`, invisibly.
#' @name synthesis
#' @examples
#' \dontrun{
#' s <- read_synthetic("persons_synthetic")
#' summary(s)
#' plot(s)
#' lapply(s$datasets, nrow)
#' }
NULL

#' @rdname synthesis
#' @export
print.synthesis <- function(x, ...) {
  rows <- vapply(x$datasets, nrow, 0L)
  cat(sprintf("%s: %s records, %d variables\n", counted(x$m, "synthetic dataset"),
              paste(format(unique(rows), big.mark = ",", trim = TRUE), collapse = " or "),
              ncol(x$datasets[[1]])))
  print(x$verdict)
  for (problem in x$exceeded) print_lines("limit exceeded: ", problem)
  remarks <- c(if (length(x$notes)) counted(length(x$notes), "note"),
               if (length(x$failed)) counted(length(x$failed), "failed check"))
  if (length(remarks)) print_lines(paste(remarks, collapse = " and "), ": summary() shows more.")
  invisible(x)
}

#' @rdname synthesis
#' @export
summary.synthesis <- function(object, ...) {
  no_further("summary", character(), ...)
  structure(class = "summary.synthesis", list(
    verdict = object$verdict, figures = object$figures, variables = object$variables,
    notes = object$notes, failed = object$failed, exceeded = object$exceeded
  ))
}

#' @export
print.summary.synthesis <- function(x, ...) {
  print(x$verdict)
  cat("\nVariables\n")
  for (i in seq_len(nrow(x$variables))) {
    print_lines(sprintf("%s (%s): %s", x$variables$name[i], x$variables$kind[i], x$variables$made[i]))
  }
  print_figures(x$figures)
  print_remarks(x)
  invisible(x)
}

#' @rdname synthesis
#' @export
as.data.frame.synthesis <- function(x, row.names = NULL, optional = FALSE, ..., dataset = 1,
                                    missing = c("code", "NA")) {
  no_further("as.data.frame", c("dataset", "missing"), ..., unless = "stringsAsFactors")
  missing <- missing_as(missing)
  if (!is.numeric(dataset) || length(dataset) != 1 || !dataset %in% seq_len(x$m)) {
    fail(sprintf("dataset must be a number from 1 to %d", x$m))
  }
  frame <- x$datasets[[dataset]]
  if (missing == "NA") codes_to_na(frame, x$missing_codes) else frame
}

missing_as <- function(missing) {
  if (identical(missing, c("code", "NA"))) return("code")
  if (!is_text(missing) || !missing %in% c("code", "NA")) {
    fail("missing: must be \"code\" or \"NA\"")
  }
  missing
}

codes_to_na <- function(frame, codes) {
  for (name in intersect(names(codes), names(frame))) {
    column <- frame[[name]]
    texts <- if (is.numeric(column)) number_texts(column) else as.character(column)
    column[texts %in% codes[[name]]] <- NA
    frame[[name]] <- column
  }
  frame
}

#' @rdname synthesis
#' @export
plot.synthesis <- function(x, variables = NULL, ...) {
  no_further("plot", "variables", ..., hints = old_names)
  plot(distributions_of(NULL, x$datasets, variables, x$missing_codes))
  invisible(x)
}

counted <- function(n, word) {
  sprintf("%s %s%s", format(n, big.mark = ","), word, if (n == 1) "" else "s")
}

print_lines <- function(...) cat(strwrap(paste0(...), width = 80, exdent = 2), sep = "\n")
