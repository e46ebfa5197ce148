"""How good a pipeline is: scores, cross-validation, comparisons, reports."""
