"""Where names end: the ASCII characters that no name contains, for a regular expression's `[^…]`.

Names are made of ASCII's letters, digits and `_`, and of everything beyond ASCII. Saying so by what is left out takes
Python 0.1 ms to compile; a class that names all up to U+10FFFF takes 4 ms.
"""

from typing import Final

NOT_FIRST: Final = r"\x00-@\[-^`{-\x7f"
NOT_NEXT: Final = r"\x00-/:-@\[-^`{-\x7f"
"""A name may go on with a digit, but not begin with one."""

# The same where `$` may stand in a name.
NOT_FIRST_NOR_DOLLAR: Final = r"\x00-#%-@\[-^`{-\x7f"
NOT_NEXT_NOR_DOLLAR: Final = r"\x00-#%-/:-@\[-^`{-\x7f"
