"""Encoders in a folder of ONNX files, run by onnxruntime.

`folder` reads what the folder's configuration files and the setting's options say about the model. `encoder` runs it.
"""
