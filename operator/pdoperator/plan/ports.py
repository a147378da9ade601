"""The ports of the contract between operator and workers."""

HTTP = 30000
BOOTSTRAP = 8998
RANKS_FIRST, RANKS_LAST = 16000, 16127
ENGINE_FIRST, ENGINE_LAST = 15000, 15127
