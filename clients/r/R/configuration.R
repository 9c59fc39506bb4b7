# The YAML of a run. Its blocks are indented; texts are in double quotes, as JSON writes them, so
# that no word is taken for a number or a truth value.

yaml_text <- function(content) paste(c(yaml_block(content, ""), ""), collapse = "\n")

yaml_block <- function(map, indent) {
  unlist(lapply(names(map), function(name) about(name, {
    value <- map[[name]]
    key <- paste0(indent, yaml_key(name), ":")
    if (is_map(value)) c(key, yaml_block(value, paste0(indent, "  "))) else
      paste(key, yaml_flow(value))
  })))
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
  if (is.atomic(value) && is.na(value)) fail("must not be NA; write a value")
  if (inherits(value, c("Date", "POSIXct"))) value <- format(value)
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) {
    if (is.infinite(value)) return(if (value > 0) ".inf" else "-.inf")
    return(if (abs(value) < 1e15 && value == trunc(value)) sprintf("%.0f", value) else
      number_texts(value))
  }
  if (!is.character(value)) {
    fail(sprintf("must not be a %s; write texts, numbers or lists",
                 class(value)[1]))
  }
  as.character(jsonlite::toJSON(enc2utf8(value), auto_unbox = TRUE))
}

formula_text <- function(formula) paste(trimws(deparse(formula, width.cutoff = 500)), collapse = " ")

# Return `variables:` of the forms; keys that the caller declared replace theirs.
variables_of <- function(forms, declared = list()) {
  if (length(declared) && !is_map(declared)) {
    fail("variables must be a named list, such as list(age = list(kind = \"numeric\"))")
  }
  no_map <- !vapply(declared, function(keys) is_map(keys) || is.list(keys) && !length(keys), NA)
  if (any(no_map)) {
    fail(sprintf("variables: '%s' needs a named list; write list(%s = list(kind = \"numeric\"))",
                 names(declared)[no_map], names(declared)[no_map]))
  }
  entries <- lapply(forms[written_columns(forms)], function(form) form$entry)
  for (name in names(declared)) {
    entry <- entries[[name]] %||% list()
    keys <- as.list(declared[[name]])
    kind <- keys$kind
    if (!is.null(kind) && !identical(kind, entry$kind)) entry[c("levels", "date_format")] <- NULL
    entry[names(keys)] <- keys
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
  columns <- names(forms)
  usable <- written_columns(forms)
  empty <- setdiff(columns, usable)
  ordered <- NULL
  known <- together(
    visit = ordered <- if (is.null(forms)) visit else named_visit(visit, columns),
    method = checked_method(if (is.null(forms)) method else named_method(method, columns)),
    matrix = predictors_of(matrix, ordered, columns, usable)
  )
  method <- known$method
  list(
    method = if (is.list(method)) method[setdiff(names(method), empty)] else method,
    visit_sequence = as_listed(setdiff(known$visit, empty)),
    predictor_matrix = known$matrix
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

# A formula of R that computes a column has I() and ^, which the command does without.
checked_method <- function(method) {
  texts <- vapply(as.list(method), function(model) {
    if (inherits(model, "formula")) formula_text(model) else
    if (is.character(model) && length(model) == 1 && !is.na(model)) model else ""
  }, "")
  wrapped <- grepl("^\\s*~\\s*I\\s*\\(", texts)
  if (any(wrapped)) {
    inner <- sub("^\\s*~\\s*I\\s*\\((.*)\\)\\s*$", "\\1", texts[wrapped])
    fail(sprintf("method: leave I() out; write %s\"~ %s\"",
                 if (is.null(names(texts))) "" else paste(names(texts)[wrapped], "= "),
                 gsub("^", "**", inner, fixed = TRUE)))
  }
  method
}

# Rows of the matrix are targets; only what comes earlier can be a predictor. Of a file (no columns
# are known here) the command looks at the names.
predictors_of <- function(matrix, visit, columns, usable) {
  if (!is.matrix(matrix) && !is.data.frame(matrix)) return(matrix)
  matrix <- checked_matrix(matrix, columns)
  of_file <- is.null(columns)
  order <- visit %||% columns %||% rownames(matrix)
  if (of_file) usable <- union(order, colnames(matrix))
  lapply(stats::setNames(nm = intersect(rownames(matrix), usable)), function(target) {
    earlier <- order[seq_len(max(0, match(target, order, nomatch = 1) - 1))]
    as.list(intersect(colnames(matrix)[matrix[target, ] != 0], intersect(earlier, usable)))
  })
}

# A matrix of numbers whose rows and columns have names, and names of columns of the data.
checked_matrix <- function(matrix, columns) {
  if (is.data.frame(matrix)) {
    numbered <- is.integer(attr(matrix, "row.names"))
    matrix <- as.matrix(matrix)
    if (numbered) rownames(matrix) <- if (nrow(matrix) == ncol(matrix)) colnames(matrix)
  }
  faults <- c(
    if (!is.numeric(matrix) && !is.logical(matrix)) "must be of 0 and 1, or TRUE and FALSE",
    if (anyNA(matrix)) "has NA; write 0 or 1"
  )
  if (is.null(rownames(matrix)) || is.null(colnames(matrix))) {
    if (length(columns) && all(dim(matrix) == length(columns))) {
      dimnames(matrix) <- list(columns, columns)
    } else {
      faults <- c(faults, paste0("needs names of rows and columns", if (length(columns)) {
        sprintf(", or %d of both", length(columns))
      }))
    }
  } else {
    names <- unlist(dimnames(matrix))
    if (length(columns)) faults <- c(faults, unknown_names(names, columns, "unknown variable"))
    twice <- unique(unlist(lapply(dimnames(matrix), function(x) x[duplicated(x)])))
    if (length(twice)) faults <- c(faults, sprintf("'%s' is there twice; keep one", twice))
  }
  if (length(faults)) fail(paste("predictor.matrix:", faults))
  matrix
}

# Return `random_key:`: none, or the manifest of the run that is repeated.
key_of <- function(key) {
  if (is.null(key) || identical(key, "none")) return(key)
  path <- if (inherits(key, "synthesis")) result_directory(key) else key
  if (!is.character(path) || length(path) != 1 || is.na(path)) {
    fail("random_key must be \"none\", an earlier result, or the directory of one")
  }
  if (dir.exists(path)) path <- file.path(path, "manifest.json")
  list(from = absolute_path(path))
}
