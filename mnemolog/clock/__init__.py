"""The clock of a worker: the machine's, unless there is a reason to doubt it.

1. `trusted_clock` compares the machine's clock with the steady clock, which cannot be set, and with witnesses. The
   embedded log, ticks, wakes and queries use the time that it returns.
2. `doubt` describes why a clock is not believed, and how long it must run steadily to be believed again.
3. `kernel` asks Linux whether the machine's clock is synchronised.
`mnemolog.operations.clocks` watches the clock of a running worker, and lets an operator confirm it.
"""
