"""The HTTP API of a worker pod, in the routes of SGLang's server."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web

from pdworker import __version__, metrics
from pdworker.admission import Admission, QueueFullError
from pdworker.bootstrap.registry import Registry
from pdworker.config import Config, Role
from pdworker.ranks import Rank
from pdworker.reasons import TransferError
from pdworker.requests import BadRequestError, Request, parse

MAX_BODY_BYTES = 4 << 20  # a prompt of a million characters of any script
MARGIN_SECONDS = 90.0  # beyond the protocol's own deadlines: waiting for pages, and the transfer itself


class Api:
    """One pod's routes."""

    def __init__(
        self, config: Config, ranks: Sequence[Rank], registry: Registry | None, *, clock: Callable[[], float]
    ) -> None:
        self._config = config
        self._ranks = ranks
        self._registry = registry
        self._clock = clock
        self._admission = Admission(config.pool_pages)

    def routes(self) -> list[web.RouteDef]:
        """Every route, by method and path."""
        return [
            web.get("/livez", self.livez),
            web.get("/ready", self.ready),
            web.get("/health", self.ready),
            web.get("/metrics", self.metrics),
            web.get("/server_info", self.server_info),
            web.get("/model_info", self.model_info),
            web.post("/generate", self.generate),
            web.post("/v1/completions", self.completions),
        ]

    async def livez(self, _: web.Request) -> web.Response:
        """200 while the process runs; it ends when one of its ranks does. No peer is asked."""
        return web.Response(text="OK")

    async def ready(self, _: web.Request) -> web.Response:
        """Whether this pod can pair."""
        states = await asyncio.gather(*(rank.is_ready() for rank in self._ranks))
        waiting = [rank.number for rank, is_ready in zip(self._ranks, states, strict=True) if not is_ready]
        if waiting:
            return web.Response(status=503, text=f"ranks {waiting} of {len(self._ranks)} have not initialised")
        if self._registry is not None and not self._registry.is_complete(now=self._clock()):
            present = self._registry.present(now=self._clock())
            text = f"{present} of {self._registry.shape.ranks} ranks have registered"
            return web.Response(status=503, text=text)
        return web.Response(text="OK")

    async def metrics(self, _: web.Request) -> web.Response:
        """All ranks' pages as one; a rank that doesn't answer is left out, for absent isn't zero."""
        pages = await asyncio.gather(*(rank.page() for rank in self._ranks))
        text = metrics.merge(page for page in pages if page is not None)
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def server_info(self, _: web.Request) -> web.Response:
        """The resolved settings."""
        config = self._config
        return web.json_response({
            "version": __version__,
            "disaggregation_mode": config.role,
            "disaggregation_transfer_backend": "mooncake",
            "disaggregation_bootstrap_port": config.bootstrap_port,
            "tp_size": config.group.tensor,
            "attn_cp_size": config.group.context,
            "page_size": config.geometry.page_size,
            "kv_cache_dtype": config.geometry.dtype,
            "max_total_num_tokens": config.pool_tokens,
            "host": config.pod_ip,
        })  # fmt: skip

    async def model_info(self, _: web.Request) -> web.Response:
        """The model, as far as a data plane knows it."""
        return web.json_response({"model_path": self._config.model, "is_generation": True})

    async def generate(self, request: web.Request) -> web.Response:
        """Do the own role's part of one request; no tokens are generated."""
        status, transfer, asked = await self._serve(request)
        if asked is None or status != web.HTTPOk.status_code:
            return web.json_response({"error": transfer}, status=status)
        meta = {"id": str(asked.room), "prompt_tokens": asked.prompt_tokens}
        return web.json_response({"text": "", "meta_info": meta, "transfer": transfer})

    async def completions(self, request: web.Request) -> web.Response:
        """The same in the shape of OpenAI's completions."""
        status, transfer, asked = await self._serve(request)
        if asked is None or status != web.HTTPOk.status_code:
            return web.json_response({"error": transfer}, status=status)
        return web.json_response({
            "id": str(asked.room),
            "object": "text_completion",
            "model": self._config.model,
            "choices": [{"index": 0, "text": "", "finish_reason": "length"}],
            "usage": {"prompt_tokens": asked.prompt_tokens, "completion_tokens": 0},
            "transfer": transfer,
        })  # fmt: skip

    async def _serve(self, request: web.Request) -> tuple[int, dict[str, Any], Request | None]:
        config = self._config
        try:
            asked = parse(await request.json(), limit=config.pool_tokens, default_port=config.bootstrap_port)
            serve = self._prefill if config.role is Role.PREFILL else self._decode
            return 200, await serve(asked), asked
        except (BadRequestError, ValueError) as wrong:
            return 400, {"message": str(wrong)}, None
        except QueueFullError as full:
            return 503, {"message": str(full)}, None
        except TransferError as failed:
            return 500, {"reason": failed.reason, "message": failed.detail}, None

    async def _prefill(self, asked: Request) -> dict[str, Any]:
        body = {"room": asked.room, "prompt_tokens": asked.prompt_tokens}
        seconds = self._config.bootstrap_timeout_s + MARGIN_SECONDS
        senders = [rank for rank in self._ranks if self._config.group.sends(rank.number)]
        parts = await _all(rank.ask("prefill", body, seconds=seconds) for rank in senders)
        real = [part for part in parts if not part.get("dummy")]
        return {
            "bootstrap_room": asked.room,
            "replica_factor": max((part["replica_factor"] for part in real), default=None),
            # Every sender holds the whole latent KV, so one copy of the request is what any of them has.
            "logical_bytes": max((part["logical_bytes"] for part in real), default=0),
            "reported_bytes": sum(part["reported_bytes"] for part in real),
            "seconds": max((part["seconds"] for part in real), default=0.0),
        }

    async def _decode(self, asked: Request) -> dict[str, Any]:
        body = {
            "room": asked.room,
            "prompt_tokens": asked.prompt_tokens,
            "bootstrap_host": asked.bootstrap_host,
            "bootstrap_port": asked.bootstrap_port,
        }
        seconds = self._config.waiting_timeout_s + MARGIN_SECONDS
        async with self._admission.pages(self._config.geometry.pages(asked.prompt_tokens)):
            parts = await _all(rank.ask("decode", body, seconds=seconds) for rank in self._ranks)
        return {"bootstrap_room": asked.room, "wire_bytes": sum(part["wire_bytes"] for part in parts)}


def application(
    config: Config, ranks: Sequence[Rank], registry: Registry | None, *, clock: Callable[[], float]
) -> web.Application:
    """The pod's application."""
    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.add_routes(Api(config, ranks, registry, clock=clock).routes())
    return app


async def _all(asks: Any) -> list[dict[str, Any]]:  # noqa: ANN401 -- coroutines
    """Every rank's answer, or the first failure, once all have ended: a rank must not be left with pages in flight."""
    results = await asyncio.gather(*asks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
