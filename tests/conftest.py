"""For all tests."""

import asyncio


def pytest_configure() -> None:
    # looptime asks for the current event loop before every test, also one that has none, and asyncio would make one
    # that nobody closes. With "none" set it is told that there is none.
    asyncio.set_event_loop(None)
