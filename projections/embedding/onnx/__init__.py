"""Encoders that onnxruntime runs: a folder of ONNX files, or one of fastembed's models.

`folder` reads what the folder's configuration files and the setting's options say about the model, and `encoder` runs
it. `fastembed_encoder` has fastembed fetch a model and run it.
"""
