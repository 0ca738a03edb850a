"""Encoders in a folder of ONNX files: `folder` reads what it says about its model, `encoder` runs it."""
