"""Messages over a TCP connection."""

import asyncio

from pdworker.bootstrap import messages
from pdworker.bootstrap.messages import MalformedError, Message

READ_SECONDS = 30.0  # for the rest of a frame once its header came: a peer that stops in the middle is no peer


async def read(reader: asyncio.StreamReader) -> Message | None:
    """The next message; None when the peer closed. Raises MalformedError and OSError."""
    try:
        header = await reader.readexactly(messages.LENGTH_BYTES)
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise MalformedError("the connection ended inside a frame's header") from None
        return None
    length = messages.frame_length(header)
    try:
        async with asyncio.timeout(READ_SECONDS):
            return messages.decode(await reader.readexactly(length))
    except asyncio.IncompleteReadError as end:
        raise MalformedError(f"the connection ended after {len(end.partial)} of {length} bytes") from None
    except TimeoutError:
        raise MalformedError(f"no whole frame of {length} bytes within {READ_SECONDS:.0f} s") from None


async def write(writer: asyncio.StreamWriter, message: Message) -> None:
    """Send a message. Raises OSError when the peer is gone."""
    writer.write(messages.encode(message))
    await writer.drain()
