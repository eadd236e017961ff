"""Networks: built and trained with Keras, run as ONNX graphs."""
