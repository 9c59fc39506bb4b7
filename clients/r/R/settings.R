#' Try settings, or lower the risk of a data frame
#'
#' `advise()` tries two or three other settings for the worst finding of the verdict on one half of
#' the data. It advises a setting that helps on both halves. `frontier()` runs every combination of
#' some settings and returns their risk and utility. `refine()` changes records of a synthetic data
#' frame of categories until its risk is at most `risk_at_most`. The results are confidential.
#'
#' @inheritParams synthesize
#' @param vary Named list of settings and their values, such as
#'   `list(cart.min_effective_rows = c(30, 100), proper = c(TRUE, FALSE))`.
#' @param ... For `advise()` and `frontier()` any argument of [synthesize()]. For `refine()` options
#'   such as `generations = 50`, `risk = "cap"`, `codes = "all"`, `random_key = "none"`.
#' @param risk,utility Keys of the figures to compare by, such as `"cap"` and `"mean_two_way"`.
#' @return `advise()` returns a data frame of class `synthetic_advice` with a row for each setting:
#'   the figure of the finding (`value`), its `limit` and `word`, near copies (`persons`) with their
#'   interval (`low`, `high`), and `use` (mean S_pMSE of pairs; lower is better). The setting that
#'   helps is `attr(x, "advised")`, or NULL.
#'
#'   `frontier()` returns a data frame of class `synthetic_frontier` with a row for each setting:
#'   its values, `risk`, `utility`, `best` (no other setting is better in both) and `directory`,
#'   which [read_synthetic()] reads. `plot()` draws it.
#'
#'   `refine()` returns an object of class `synthetic_refinement`: `data`, `before` and `after`
#'   (utility and risk), `limit`, `reached` and `notes`. A limit that was not reached gives a warning
#'   of class `synthesizer_limit`.
#' @examples
#' \dontrun{
#' advise(people, seed = 1)
#' f <- frontier(people, list(cart.min_effective_rows = c(30, 100)), seed = 1)
#' plot(f)
#' refine(s, people, keys = c("age", "sex"), target = "job", risk_at_most = 0.3)$data
#' }
#' @export
frontier <- function(data, vary, m = 1, ..., risk = NULL, utility = NULL, directory = NULL,
                     overwrite = FALSE, quiet = FALSE) {
  name <- name_of(substitute(data))
  further <- names(list(...))
  misspelt_arguments(further, c(names(formals(frontier)), names(formals(synthesize))))
  check_arguments(m, list(...)$seed, directory, overwrite, quiet)
  faults <- c(
    if (!is.null(risk) && !is_text(risk)) "risk: must be one text, such as \"cap\"",
    if (!is.null(utility) && !is_text(utility)) "utility: must be one text, such as \"mean_two_way\""
  )
  if (length(faults)) fail(faults)
  if (!is_map(vary)) fail("vary must be a named list, such as list(cart.min_effective_rows = c(30, 100))")
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  run <- written_run(data, name, folder, m = m, ...)
  kept <- if (is.null(directory)) private_directory() else path.expand(directory)
  out <- if (is.null(directory)) file.path(kept, "frontier") else kept
  files <- if (is.null(directory)) removed_at_last(kept)
  texts <- vapply(vary, function(values) paste(vapply(values, plain_text, ""), collapse = ","), "")
  if (!quiet) message("synthesizer: fits, draws and checks every setting")
  called <- call_synthesizer(c(
    "frontier", run$file, "--out", out, as.vector(rbind("--vary", paste0(names(vary), "=", texts))),
    if (!is.null(risk)) c("--risk", risk), if (!is.null(utility)) c("--utility", utility),
    if (overwrite) "--overwrite"
  ), accepted = 1L)
  content <- read_json(file.path(out, "frontier.json"))
  if (is.null(content)) fail(called$problems, called$status)
  for (name in names(content$failed)) {
    warning(sprintf("%s failed: %s", name,
                    paste(in_words_of_r(unlist(content$failed[[name]])), collapse = "; ")),
            call. = FALSE)
  }
  made <- frontier_of(content, out, files)
  for (run_folder in Filter(dir.exists, made$directory)) keep_forms(run_folder, run$forms)
  made
}

plain_text <- function(value) if (is.character(value)) value else yaml_scalar(value)

frontier_of <- function(content, directory, files) {
  axes <- c(content$risk %||% NA, content$utility %||% NA)
  rows <- lapply(content$runs, function(run) {
    value <- function(key) if (is.na(key)) NA_real_ else as.numeric(run$figures[[key]]$value %||% NA)
    data.frame(setting = run$name, risk = value(axes[1]), utility = value(axes[2]),
               best = run$name %in% unlist(content$frontier),
               directory = file.path(directory, run$name))
  })
  structure(do.call(rbind, rows), class = c("synthetic_frontier", "data.frame"), axes = axes,
            notes = as.character(unlist(content$notes)), files = files)
}

#' @export
print.synthetic_frontier <- function(x, ...) {
  axes <- attr(x, "axes")
  if (is.null(axes)) return(print(as.data.frame(unclass(x)), ...))  # a part of the data frame
  print_lines(sprintf("risk: %s; utility: %s; lower is better; * no other setting is better in both",
              axes[1], axes[2]))
  print_rows(cbind(setting = x$setting, risk = short_number(x$risk),
                   utility = short_number(x$utility), best = ifelse(x$best, "*", "")))
  for (note in attr(x, "notes")) print_lines("note: ", note)
  invisible(x)
}

#' @rdname frontier
#' @param x A result of `frontier()`.
#' @export
plot.synthetic_frontier <- function(x, ...) {
  axes <- attr(x, "axes")
  if (anyNA(axes)) fail("plot: the settings cannot be compared; the notes explain why")
  colour <- ifelse(x$best, "#1f6fb2", "#7a8794")
  graphics::plot(x$utility, x$risk, pch = 19, col = colour, xlab = axes[2], ylab = axes[1],
                 main = "Risk and utility, lower is better", ...)
  graphics::text(x$utility, x$risk, x$setting, pos = 3, cex = 0.7, col = colour, xpd = NA)
  invisible(x)
}

#' @rdname frontier
#' @export
advise <- function(data, ..., quiet = FALSE) {
  name <- name_of(substitute(data))
  misspelt_arguments(names(list(...)), c(names(formals(advise)), names(formals(synthesize))))
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  run <- written_run(data, name, folder, ...)
  path <- file.path(folder, "advice.json")
  if (!quiet) message("synthesizer: tries settings on a half of the data")
  called <- call_synthesizer(c("advise", run$file, "--json", path, "--quiet"))
  content <- read_json(path)
  if (is.null(content)) fail(called$problems, called$status)
  numbers <- c("value", "limit", "persons", "low", "high", "use")
  rows <- lapply(content$trials, function(trial) {
    data.frame(setting = trial$setting, word = trial$word,
               lapply(trial[numbers], function(number) as.numeric(number %||% NA)))
  })
  structure(as.data.frame(do.call(rbind, rows)), class = c("synthetic_advice", "data.frame"),
            finding = content$finding$sentence, advised = content$advised,
            sentence = content$sentence)
}

#' @export
print.synthetic_advice <- function(x, ...) {
  if (!is.null(attr(x, "finding"))) print_lines(attr(x, "finding"))
  if (nrow(x)) {
    print_lines("persons: near copies; use: S_pMSE of pairs; lower is better")
    print_rows(cbind(setting = x$setting, word = x$word, value = short_number(x$value),
                     persons = short_number(x$persons), use = short_number(x$use)))
  }
  print_lines(attr(x, "sentence"))
  invisible(x)
}

#' @rdname frontier
#' @inheritParams risk
#' @param risk_at_most Highest risk that is accepted. The default is the share that an intruder
#'   guesses right from the distribution of the target alone.
#' @param dataset Which of the m datasets.
#' @export
refine <- function(object, data, keys, target, ..., risk_at_most = NULL, dataset = 1,
                   variables = NULL, seed = 0) {
  options <- dropped_nulls(list(risk_at_most = risk_at_most, seed = seed, ...))
  if (any(!nzchar(names(options)))) fail("options of refine need names, such as generations = 50")
  together(
    no_further("refine", c(options_of_refine, names(formals(refine))), ...,
               unless = c(options_of_refine, gsub("_", ".", options_of_refine, fixed = TRUE))),
    check_arguments(seed = seed),
    name_columns(list(keys = keys, target = target), data)
  )
  if (inherits(object, "synthesis")) object <- as.data.frame(object, dataset = dataset)
  if (!is.data.frame(object)) fail("refine: needs a result of synthesize() or a data frame")
  synthesizer_version()
  folder <- private_directory()
  on.exit(unlink(folder, recursive = TRUE))
  files <- check_inputs(object, data, NULL, folder)
  paths <- file.path(folder, c("refined.csv", "refined.json"))
  called <- call_synthesizer(c(
    "refine", files$original, files$synthetic, "--keys", paste(keys, collapse = ","),
    "--target", target, "--config", config_of_checks(files, NULL, NULL, variables, folder),
    "--out", paths[1], "--json", paths[2],
    unlist(Map(option_of_refine, names(options), vapply(options, option_text, "")))
  ))
  content <- read_json(paths[2])
  warn_of_limits(called$problems)
  structure(class = "synthetic_refinement", list(
    data = restore_frame(read_texts(paths[1]), files$forms %||% forms_of(object), list()),
    before = unlist(content$before), after = unlist(content$after), limit = content$risk_at_most,
    reached = content$reached, notes = as.character(unlist(content$notes))
  ))
}

# Options of the command that are no arguments here.
options_of_refine <- c("risk", "utility", "codes", "population", "generations", "patience",
                       "mutation", "crossover", "aimed", "seconds", "random_key", "workers")

option_of_refine <- function(name, text) {
  name <- gsub(".", "_", name, fixed = TRUE)
  if (name %in% c("codes", "risk_at_most")) return(c(paste0("--", gsub("_", "-", name)), text))
  if (name == "random_key" && text != "none") name <- "random_key.from"
  c("--set", paste0(name, "=", text))
}

option_text <- function(values) paste(vapply(values, plain_text, ""), collapse = ",")

#' @export
print.synthetic_refinement <- function(x, ...) {
  words <- "risk %.4f before, %.4f after (limit %.4f, %s); distance to the original %.4f and %.4f"
  print_lines(sprintf(words,
              x$before[["risk"]], x$after[["risk"]], x$limit,
              if (x$reached) "reached" else "not reached", x$before[["utility"]],
              x$after[["utility"]]))
  for (note in x$notes) print_lines("note: ", note)
  invisible(x)
}
