"""A trained network on ONNX Runtime, which predicts and does not train."""
