# One image for all roles: `docker build -t mailstead .` and then `docker run mailstead api | mta | worker | migrate`.
# docs/guides/installing.md has the settings, volumes and ports.
#
# The base is used only while building: the image itself contains no shell but busybox, no package manager and no npm.
# To pin it by digest as well, pass --build-arg BASE_IMAGE=docker.io/library/debian:12.12-slim@sha256:... ; without
# access to a public registry, pass any image of Debian 12, for example one made by debootstrap (packaging/build image).
# The versions and checksums of Node and of all dependencies are those of package-lock.json.
ARG BASE_IMAGE=docker.io/library/debian:12.12-slim

FROM ${BASE_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends binutils ca-certificates nodejs npm
WORKDIR /build
COPY . .
# A registry of your own: --secret id=npmrc,src=$HOME/.npmrc, and its certificate authority: --secret id=ca,src=ca.pem
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca,target=/run/ca.pem \
    NODE_EXTRA_CA_CERTS=/run/ca.pem node packaging/production.mjs /opt/mailstead && strip /opt/mailstead/runtime/node

FROM ${BASE_IMAGE} AS system
COPY packaging/container/system /usr/local/sbin/system
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && system /system

FROM scratch
COPY --from=system /system /
COPY --from=build /opt/mailstead /opt/mailstead
# Ports above 1023, so that no capability is needed. Publish 2526, 2465 and 2587 as 25, 465 and 587, and with
# HTTPS_PORT=3443 and HTTP_REDIRECT_PORT=3080 those two as 443 and 80.
ENV PATH=/opt/mailstead/bin:/usr/bin:/bin \
    NODE_ENV=production \
    NODE_COMPILE_CACHE=/var/cache/mailstead \
    DATA_DIR=/var/lib/mailstead \
    HEALTH_FILE=/dev/shm/mailstead.alive \
    INBOUND_PORT=2526 \
    SUBMISSION_PORT=2587 \
    SUBMISSION_TLS_PORT=2465
USER 61100:61100
RUN ["mailstead", "compile"]
VOLUME ["/var/lib/mailstead"]
EXPOSE 3000 3080 3443 2526 2587 2465 2525
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["/opt/mailstead/packaging/container/healthcheck"]
# tini passes signals on and reaps the processes that others leave behind.
ENTRYPOINT ["/usr/bin/tini-static", "--", "/opt/mailstead/bin/mailstead"]
CMD ["--help"]
