"""pdworker: the transfer worker.

It moves real KV pages with a real engine, in the real protocol order, at the real fan-out. No tokens are generated:
prefill fills the pages of a prompt with a pattern of this request, and decode checks every page that arrives.
"""

__version__ = "0.1.0"
