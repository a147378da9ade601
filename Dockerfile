# The two images of pd-operator.
#
#   docker build --target operator -t pd-operator .
#   docker build --target worker   -t pd-worker .
#
# The worker's own build of torch comes from PyPI. A base that has torch already keeps it:
#   --build-arg WORKER_BASE=IMAGE --build-arg WORKER_EXTRA=worker-cpu
ARG BASE=python:3.11-slim-bookworm
ARG WORKER_BASE=${BASE}

# --- what the builds of both images need -------------------------------------------------------------------------
FROM ${BASE} AS tools
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
RUN python3 -m venv /opt/tools && /opt/tools/bin/pip install --quiet pip==26.3 hatchling==1.33.0
WORKDIR /src
# Only this file decides which packages are installed: a change of source finds that layer ready.
COPY pyproject.toml constraints.txt ./
RUN mkdir /requirements && /opt/tools/bin/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
 [open(f'/requirements/{extra}', 'w').write('\n'.join(p['dependencies'] + more)) \
  for extra, more in p['optional-dependencies'].items()]"

# --- the project itself, as a wheel ------------------------------------------------------------------------------
FROM tools AS wheel
COPY README.md LICENSE ./
COPY operator operator
COPY workers workers
RUN /opt/tools/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels .

# --- operator ----------------------------------------------------------------------------------------------------
FROM tools AS operator-packages
RUN python3 -m venv --without-pip /opt/pd && \
    /opt/tools/bin/pip --python /opt/pd/bin/python install --quiet --constraint constraints.txt -r /requirements/operator

FROM operator-packages AS operator-project
COPY --from=wheel /wheels /wheels
RUN /opt/tools/bin/pip --python /opt/pd/bin/python install --quiet --no-deps --prefix /project /wheels/*.whl && \
    rm /project/bin/pd-worker

FROM ${BASE} AS operator
# A name for the number: programs ask for it, and it decides the group.
RUN echo 'pd:x:65532:65532:pd-operator:/tmp:/usr/sbin/nologin' >> /etc/passwd && echo 'pd:x:65532:' >> /etc/group
COPY --from=operator-packages /opt/pd /opt/pd
COPY --from=operator-project /project /opt/pd
# Compiled when installed; at run time the file system is read-only.
ENV PATH=/opt/pd/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
USER 65532:65532
ENTRYPOINT ["pd-operator"]
CMD ["run"]

# --- worker ------------------------------------------------------------------------------------------------------
FROM ${WORKER_BASE} AS worker-base
# The transfer engine's libraries, where the base lacks one.
RUN for library in libibverbs.so.1 libnuma.so.1 libcurl.so.4; do ldconfig -p | grep -q "$library" || missing=yes; done; \
    [ -z "$missing" ] || { apt-get -qq update && \
      apt-get -qq install -y --no-install-recommends libibverbs1 libnuma1 libcurl4 && rm -rf /var/lib/apt/lists/*; }

FROM worker-base AS worker-packages
ARG WORKER_EXTRA=worker
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY --from=tools /opt/tools /opt/tools
COPY --from=tools /requirements /requirements
COPY constraints.txt ./
# worker-cpu has no torch in it: it is the base's, which the environment must see.
RUN case "$WORKER_EXTRA" in *-cpu) see=--system-site-packages;; esac; python3 -m venv --without-pip $see /opt/pd && \
    /opt/tools/bin/pip --python /opt/pd/bin/python install --quiet --constraint constraints.txt -r /requirements/$WORKER_EXTRA

FROM worker-packages AS worker-project
COPY --from=wheel /wheels /wheels
RUN /opt/tools/bin/pip --python /opt/pd/bin/python install --quiet --no-deps --prefix /project /wheels/*.whl && \
    rm /project/bin/pd-operator

FROM worker-base AS worker
RUN echo 'pd:x:65532:65532:pd-operator:/tmp:/usr/sbin/nologin' >> /etc/passwd && echo 'pd:x:65532:' >> /etc/group
COPY --from=worker-packages /opt/pd /opt/pd
COPY --from=worker-project /project /opt/pd
ENV PATH=/opt/pd/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
USER 65532:65532
ENTRYPOINT ["pd-worker"]
CMD ["serve"]
