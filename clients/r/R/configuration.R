# The YAML of a run. Its blocks are indented; texts are in double quotes, as JSON writes them, so
# that no word is taken for a number or a truth value.

yaml_text <- function(content) paste(c(yaml_block(content, ""), ""), collapse = "\n")

yaml_block <- function(map, indent) {
  unlist(lapply(names(map), function(name) {
    value <- map[[name]]
    key <- paste0(indent, yaml_key(name), ":")
    if (is_map(value)) c(key, yaml_block(value, paste0(indent, "  "))) else
      paste(key, yaml_flow(value))
  }))
}

yaml_key <- function(name) {
  is_plain <- grepl("^[a-z][a-z_0-9]*$", name) && !name %in% c("true", "false", "null")
  if (is_plain) name else yaml_scalar(name)
}

is_map <- function(value) length(value) > 0 && !is.null(names(value)) && all(nzchar(names(value)))

yaml_flow <- function(value) {
  if (is.null(value)) return("null")
  if (inherits(value, "formula")) return(yaml_scalar(formula_text(value)))
  if (is.factor(value)) value <- as.character(value)
  if (is_map(value)) {
    pairs <- paste0(vapply(names(value), yaml_key, ""), ": ",
                    vapply(as.list(value), yaml_flow, ""))
    return(paste0("{", paste(pairs, collapse = ", "), "}"))
  }
  if (is.list(value) || length(value) != 1 || inherits(value, "AsIs")) {
    items <- vapply(as.list(unclass(value)), yaml_flow, "")
    return(paste0("[", paste(items, collapse = ", "), "]"))
  }
  yaml_scalar(value)
}

yaml_scalar <- function(value) {
  if (is.atomic(value) && is.na(value)) fail("NA has no place in a configuration; name a value")
  if (inherits(value, c("Date", "POSIXct"))) value <- format(value)
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) {
    if (is.infinite(value)) return(if (value > 0) ".inf" else "-.inf")
    return(if (abs(value) < 1e15 && value == trunc(value)) sprintf("%.0f", value) else
      number_texts(value))
  }
  if (!is.character(value)) {
    fail(sprintf("a %s has no place in a configuration; use texts, numbers and lists",
                 class(value)[1]))
  }
  as.character(jsonlite::toJSON(enc2utf8(value), auto_unbox = TRUE))
}

formula_text <- function(formula) paste(trimws(deparse(formula, width.cutoff = 500)), collapse = " ")

# `variables:` of the forms, under what the caller says of them.
variables_of <- function(forms, said = list()) {
  if (length(said) && !is_map(said)) {
    fail("variables must be a named list, such as list(age = list(kind = \"numeric\"))")
  }
  entries <- lapply(forms[written_columns(forms)], function(form) form$entry)
  for (name in names(said)) {
    entry <- entries[[name]] %||% list()
    words <- as.list(said[[name]])
    kind <- words$kind
    if (!is.null(kind) && !identical(kind, entry$kind)) entry[c("levels", "date_format")] <- NULL
    entry[names(words)] <- words
    entries[[name]] <- entry
  }
  listed <- c("levels", "missing", "predictors", "exclude")
  entries <- lapply(entries, function(entry) {
    for (key in intersect(listed, names(entry))) entry[[key]] <- as.list(entry[[key]])
    entry
  })
  entries[lengths(entries) > 0]
}

# Arguments that synthpop gives by position become names, without columns that have no value.
by_name <- function(method, visit, matrix, forms) {
  if (is.null(forms)) {  # a file, of which the command knows the columns
    return(list(method = method, visit_sequence = as_listed(visit), predictor_matrix = matrix))
  }
  columns <- names(forms)
  usable <- written_columns(forms)
  empty <- setdiff(columns, usable)
  visit <- named_visit(visit, columns)
  method <- named_method(method, columns)
  list(
    method = if (is.list(method)) method[setdiff(names(method), empty)] else method,
    visit_sequence = as_listed(setdiff(visit, empty)),
    predictor_matrix = predictors_of(matrix, visit %||% columns, columns, usable)
  )
}

as_listed <- function(x) if (length(x)) as.list(x)

named_visit <- function(visit, columns) {
  if (!is.numeric(visit)) return(visit)
  if (!all(visit %in% seq_along(columns))) {
    fail(sprintf("visit.sequence: positions must be from 1 to %d", length(columns)))
  }
  columns[visit]
}

named_method <- function(method, columns) {
  if (length(method) < 2 && is.null(names(method))) return(method)
  if (is.null(names(method))) {
    if (length(method) != length(columns)) {
      fail(sprintf("method: needs one name, or %d, one for each column", length(columns)))
    }
    names(method) <- columns
  }
  as.list(method)
}

# Rows of the matrix are targets; only what comes earlier can be a predictor.
predictors_of <- function(matrix, order, columns, usable) {
  if (!is.matrix(matrix)) return(matrix)
  if (is.null(rownames(matrix)) || is.null(colnames(matrix))) {
    if (!all(dim(matrix) == length(columns))) {
      fail(sprintf("predictor.matrix: needs names of rows and columns, or %d of both",
                   length(columns)))
    }
    dimnames(matrix) <- list(columns, columns)
  }
  targets <- intersect(rownames(matrix), usable)
  lapply(stats::setNames(nm = targets), function(target) {
    earlier <- order[seq_len(max(0, match(target, order, nomatch = 1) - 1))]
    as.list(intersect(colnames(matrix)[matrix[target, ] != 0], intersect(earlier, usable)))
  })
}

# The secret as the configuration says it: none, or the manifest of the run that is repeated.
secret_of <- function(secret) {
  if (is.null(secret) || identical(secret, "none")) return(secret)
  path <- if (inherits(secret, "synthesis")) result_directory(secret) else secret
  if (!is.character(path) || length(path) != 1 || is.na(path)) {
    fail("secret must be \"none\", an earlier result, or the directory of one")
  }
  if (dir.exists(path)) path <- file.path(path, "manifest.json")
  list(from = absolute_path(path))
}
