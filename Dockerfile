# The service alone. ops/compose.yaml and ops/kubernetes.yaml run it; docs/how-to/install.md says how to build it.

# Pin what you build from: --build-arg NODE=node:26-slim@sha256:…, where `docker buildx imagetools inspect node:26-slim`
# shows the digest.
ARG NODE=node:26-slim

FROM $NODE AS build
WORKDIR /plant-store
COPY package.json package-lock.json .npmrc ./
COPY packages/client/package.json packages/client/
# Without the install scripts of packages: the Node of this image is the right one, and the build needs no other.
RUN npm ci --ignore-scripts
COPY . .
# The image can export traces, so it keeps their packages, which are optional elsewhere.
RUN npm run build && npm pkg delete devDependencies peerDependenciesMeta workspaces && npm prune --ignore-scripts

FROM $NODE
LABEL org.opencontainers.image.title="Plant Store" \
  org.opencontainers.image.description="Create, list and delete plants over HTTP, and announce every new plant through a webhook." \
  org.opencontainers.image.version=1.0.0 \
  org.opencontainers.image.licenses=MIT
WORKDIR /opt/plant-store
# Owned by root: the service cannot change its own program.
COPY --from=build /plant-store/node_modules node_modules
COPY --from=build /plant-store/package.json /plant-store/LICENSE ./
COPY --from=build /plant-store/bin bin
COPY --from=build /plant-store/build build
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
# For the embedded store. With DATABASE_URL nothing is written there. Node writes its compile cache to /tmp if it can.
RUN mkdir /data && chown node:node /data && chmod 700 /data
VOLUME /data
# `node`, by its number: so Kubernetes sees that it is not root.
USER 1000:1000
EXPOSE 3000
# Liveness only: a restart does not help a process that cannot reach its database.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
# Without npm or a shell in between, so that SIGTERM reaches the service.
ENTRYPOINT ["bin/plant-store"]
CMD ["serve"]
