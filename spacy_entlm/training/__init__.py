"""Training: the learning-rate schedule, the logger, the recipe in one call."""
