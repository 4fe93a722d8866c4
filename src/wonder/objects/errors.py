"""What can go wrong with the object store."""

from wonder.errors import WonderError


class BadObjectsUrl(WonderError):
    """The address of an object store can't be understood."""

    code = "BAD_OBJECTS_URL"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"the address of the object store {url!r} {reason}; write file:///path/to/folder or s3://bucket/prefix, "
            "for a server of your own with ?endpoint=https://host:port behind it"
        )
        self.url, self.reason = url, reason


class ObjectsUnavailable(WonderError):
    """The object store could not be reached, or could not do what was asked; `passing` says that it may later."""

    code = "OBJECTS_UNAVAILABLE"

    def __init__(self, address: str, reason: str, *, passing: bool) -> None:
        super().__init__(f"the object store at {address} can't be used: {reason}")
        self.address, self.reason, self.passing = address, reason, passing


class ObjectMissing(WonderError):
    """The object store has nothing under a key."""

    code = "OBJECT_MISSING"

    def __init__(self, address: str, key: str) -> None:
        super().__init__(f"the object store at {address} has no content {key!r}; restore it from a backup")
        self.address, self.key = address, key


class ObjectDamaged(WonderError):
    """What lies under a key is not what was stored there."""

    code = "OBJECT_DAMAGED"

    def __init__(self, address: str, key: str) -> None:
        super().__init__(
            f"the content {key!r} in the object store at {address} is not what was stored: its digest differs; "
            "restore it from a backup"
        )
        self.address, self.key = address, key


class ObjectTooLarge(WonderError):
    """Content is larger than the caller allows."""

    code = "OBJECT_TOO_LARGE"

    def __init__(self, size_max: int) -> None:
        super().__init__(f"the content has more than the {size_max:,} bytes that are allowed")
        self.size_max = size_max


class ObjectsDriverMissing(WonderError):
    """The package that speaks to this kind of object store is not installed."""

    code = "DRIVER_MISSING"

    def __init__(self, package: str) -> None:
        super().__init__(f"the package {package!r} is missing; install it with: pip install 'wonder-workflows[s3]'")
        self.package = package
