"""What can go wrong with a backup, one class per thing that a person could do about it."""

from wonder.errors import WonderError


class BackupFailed(WonderError):
    """A backup can't be made or restored; nothing was left behind."""

    code = "BACKUP_FAILED"


class BackupDamaged(WonderError):
    """A backup is not what its manifest says; `problems` lists every difference."""

    code = "BACKUP_DAMAGED"

    def __init__(self, folder: str, problems: list[str]) -> None:
        shown = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
        super().__init__(f"the backup {folder} is damaged: {shown}; use another backup")
        self.folder, self.problems = folder, problems
