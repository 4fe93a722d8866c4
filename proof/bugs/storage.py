"""Bugs in what is remembered: a skipped fsync, a fence that stops nobody, rows that are left out or left behind."""

from proof.bugs.bug import Bug

OPENING = "tests/storage/test_opening.py"
RECORDING = "tests/storage/test_runs_recording.py"
IN_FULL = "tests/storage/test_runs_in_full.py"
ROWS = f"{RECORDING}::test_random_runs_are_the_same_out_of_their_rows_after_every_commit"
LEASES = "tests/storage/test_runs_leases.py"
REPLACED = f"{LEASES}::test_inv_5_a_commit_of_a_replaced_owner_fails_and_writes_nothing"
WAITING = "tests/storage/test_runs_waiting.py"
STARTING = "tests/storage/test_runs_starting.py"
POSTGRES = "tests/storage/test_postgres_commits.py"
RECORDS = "tests/storage/test_idempotency_records.py"
DAMAGE = "tests/storage/test_journal_damage.py"
FILE = "tests/storage/test_durable_file.py"
FILES = "tests/storage/test_journal_files.py"
JOURNAL = "tests/storage/test_sqlite_journal.py"
SETTLING = "tests/storage/test_journal_settling.py"
CHECKER = "tests/checker/test_checker.py::test_runs_of_every_kind_break_no_rule"
ONE_COMMIT = "tests/coordinator/test_tasks_of_runs.py::test_tsk_1_a_task_costs_one_commit_however_many_steps_it_has"

BUGS = (
    Bug(
        "fsync-skipped",
        "storage/sqlite/connection.py",
        'wanted = {"synchronous": FULL,',
        'wanted = {"synchronous": 1,',
        "SQLite answers before a commit is on the disk",
        (f"{OPENING}::test_an_sqlite_file_is_opened_with_full_durability",),
    ),
    Bug(
        "fsync-skipped-on-postgresql",
        "storage/postgresql/store.py",
        "                init=_set_up,\n",
        "",
        "a server that is set to answer before a commit is on the disk is left so",
        (f"{OPENING}::test_commits_are_durable_even_where_the_server_would_answer_before",),
    ),
    Bug(
        "fence-not-asked-on-sqlite",
        "storage/sqlite/jobs.py",
        "        _check_fence(asked, cursor)\n",
        "",
        "who lost the lease can write to SQLite",
        (REPLACED,),
    ),
    Bug(
        "fence-not-asked-on-postgresql",
        "storage/postgresql/store.py",
        "            if fence is not None and not await connection.fetch("
        "self._queries[fence.query], *fence.parameters):\n                raise LeaseLost\n",
        "",
        "who lost the lease can write batches of many rows to PostgreSQL",
        (REPLACED,),
    ),
    Bug(
        "fence-without-consequence",
        "storage/postgresql/commits.py",
        '"SELECT 1 / count(*) FROM fence"',
        '"SELECT count(*) FROM fence"',
        "who lost the lease can write batches of few rows to PostgreSQL",
        (f"{POSTGRES}::test_inv_5_a_combined_statement_writes_nothing_when_the_lease_is_lost",),
    ),
    Bug(
        "fence-not-locked",
        "storage/postgresql/sql/runs_leases.sql",
        " FOR SHARE;",
        ";",
        "a claim comes between the look at the fence and the commit that relies on it",
        (LEASES,),
    ),
    Bug(
        "lease-taken-from-its-owner",
        "storage/postgresql/sql/runs_leases.sql",
        "WHERE leases.deadline_ms <= CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)\n",
        "",
        "a lease that has not run out can be claimed",
        (f"{LEASES}::test_a_lease_has_one_owner_until_it_is_released",),
    ),
    Bug(
        "half-a-batch-left",
        "storage/sqlite/jobs.py",
        "        roll_back(database, connection)\n        with translated",
        "        with translated",
        "a batch that fails in the middle is not rolled back, and its first half comes with the next one",
        ("tests/storage/test_sqlite_commits.py",),
    ),
    Bug(
        "journal-not-settled-for-readers",
        "storage/sqlite/store.py",
        "    async def _read(self, work: Callable[[apsw.Connection], Result]) -> Result:\n"
        "        if self._journal.is_ahead:\n"
        "            await self._settled()\n",
        "    async def _read(self, work: Callable[[apsw.Connection], Result]) -> Result:\n",
        "who reads finds tables that lack the last steps",
        (f"{SETTLING}::test_who_asks_after_an_entry_is_told_what_has_been_settled_for_it",),
    ),
    Bug(
        "journal-of-another-left-alone",
        "storage/sqlite/journal.py",
        "        return [entry.body for entry in left.entries]\n",
        "        return [entry.body for entry in left.entries] if self._file else []\n",
        "who takes the lease over begins without the last steps of the owner before",
        (f"{JOURNAL}::test_what_a_process_left_is_given_in_order_until_a_commit_settles_it",),
    ),
    Bug(
        "journal-settled-only-in-memory",
        "storage/sqlite/journal.py",
        "        last, slot = self._last or (None, None)\n",
        "        if not self._is_new:\n            return\n        last, slot = self._last or (None, None)\n",
        "entries that the tables have are given to the next owner once more",
        (f"{JOURNAL}::test_entries_that_are_settled_are_given_to_nobody_and_those_after_them_are",),
    ),
    Bug(
        "journal-shut-for-nobody",
        "storage/sqlite/journal.py",
        "        if file.is_shut:\n            self.loosen()\n            raise LeaseLost\n",
        "",
        "who lost the lease goes on logging, and takes for durable what nobody will read",
        (f"{JOURNAL}::test_inv_5_who_takes_the_lease_over_is_given_all_and_the_one_before_can_log_nothing",),
    ),
    Bug(
        "journal-left-in-the-page-cache",
        "storage/sqlite/durable_file.py",
        "    return _open_for_writing(path, flags | os.O_DSYNC), shut_by\n",
        "    return _open_for_writing(path, flags), shut_by\n",
        "an entry of the journal is taken for durable when it is only in the system's memory",
        (f"{FILE}::test_a_write_is_durable_when_it_returns_and_not_only_in_the_page_cache",),
    ),
    Bug(
        "journal-entry-half-written",
        "storage/sqlite/durable_file.py",
        "        while written < end:\n",
        "        while not written:\n",
        "an entry of which the system has written only a part is taken for durable",
        (f"{FILE}::test_what_the_system_writes_in_parts_is_written_whole",),
    ),
    Bug(
        "journal-numbers-not-left-out",
        "storage/sqlite/journal.py",
        "(_LEFT_OUT if self._is_new else 1)",
        "1",
        "what the owner before still wrote has the numbers of the new owner's entries",
        (f"{JOURNAL}::test_inv_5_what_an_owner_still_writes_when_it_is_replaced_is_given_to_nobody",),
    ),
    Bug(
        "gap-in-the-journal-not-noticed",
        "storage/sqlite/damage.py",
        "    if not missing:\n        return []\n",
        "    if missing >= 0:\n        return []\n",
        "an entry of the journal that counted is damaged, and the engine begins without it",
        (f"{DAMAGE}::test_inv_2_any_byte_that_changes_is_noticed_or_is_of_nothing_that_counts",),
    ),
    Bug(
        "missing-journal-file-not-noticed",
        "storage/sqlite/journal.py",
        "            tell(self._begin_in)\n",
        "            tell(lambda cursor: None)\n",
        "the tables do not know of the file, and nobody notices that it was deleted",
        (f"{DAMAGE}::test_inv_2_a_file_that_is_missing_is_noticed_from_its_first_entry_on",),
    ),
    Bug(
        "older-journal-file-not-noticed",
        "storage/sqlite/journal.py",
        "        self._last = (number, place)\n",
        "",
        "an older copy of the journal's file is taken for the one that the tables were used with",
        (f"{DAMAGE}::test_inv_2_an_older_copy_of_the_file_is_noticed",),
    ),
    Bug(
        "older-tables-not-noticed",
        "storage/sqlite/damage.py",
        "    if above:\n",
        "    if not above and above:\n",
        "the write-ahead log is missing, and the engine goes on from older tables",
        (f"{FILES}::test_of_a_journal_beside_an_older_copy_only_what_follows_upon_that_is_taken",),
    ),
    Bug(
        "lonely-copy-not-noticed",
        "storage/sqlite/journal.py",
        "            self._is_in_use = self._mark()\n",
        "",
        "a database in use that was copied without its companions is opened as if it were whole",
        (f"{DAMAGE}::test_inv_2_a_database_in_use_that_was_copied_without_its_companions_is_noticed",),
    ),
    Bug(
        "file-removed-before-the-tables-know",
        "storage/sqlite/commits.py",
        "            jobs.commit((), None, self._database, connection, journal.end_in)\n",
        "",
        "a database that was closed in order is taken for damaged",
        (f"{DAMAGE}::test_a_database_that_was_closed_in_order_needs_no_companions",),
    ),
    Bug(
        "old-entries-taken-for-new",
        "storage/sqlite/damage.py",
        "if entry.number > known.end]\n    if named_by",
        "if entry.number > known.end - 9]\n    if named_by",
        "entries in slots that were used before are taken again after a crash",
        (f"{DAMAGE}::test_a_crash_at_any_moment_is_not_taken_for_damage",),
    ),
    Bug(
        "events-out-of-the-commit",
        "storage/run_writer.py",
        "        await commit(entries, fence=self._fence, independent=independent)\n",
        '        later = [entry for entry in entries if entry[0] == "insert_events"]\n'
        "        sooner = [entry for entry in entries if entry not in later]\n"
        "        await commit(sooner, fence=self._fence, independent=independent)\n"
        "        await commit(later, fence=self._fence, independent=independent)\n",
        "events are stored in a commit of their own, after what they tell",
        (ONE_COMMIT,),
    ),
    Bug(
        "events-of-a-long-turn-lost",
        "storage/runs/event_rows.py",
        "for start in range(0, len(events), EVENTS_PER_ROW):",
        "for start in range(0, len(events), EVENTS_PER_ROW + 1):",
        "of a turn with very many events one is lost at the border of two rows",
        (IN_FULL,),
    ),
    Bug(
        "losses-not-stored",
        "storage/runs/token_rows.py",
        "DISPATCHED, decision.losses, token_input",
        "DISPATCHED, 0, token_input",
        "after a restart nobody knows how often the worker of a task was lost",
        (ROWS,),
    ),
    Bug(
        "arrival-not-updated",
        "storage/sql/runs_writing.sql",
        "    arrived_as = excluded.arrived_as, output = excluded.output",
        "    output = excluded.output",
        "the order in which branches arrived is lost where they had a row before",
        (IN_FULL,),
    ),
    Bug(
        "branches-left-behind",
        "storage/runs/scope_rows.py",
        '            yield "delete_branches", self._closed\n',
        "",
        "rows of branches stay when their group is gone",
        (CHECKER, RECORDING),
    ),
    Bug(
        "timers-left-behind",
        "storage/runs/wait_rows.py",
        '            ("delete_timer", gone),\n',
        "",
        "timers that were cancelled stay in the database, and ring after the next restart",
        (CHECKER, WAITING),
    ),
    Bug(
        "waits-left-behind",
        "storage/runs/wait_rows.py",
        '            ("delete_event_wait", self._ended_waits),\n',
        "",
        "tokens that went on are still found waiting for their event",
        (CHECKER, WAITING),
    ),
    Bug(
        "question-closed-twice",
        "storage/sql/runs_writing.sql",
        "answered_by = $4, closed_ms = $5\nWHERE id = $1 AND closed_ms IS NULL;",
        "answered_by = $4, closed_ms = $5\nWHERE id = $1;",
        "a question that was withdrawn becomes answered",
        (IN_FULL,),
    ),
    Bug(
        "paused-run-not-recovered",
        "storage/sql/runs_reading.sql",
        "AND tokens.status IN ('dispatched', 'executing')",
        "AND tokens.status = 'suspended'",
        "the tasks of a paused run are lost with its process",
        (WAITING,),
    ),
    Bug(
        "loops-missing-in-snapshots",
        "storage/runs/snapshots.py",
        '        "loops": run.loops,\n',
        "",
        "a run that is rebuilt from a snapshot counts its loops anew",
        (IN_FULL,),
    ),
    Bug(
        "key-depends-on-the-order-of-the-input",
        "storage/runs/starting.py",
        "hashlib.sha256(canonical_json(run_input)",
        "hashlib.sha256(encode_json(run_input)",
        "a start that is sent again with its keys in another order is refused",
        (STARTING,),
    ),
    Bug(
        "second-start-takes-the-key",
        "storage/runs/starting.py",
        "return _accepted(run, self._holders.setdefault(key, Holder(run.id, run.input_hash)))",
        "self._holders[key] = Holder(run.id, run.input_hash)\n        return _accepted(run, self._holders[key])",
        "of two starts with one key at the same moment both make a run",
        (STARTING,),
    ),
    Bug(
        "record-without-fence",
        "storage/idempotency.py",
        "fence=lease.fence, independent=True",
        "independent=True",
        "who lost the lease can keep the result of an action",
        (f"{RECORDS}::test_inv_5_who_lost_the_lease_can_keep_nothing_and_must_not_act",),
    ),
    Bug(
        "ended-together-but-for-their-timers",
        "storage/runs/wait_rows.py",
        '            ("delete_timers_of_run", [row[:1] for row in self._ended]),\n',
        "",
        "the timers of a large run outlive it",
        ("tests/coordinator/test_limits_of_runs.py",),
    ),
)
