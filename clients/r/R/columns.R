# Convert columns to text and back without loss: kinds, levels, missing codes, labels.
#
# A list (the "form" of a column) has its levels, labels and classes, but no value of the data. Its
# `entry` is the column's entry under `variables:` of the YAML.

forms_of <- function(data) {
  check_frame(data)
  forms <- lapply(data, form_of)
  faults <- vapply(forms, function(form) form$fault %||% "", "")
  if (any(nzchar(faults))) {
    fail(sprintf("column '%s' %s", names(data), faults)[nzchar(faults)])
  }
  forms
}

check_frame <- function(data) {
  if (!is.data.frame(data)) fail("data must be a data frame, or the path of a file")
  names <- enc2utf8(names(data) %||% character())
  faults <- c(
    if (!length(names)) "data has no column",
    if (!nrow(data)) "data has no row; there is nothing to learn from",
    if (anyNA(names) || any(!nzchar(trimws(names)))) "data has a column without a name; name it",
    if (anyDuplicated(names)) sprintf(
      "data has two columns '%s'; give each its own name", unique(names[duplicated(names)]))
  )
  if (length(faults)) fail(faults)
}

`%||%` <- function(left, right) if (is.null(left)) right else left

# Return the form of a column; `fault` is the reason why it cannot be synthesised.
form_of <- function(x) {
  kept <- attributes(x)[setdiff(names(attributes(x)), c("names", "levels", "dim", "dimnames"))]
  fault <- letters_fault(if (is.factor(x)) levels(x) else if (is.character(x)) x)
  if (!is.null(fault)) return(list(fault = fault))
  form <- if (is.factor(x)) factor_form(x) else plain_form(x)
  if (!is.null(form$fault)) return(form)
  form$attributes <- kept
  form$all_missing <- all(is.na(x)) && !anyNA_coded(x)
  label <- attr(x, "label", exact = TRUE)
  if (is.character(label) && length(label) == 1 && nzchar(label)) form$entry$label <- label
  form
}

letters_fault <- function(texts) {
  if (is.null(texts)) return(NULL)
  wrong <- !is.na(texts) & !valid_letters(texts)
  if (any(wrong)) {
    sprintf("has %s with bytes that are invalid in its encoding; %s", counted(sum(wrong), "text"),
            "convert it to UTF-8 first, such as iconv(x, \"latin1\", \"UTF-8\")")
  }
}

valid_letters <- function(texts) {
  marked <- Encoding(texts)
  native <- marked == "unknown"
  valid <- marked == "latin1" | marked == "UTF-8" & validUTF8(texts)
  valid[native] <- !is.na(iconv(texts[native], "", "UTF-8"))
  valid
}

plain_form <- function(x) {
  fault <- column_fault(x)
  if (!is.null(fault)) return(list(fault = fault))
  if (inherits(x, "Date")) return(date_form(x, "date", "%Y-%m-%d"))
  if (inherits(x, "POSIXct")) return(time_form(x))
  if (inherits(x, "integer64")) return(list(type = "integer64"))
  if (is.logical(x)) return(list(type = "logical", entry = list(
    kind = "boolean", missing = if (anyNA(x)) I("") else list())))
  if (is.character(x)) return(character_form(x))
  number_form(x)
}

column_fault <- function(x) {
  if (is.data.frame(x) || !is.null(dim(x))) {
    "is a table of its own; give each of its columns a name"
  } else if (inherits(x, "POSIXlt")) {
    "is POSIXlt; write as.POSIXct()"
  } else if (is.list(x)) {
    "is a list; make a column of each element, or leave it out"
  } else if (is.complex(x) || is.raw(x)) {
    sprintf("is %s, which is not synthesised; leave it out", typeof(x))
  } else if (inherits(x, "integer64") && !requireNamespace("bit64", quietly = TRUE)) {
    "is integer64, which needs the package bit64; install it"
  } else if (!is.atomic(x)) {
    "is no vector; leave it out"
  }
}

# An empty level, which read.csv() makes of empty cells, is a missing code, as in a file.
factor_form <- function(x) {
  levels <- levels(x)
  texts <- enc2utf8(levels)
  texts[is.na(levels)] <- unused_text("<NA>", texts)
  has_missing <- anyNA(unclass(x))
  empty <- if ("" %in% texts) if (has_missing) unused_text("<empty>", texts) else ""
  texts[texts == ""] <- empty %||% ""
  list(type = "factor", levels = levels, texts = texts, empty = empty, entry = list(
    kind = if (is.ordered(x)) "ordered" else "categorical",
    levels = as.list(setdiff(texts, empty)),
    missing = as.list(unique(c(if (has_missing) "", empty)))
  ))
}

# Where both an empty text and NA occur, the empty text is written as a word.
character_form <- function(x) {
  values <- unique(enc2utf8(as.vector(unclass(x))))
  values <- values[!is.na(values)]
  both <- anyNA(x) && "" %in% values
  empty <- if (both) unused_text("<empty>", values)
  entry <- if (both) list(missing = list("", empty))
  labels <- labels_of(x)
  if (length(labels)) {
    entry <- labelled_entry(values, labels, declared_missing(x, values), empty)
  }
  list(type = "character", empty_is_na = anyNA(x) && !both, empty = empty, entry = entry)
}

unused_text <- function(text, taken) {
  while (text %in% taken) text <- paste0(text, "_")
  text
}

number_form <- function(x) {
  form <- list(type = "number", integer = is.integer(x))
  labels <- labels_of(x)
  if (length(labels) || inherits(x, "haven_labelled") || any(nzchar(tags_of(x)))) {
    values <- unique(number_texts(x))
    form$entry <- labelled_entry(values, labels, declared_missing(x, values))
  }
  form
}

date_form <- function(x, type, format) {
  list(type = type, format = format, integer = is.integer(x), entry = list(
    kind = "date", date_format = format, missing = if (anyNA(x)) I("") else list()))
}

# Times are written as clocks in their zone show them, so that midnight stays midnight.
time_form <- function(x) {
  seconds <- unclass(x)[is.finite(x)]
  fraction <- any(seconds != floor(seconds))
  date_form(x, "time", if (fraction) "%Y-%m-%d %H:%M:%S.%6f" else "%Y-%m-%d %H:%M:%S")
}

labels_of <- function(x) {
  labels <- attr(x, "labels", exact = TRUE)
  if (is.null(names(labels))) return(NULL)
  stats::setNames(if (is.character(labels)) enc2utf8(unclass(labels)) else number_texts(labels),
                  enc2utf8(names(labels)))
}

# Missing codes that SPSS (values and ranges) and Stata or SAS (letters) declare.
declared_missing <- function(x, values) {
  single <- attr(x, "na_values", exact = TRUE)
  single <- if (is.character(single)) enc2utf8(single) else number_texts(single)
  ends <- attr(x, "na_range", exact = TRUE)
  numbers <- suppressWarnings(as.numeric(values))
  within <- if (length(ends) == 2) {
    values[!is.na(numbers) & numbers >= min(ends) & numbers <= max(ends)]
  }
  letters <- grep("^\\.[A-Za-z]$", values, value = TRUE)
  unique(c(intersect(single, values), within, letters))
}

labelled_entry <- function(values, labels, missing, empty = NULL) {
  has_missing <- "" %in% values || anyNA(values)
  observed <- setdiff(values, c(missing, "", "NaN"))
  entry <- list()
  if (length(missing) || !is.null(empty)) {
    entry$missing <- as.list(c(if (has_missing) "", missing, empty))
  }
  if (length(labels)) {
    if (length(observed) && all(observed %in% labels)) entry$kind <- "categorical"
    shown <- labels[labels %in% values & nzchar(labels)]
    shown <- shown[!duplicated(shown)]
    if (length(shown)) entry$level_labels <- stats::setNames(as.list(names(shown)), shown)
  }
  if (length(entry)) entry
}

# Letters of missing values ("a" of Stata's .a), "" for everything else.
tags_of <- function(x) {
  if (!is.double(x) || inherits(x, "integer64") || !anyNA(x) ||
      !requireNamespace("haven", quietly = TRUE)) {
    return(character(length(x)))
  }
  tags <- haven::na_tag(x)
  ifelse(is.na(tags), "", tags)
}

anyNA_coded <- function(x) any(nzchar(tags_of(x))) || any(is.nan(plain_number(x)))

plain_number <- function(x) {
  if (is.double(x) && !inherits(x, "integer64")) as.double(unclass(x)) else 0
}

# Numbers with as few digits as read back to the same number.
number_texts <- function(x) {
  if (is.null(x)) return(character())
  tags <- tags_of(x)
  x <- unclass(x)
  if (is.integer(x)) {
    texts <- as.character(x)
  } else {
    texts <- sprintf("%.15g", x)
    longer <- which(is.finite(x))
    longer <- longer[as.numeric(texts[longer]) != x[longer]]
    texts[longer] <- sprintf("%.17g", x[longer])
    texts[is.nan(x)] <- "NaN"
  }
  texts[is.na(x) & !is.nan(x)] <- ""
  texts[nzchar(tags)] <- paste0(".", tags[nzchar(tags)])
  as.vector(texts)
}

# The text of each cell; "" is what the command reads as missing.
encode_column <- function(x, form) {
  type <- form$type
  # Columns of files may be texts or factors where the original has numbers, dates or logicals.
  if (type != "factor" && (is.factor(x) || is.character(x))) type <- "character"
  texts <- switch(
    type,
    factor = encode_factor(x, form),
    character = encode_character(x, form),
    logical = c("FALSE", "TRUE")[as.vector(x) + 1L],
    date = format(structure(floor(unclass(x)), class = "Date"), "%Y-%m-%d"),
    time = encode_time(x, form),
    integer64 = as.character(bit64::as.integer64(x)),
    number = number_texts(x)
  )
  texts[is.na(texts)] <- ""
  enc2utf8(as.vector(texts))
}

encode_factor <- function(x, form) {
  if (!is.factor(x)) x <- factor(x)
  texts <- form$texts[match(levels(x), form$levels)]
  new <- is.na(texts)
  texts[new] <- levels(x)[new]
  texts[as.integer(x)]
}

encode_character <- function(x, form) {
  texts <- enc2utf8(as.character(x))
  if (!is.null(form$empty)) texts[!is.na(texts) & texts == ""] <- form$empty
  texts
}

encode_time <- function(x, form) {
  if (!grepl("f$", form$format)) return(format(x, form$format))
  whole <- floor(unclass(x))
  micro <- round((unclass(x) - whole) * 1e6)
  whole <- whole + (micro >= 1e6)
  stamp <- format(.POSIXct(as.vector(whole), tz = zone_of(x)), "%Y-%m-%d %H:%M:%S")
  ifelse(is.na(x), NA, sprintf("%s.%06d", stamp, as.integer(micro %% 1e6)))
}

zone_of <- function(x) (attr(x, "tzone") %||% "")[1]

# Return the column of a synthetic dataset from its texts; `listed` are the codebook's levels.
decode_column <- function(texts, form, listed = NULL, kind = NULL) {
  x <- switch(
    form$type,
    factor = decode_factor(texts, form, listed, kind),
    character = decode_character(texts, form),
    logical = decode_logical(texts),
    date = as.Date(blank_to_na(texts), format = form$format %||% "%Y-%m-%d"),
    time = decode_time(texts, form),
    integer64 = bit64::as.integer64(blank_to_na(texts)),
    number = decode_number(texts, form)
  )
  restored <- form$attributes[setdiff(names(form$attributes), "class")]
  for (name in names(restored)) attr(x, name) <- restored[[name]]
  if (!is.null(form$attributes$class) && !is.factor(x)) class(x) <- form$attributes$class
  if (form$type == "date" && isTRUE(form$integer)) storage.mode(x) <- "integer"
  x
}

blank_to_na <- function(texts) {
  texts[texts == ""] <- NA
  texts
}

# Levels that the command has joined, blanked or numbered anew do not come back.
decode_factor <- function(texts, form, listed, kind) {
  named <- form$texts
  if (identical(kind, "id")) listed <- character()
  if (!is.null(listed)) named <- named[named %in% c(listed, texts, form$empty)]
  further <- setdiff(if (length(listed)) c(listed, texts) else texts, c(named, ""))
  levels <- form$levels[match(named, form$texts)]
  x <- factor(texts, levels = c(named, further), ordered = "ordered" %in% form$attributes$class)
  attr(x, "levels") <- c(levels, further)
  x
}

decode_character <- function(texts, form) {
  if (!is.null(form$empty)) {
    return(ifelse(texts == form$empty, "", blank_to_na(texts)))
  }
  if (form$empty_is_na) blank_to_na(texts) else texts
}

decode_logical <- function(texts) {
  c("false" = FALSE, "true" = TRUE)[tolower(texts)] |> unname()
}

decode_number <- function(texts, form) {
  tags <- sub("^\\.", "", ifelse(grepl("^\\.[A-Za-z]$", texts), texts, ""))
  numbers <- suppressWarnings(as.numeric(texts))
  if (isTRUE(form$integer) && all(is.na(numbers) | numbers == trunc(numbers)) &&
      all(abs(numbers) <= .Machine$integer.max, na.rm = TRUE)) {
    return(as.integer(numbers))
  }
  if (any(nzchar(tags)) && requireNamespace("haven", quietly = TRUE)) {
    numbers[nzchar(tags)] <- haven::tagged_na(tags[nzchar(tags)])
  }
  numbers
}

# A time that clocks skip in spring is an hour later.
decode_time <- function(texts, form) {
  zone <- (form$attributes$tzone %||% "")[1]
  read <- function(texts) {
    as.POSIXct(strptime(blank_to_na(texts), "%Y-%m-%d %H:%M:%OS", tz = zone))
  }
  x <- read(texts)
  shown <- format(x, "%Y-%m-%d %H:%M:%S")
  skipped <- nzchar(texts) & (is.na(shown) | shown != substr(texts, 1, 19))
  if (any(skipped)) {
    utc <- as.POSIXct(strptime(texts[skipped], "%Y-%m-%d %H:%M:%OS", tz = "UTC")) + 3600
    x[skipped] <- read(format(utc, "%Y-%m-%d %H:%M:%S"))
  }
  x
}
