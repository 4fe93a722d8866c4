"""The PostgreSQL that the tests run on is a real one."""

import asyncpg


async def test_the_tests_have_a_real_postgresql_18(fresh_postgres_url: str) -> None:
    connection = await asyncpg.connect(fresh_postgres_url)
    try:
        assert await connection.fetchval("SELECT current_setting('server_version_num')::int / 10000") == 18
        assert await connection.fetchval("SELECT 1 + 1") == 2
    finally:
        await connection.close()
