"""Simulation: the production engine under a seeded scheduler and seeded faults; every failure replays by one command.

Replaced are the clock, the chance, the threads of the store, and the outside world. Everything else is the real thing:
claim, engine, coordinator, executor, orders, recovery, and the SQLite store with its SQL on a real file.

- `world` has the time and a heap of what happens later; it jumps to the next moment when nothing is ready.
- A process is a loop of its own (`loop`), with its own connection and its own engine (`processes`). A crash is a loop
  that is never run again: no clean-up runs, and what was not committed is not there. A process that is paused goes on
  later, and finds that another one has taken over.
- Each job that the store gives to its threads is one numbered operation (`store`), which is carried out at one moment
  that the seed chooses, and answered at another. Faults (`faults`) stand at numbers of operations, commits and tasks.
- Clients (`clients`) start, cancel, pause, resume, answer, send, retry and fork at moments of the seed; what they were
  told, and what actions did (`outside`), goes to the log of `wonder.checker.outside`.
- Some databases have schedules (`schedules`), which clients pause, change and fire by hand (`schedule_clients`); each
  of their runs tells the world for which planned time it stands, and sometimes no process runs for minutes.
- Each pattern sample has a play (`plays`, `playing`): a client who knows what must come of it, whatever goes wrong.
- In the end the faults stop, time goes on until every run has ended, and `wonder.checker` and `wonder.observe.verify`
  look at the database (`scenario`). A seed that fails is made smaller first (`shrinking`).
"""
