"""The bootstrap server of prefill: its ranks register, decode learns the topology and where each rank listens."""

import time
from collections.abc import Mapping

from aiohttp import web

from pdworker.bootstrap.registry import Place, Registry

NO_RANK = -1  # asked for in all four places: the topology
REGISTRY = web.AppKey("registry", Registry)
ROW = {"dp": "attn_dp_rank", "cp": "attn_cp_rank", "tp": "attn_tp_rank", "pp": "pp_rank"}
QUERY = {"dp": "prefill_dp_rank", "cp": "prefill_cp_rank", "tp": "target_tp_rank", "pp": "target_pp_rank"}


def application(registry: Registry) -> web.Application:
    """The routes, over a registry that its pod also looks at for its readiness."""
    app = web.Application(client_max_size=64 << 10)  # a row is a few hundred bytes
    app[REGISTRY] = registry
    app.add_routes([web.get("/health", _health), web.put("/route", _register), web.get("/route", _route)])
    return app


async def _health(_: web.Request) -> web.Response:
    return web.Response(text="OK")


async def _register(request: web.Request) -> web.Response:
    try:
        row = await request.json()
        place = Place(**{axis: int(row[name]) for axis, name in ROW.items()})
        request.app[REGISTRY].register(place, ip=str(row["rank_ip"]), port=int(row["rank_port"]), now=time.monotonic())
    except (ValueError, KeyError, TypeError, OverflowError) as wrong:
        return web.Response(status=400, text=f"not a registration: {wrong!r}")
    return web.Response(text="OK")


async def _route(request: web.Request) -> web.Response:
    registry, now = request.app[REGISTRY], time.monotonic()
    try:
        place = _place(request.query)
    except (KeyError, ValueError) as wrong:
        return web.Response(status=400, text=f"the query needs {', '.join(QUERY.values())}: {wrong!r}")
    if not registry.is_complete(now=now):
        text = f"{registry.present(now=now)} of {registry.shape.ranks} ranks have registered"
        return web.Response(status=503, text=text)
    if place == Place(NO_RANK, NO_RANK, NO_RANK, NO_RANK):
        return web.json_response(registry.topology())
    address = registry.address(place, now=now)
    if address is None:
        return web.Response(status=404, text=f"{place} is outside {registry.shape}")
    return web.json_response({"rank_ip": address[0], "rank_port": address[1]})


def _place(query: Mapping[str, str]) -> Place:
    return Place(**{axis: int(query[name]) for axis, name in QUERY.items()})
