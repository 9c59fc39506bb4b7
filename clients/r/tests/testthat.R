library(testthat)
library(synthesizer)

test_check("synthesizer")
