# Data frames to CSV files for the command, and its files back to data frames.

# Columns without any value are left out: there is nothing to learn from them.
written_columns <- function(forms) {
  names(forms)[!vapply(forms, function(form) isTRUE(form$all_missing), NA)]
}

write_frame <- function(data, forms, path) {
  names <- intersect(written_columns(forms), names(data))
  columns <- lapply(names, function(name) {
    texts <- encode_column(data[[name]], forms[[name]])
    if (forms[[name]]$type %in% c("factor", "character")) quoted_cells(texts) else texts
  })
  if (length(columns) == 1) columns[[1]][columns[[1]] == ""] <- "\"\""  # a blank line is no record
  cells <- do.call(paste, c(columns, sep = ","))
  write_private(c(paste(quoted_cells(names), collapse = ","), cells), path)
}

quoted_cells <- function(texts) {
  filled <- nzchar(texts)
  texts[filled] <- paste0("\"", gsub("\"", "\"\"", texts[filled], fixed = TRUE), "\"")
  texts
}

read_texts <- function(path) {
  utils::read.csv(path, colClasses = "character", na.strings = character(), check.names = FALSE,
                  encoding = "UTF-8", strip.white = FALSE, comment.char = "", quote = "\"",
                  blank.lines.skip = FALSE)
}

# One dataset of a run. `forms` are those of the data frame it was made from, if any.
read_dataset <- function(path, forms, variables) {
  ending <- ending_of(path)
  package <- check_reader(ending)
  as.data.frame(switch(
    ending,
    sav = , zsav = haven::read_sav(path, user_na = TRUE),
    dta = haven::read_dta(path),
    parquet = if (package == "arrow") arrow::read_parquet(path) else nanoparquet::read_parquet(path),
    csv = restore_frame(read_texts(path), forms, variables),
    fail(sprintf("%s: this format is not read; ask for format = \"csv\"", path))
  ))
}

ending_of <- function(path) sub(".*\\.", "", tolower(sub("\\.gz$", "", basename(path))))

# The package that reads a format; none that is installed is an error, before a run takes minutes.
check_reader <- function(ending) {
  packages <- switch(ending, sav = , zsav = , dta = "haven", parquet = c("arrow", "nanoparquet"))
  there <- Filter(function(name) requireNamespace(name, quietly = TRUE), packages)
  if (length(packages) && !length(there)) {
    fail(sprintf("files of format '%s' are read by the package %s; %s", ending,
                 paste(packages, collapse = " or "), "install it, or ask for format = \"csv\""))
  }
  there[1]
}

restore_frame <- function(texts, forms, variables) {
  by_name <- stats::setNames(variables, vapply(variables, function(v) v$name, ""))
  columns <- lapply(stats::setNames(nm = names(texts)), function(name) {
    variable <- by_name[[name]]
    form <- forms[[name]] %||% form_of_variable(variable)
    if (is.null(form)) return(utils::type.convert(texts[[name]], as.is = TRUE))
    decode_column(texts[[name]], form, levels_of(variable), variable$kind)
  })
  for (name in setdiff(names(forms), written_columns(forms))) {
    columns[[name]] <- decode_column(character(nrow(texts)), forms[[name]])
  }
  order <- c(intersect(names(forms), names(columns)), setdiff(names(columns), names(forms)))
  frame <- columns[order]
  structure(frame, class = "data.frame", row.names = .set_row_names(nrow(texts)))
}

levels_of <- function(variable) {
  if (is.null(variable)) return(NULL)
  vapply(variable$levels, function(level) level$level, "")
}

# What a column of a CSV file is by the codebook, if there is no data frame.
form_of_variable <- function(variable) {
  if (is.null(variable)) return(NULL)
  levels <- levels_of(variable)
  coded <- list(type = "factor", levels = levels, texts = levels, attributes = list(
    class = if (identical(variable$kind, "ordered")) c("ordered", "factor") else "factor"))
  format <- variable$date_format %||% ""
  switch(
    variable$kind,
    categorical = , ordered = coded,
    boolean = if (all(tolower(levels) %in% c("true", "false"))) list(type = "logical") else coded,
    numeric = list(type = "number", integer = identical(as.integer(variable$decimals), 0L)),
    date = if (grepl("%H|%I", format)) NULL else list(type = "date", format = sub(".*:", "", format)),
    NULL
  )
}

read_json <- function(path) {
  if (!file.exists(path)) return(NULL)
  tryCatch(
    jsonlite::fromJSON(path, simplifyVector = FALSE),
    error = function(error) fail(sprintf("%s: cannot be read; it is no JSON of a run", path))
  )
}
