"""Encoders that onnxruntime runs: a folder of ONNX files, or one of fastembed's models.

`folder` reads the model's properties from the folder's configuration files and the setting's options, and `encoder`
runs the model. `fastembed_encoder` fetches and runs a model by fastembed. `batch` says whether a run may have several
texts.
"""
