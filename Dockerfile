# The image of a worker. Nothing secret goes in: keys come at run time, by environment or by mounted files.
#
#   docker build -t mnemolog:0.1.0 .
#   docker build -t mnemolog:0.1.0 --build-arg EXTRA=onnx .   (or fastembed, or both: encoders of your own)
#
# The server listens on loopback unless it is told otherwise, in a container as anywhere: see docs/how-to/deploy.md.

FROM python:3.11.14-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
# The dependencies come first: they change less often than the code, and their layer is kept.
COPY requirements.txt requirements-mcp.txt requirements-otel.txt ./
COPY requirements-onnx.txt requirements-fastembed.txt requirements-build.txt ./
RUN python -m venv /opt/mnemolog && \
    /opt/mnemolog/bin/pip install --require-hashes --only-binary :all: \
      -r requirements.txt -r requirements-mcp.txt -r requirements-otel.txt
# What EMBEDDING_MODEL=onnx:… or fastembed:… needs besides; the model's files are mounted.
ARG EXTRA=""
RUN for one in $EXTRA; do \
      /opt/mnemolog/bin/pip install --require-hashes --only-binary :all: -r "requirements-$one.txt" || exit 1; \
    done
RUN python -m venv --without-pip /opt/build && \
    /opt/mnemolog/bin/pip --python /opt/build install --require-hashes --only-binary :all: -r requirements-build.txt
COPY pyproject.toml README.md LICENSE ./
COPY schemas ./schemas
COPY projections ./projections
COPY streams ./streams
COPY mnemolog ./mnemolog
RUN /opt/build/bin/hatchling build -t wheel -d /build/wheels && \
    /opt/mnemolog/bin/pip install --no-deps --no-index /build/wheels/mnemolog-*.whl

FROM python:3.11.14-slim-bookworm
RUN mkdir /data && chown 65532:65532 /data
COPY --from=build /opt/mnemolog /opt/mnemolog
ENV PATH=/opt/mnemolog/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MNEMOLOG_DATA_DIR=/data
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8420
# A worker is healthy when it may be sent requests; until then it folds the log, which takes as long as the log is.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10m --retries=3 \
    CMD ["python", "-c", "import os, ssl, urllib.request as r; e = os.environ.get; s = 's' if e('MNEMOLOG_TLS_CERT_FILE') else ''; r.urlopen(f\"http{s}://127.0.0.1:{e('MNEMOLOG_PORT') or 8420}/health/ready\", timeout=4, context=ssl._create_unverified_context() if s else None)"]
ENTRYPOINT ["mnemolog"]
CMD ["up"]
