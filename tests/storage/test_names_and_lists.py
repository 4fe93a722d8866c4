"""RES-4: what a name means, and lists that stay stable while they are read."""

import pytest

from support.stored_records import LATER, NOW, action, clock, new_id
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.tenancy import Library, Workspace
from wonder.storage.archive import archive_definition
from wonder.storage.definitions import Owner, StoredVersion, create_version, create_versions
from wonder.storage.listing import list_definitions, list_versions
from wonder.storage.names import find_definition
from wonder.storage.pages import Order
from wonder.storage.resource_errors import AmbiguousName, BadCursor, BadLimit, NotFound
from wonder.storage.store import Store
from wonder.storage.tenancy import Home, create_library, create_workspace, ensure_default


@pytest.fixture
async def home(store: Store) -> Home:
    """The default workspace and project, with libraries `own` and `second`, public ones, and another workspace's."""
    home = await ensure_default(store, clock=clock, new_id=new_id)
    other = Workspace(id="other", name="other", created_at=NOW, updated_at=NOW)
    places = [("own", home.workspace_id), ("second", home.workspace_id), ("public", None), ("theirs", "other")]
    async with store.transaction() as transaction:
        await create_workspace(transaction, other)
        for name, workspace_id in places:
            library = Library(id=name, workspace_id=workspace_id, name=name, created_at=NOW, updated_at=NOW)
            await create_library(transaction, library)
    return home


async def put(store: Store, owner: str, name: str, content: str = "x") -> StoredVersion:
    """Deploy an action into the project, or into the library of that name."""
    is_library = owner in {"own", "second", "public", "theirs"}
    project, library = (None, owner) if is_library else (owner, None)
    async with store.transaction() as transaction:
        return await create_version(transaction, action(name, project, library_id=library, content_hash=content))


async def test_a_name_means_the_projects_own_before_any_library(store: Store, home: Home) -> None:
    project = Owner("project", home.project_id)
    assert await find_definition(store, ActionDef, project, "say") is None
    await put(store, "public", "say")
    found = await find_definition(store, ActionDef, project, "say")
    assert found is not None
    assert found.owner == Owner("library", "public")
    mine = await put(store, home.project_id, "say")
    found = await find_definition(store, ActionDef, project, "say")
    assert found is not None
    assert (found.id, found.version, found.owner, found.name) == (mine.id, 1, project, "say")
    assert await find_definition(store, TaskDef, project, "say") is None


async def test_a_name_without_a_version_means_the_newest(store: Store, home: Home) -> None:
    project = Owner("project", home.project_id)
    for owner in (home.project_id, "own"):
        for content in ("a", "b", "c"):
            await put(store, owner, f"say {owner}", content)
    for name, library in ((f"say {home.project_id}", None), ("say own", None), ("say own", "own")):
        newest = await find_definition(store, ActionDef, project, name, library=library)
        second = await find_definition(store, ActionDef, project, name, 2, library=library)
        assert newest is not None
        assert second is not None
        assert (newest.version, newest.content_hash) == (3, "c")
        assert (second.version, second.content_hash) == (2, "b")
        assert await find_definition(store, ActionDef, project, name, 4, library=library) is None


async def test_a_name_in_two_libraries_is_ambiguous_unless_the_library_is_named(store: Store, home: Home) -> None:
    project = Owner("project", home.project_id)
    for owner, content in (("second", "a"), ("second", "b"), ("public", "a"), ("theirs", "a")):
        await put(store, owner, "say", content)
    with pytest.raises(AmbiguousName) as ambiguous:
        await find_definition(store, ActionDef, project, "say")
    assert ambiguous.value.candidates == ("public/say@1", "second/say@2")
    found = await find_definition(store, ActionDef, project, "say", library="second")
    assert found is not None
    assert (found.owner.id, found.version) == ("second", 2)
    # Only one of the two has a second version, so that is what is meant.
    found = await find_definition(store, ActionDef, project, "say", 2)
    assert found is not None
    assert found.owner.id == "second"


async def test_inv_7_no_name_is_found_in_another_workspace(store: Store, home: Home) -> None:
    await put(store, "theirs", "say")
    project = Owner("project", home.project_id)
    assert await find_definition(store, ActionDef, project, "say") is None
    assert await find_definition(store, ActionDef, project, "say", library="theirs") is None
    assert await find_definition(store, ActionDef, Owner("library", "public"), "say") is None


async def test_a_library_finds_its_own_and_what_its_workspace_sees(store: Store, home: Home) -> None:
    await put(store, "own", "mine")
    await put(store, "second", "other")
    await put(store, "public", "free")
    own, public = Owner("library", "own"), Owner("library", "public")
    for name in ("mine", "other", "free"):
        assert await find_definition(store, ActionDef, own, name) is not None
    assert await find_definition(store, ActionDef, public, "free") is not None
    assert await find_definition(store, ActionDef, public, "mine") is None
    with pytest.raises(NotFound, match="no project 'nobody'"):
        await find_definition(store, ActionDef, Owner("project", "nobody"), "x")


async def test_archived_versions_are_found_by_no_name(store: Store, home: Home) -> None:
    project = Owner("project", home.project_id)
    for content in ("a", "b"):
        stored = await put(store, home.project_id, "say", content)
        await put(store, "public", "shout", content)
    async with store.transaction() as transaction:
        await archive_definition(transaction, ActionDef, stored.id, 2, at=LATER)
    found = await find_definition(store, ActionDef, project, "say")
    assert found is not None
    assert found.version == 1
    assert await find_definition(store, ActionDef, project, "say", 2) is None


@pytest.mark.parametrize("order", ["name", "newest"])
@pytest.mark.parametrize("limit", [1, 3, 7, 200])
async def test_a_list_gives_every_name_once_at_its_newest_version(
    store: Store, home: Home, order: Order, limit: int
) -> None:
    names = ["b", "a", "Z", "ä", "a b", "𝄞", "10", "9"]
    async with store.transaction() as transaction:
        for content in ("first", "second"):
            await create_versions(transaction, [action(n, home.project_id, content_hash=content) for n in names])
    await put(store, "own", "not listed")
    listed, cursor = [], None
    for _ in range(20):
        page = await list_definitions(
            store, ActionDef, Owner("project", home.project_id), order=order, limit=limit, cursor=cursor
        )
        assert len(page.items) <= limit
        listed += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert [one.name for one in listed] == (sorted(names) if order == "name" else names[::-1])
    assert {one.version for one in listed} == {2}


@pytest.mark.parametrize("order", ["name", "newest"])
async def test_what_is_added_between_two_pages_shifts_nothing(store: Store, home: Home, order: Order) -> None:
    for name in ("b", "d", "f", "h"):
        await put(store, home.project_id, name)
    owner = Owner("project", home.project_id)
    first = await list_definitions(store, ActionDef, owner, order=order, limit=2)
    for name in ("a", "e", "i"):
        await put(store, home.project_id, name)
    for name in ("b", "h"):
        await put(store, home.project_id, name, "a new version")
    rest = await list_definitions(store, ActionDef, owner, order=order, limit=10, cursor=first.cursor)
    seen = [one.name for one in first.items + rest.items]
    expected = ["b", "d", "e", "f", "h", "i"] if order == "name" else ["h", "f", "d", "b"]
    assert seen == expected


async def test_a_cursor_belongs_to_one_list(store: Store, home: Home) -> None:
    owner = Owner("project", home.project_id)
    for name in ("a", "b"):
        await put(store, home.project_id, name)
    cursor = (await list_definitions(store, ActionDef, owner, limit=1)).cursor
    with pytest.raises(BadCursor):
        await list_definitions(store, ActionDef, owner, order="newest", cursor=cursor)
    with pytest.raises(BadCursor):
        await list_definitions(store, TaskDef, owner, cursor=cursor)
    with pytest.raises(BadLimit):
        await list_definitions(store, ActionDef, owner, limit=0)


async def test_the_versions_of_a_name_are_listed_newest_first_archived_ones_too(store: Store, home: Home) -> None:
    for content in ("a", "b", "c"):
        stored = await put(store, home.project_id, "say", content)
    async with store.transaction() as transaction:
        await archive_definition(transaction, ActionDef, stored.id, 1, at=LATER)
    versions = await list_versions(store, ActionDef, stored.id)
    assert [(one.version, one.content_hash, one.archived_at) for one in versions] == [
        (3, "c", None),
        (2, "b", None),
        (1, "a", LATER),
    ]
    with pytest.raises(NotFound):
        await list_versions(store, ActionDef, "nothing")
