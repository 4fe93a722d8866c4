"""What can be done: one folder per kind of action, and what several of them share. It announces the built-in kinds."""

from wonder.actions.built_in import BuiltInKinds
from wonder.definitions.kinds import KINDS

# Here, because the rooms below can't import this one, and all that runs or checks actions imports something of it.
KINDS.own = BuiltInKinds()
