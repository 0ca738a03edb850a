"""`python -m mnemolog` is the command line."""

from mnemolog.cli import main

if __name__ == "__main__":
    main()
