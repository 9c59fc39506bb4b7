#' synthesizer: synthetic microdata with tests of their risk and utility
#'
#' [synthesize()] makes synthetic datasets from a confidential data frame or file. [verdict()],
#' [risk()], [utility()] and [report()] test whether they may be released. [fit_synthetic()]
#' combines estimates of several datasets. [advise()], [frontier()] and [refine()] lower the risk.
#'
#' The package calls the command `synthesizer`. R looks for it in the option `synthesizer.command`,
#' then in the environment variable `SYNTHESIZER_COMMAND`, then on the path. Temporary files of a
#' call are in a private directory (mode 700) below [tempdir()], and are removed at its end. Without
#' `directory`, R removes the files of a result with its R object.
#'
#' @section Errors:
#' Errors of the command are conditions of class `synthesizer_error`, with all `problems` and the
#' exit `status`. A figure above its limit gives a warning of class `synthesizer_limit`.
#'
#' @keywords internal
"_PACKAGE"
