"""Cross-validation: how well a training works on data that has no test part."""
