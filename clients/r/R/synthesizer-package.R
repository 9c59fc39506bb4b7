#' synthesizer: synthetic microdata with proof of their risk and utility
#'
#' [synthesize()] makes synthetic datasets of a confidential data frame or file; [verdict()],
#' [risk()], [utility()] and [report()] say whether they may be released; [fit_synthetic()]
#' combines estimates of several datasets; [advise()], [frontier()] and [refine()] lower the risk. The work is done by the command `synthesizer`, which is
#' looked for in the option `synthesizer.command`, then in the environment variable
#' `SYNTHESIZER_COMMAND`, then on the path.
#'
#' Files that a call needs lie in a private directory (mode 700) below [tempdir()] and are removed
#' when the call ends, also by an error. A result without `directory` is removed with its R object,
#' at the latest when R ends.
#'
#' @section Errors:
#' Errors of the command are conditions of class `synthesizer_error`, with all its `problems` and
#' its exit `status`. A limit that is exceeded is a warning of class `synthesizer_limit`.
#'
#' @keywords internal
"_PACKAGE"
