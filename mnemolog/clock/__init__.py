"""Which time a worker goes by: the machine's, unless there is reason to doubt it.

1. `trusted_clock` compares the machine's clock with the one that nobody can set, and with witnesses; what it returns is
   what is stamped onto the embedded log, and what ticks, wakes and queries go by.
2. `doubt` says what is wrong with a clock that is not believed, and how long it has to run steadily to be believed.
3. `kernel` asks Linux whether the machine's clock is synchronised.
`mnemolog.operations.clocks` watches the clock of a running worker, and takes an operator's word for it.
"""
