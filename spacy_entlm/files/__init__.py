"""Writing and reading files so that a failure leaves what was there."""
