# The service alone: Node runs it as it is, so there is nothing to build.
FROM node:26-slim
WORKDIR /opt/plant-store
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force
COPY bin bin
COPY src src
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
# Of the embedded store. With DATABASE_URL nothing is written there.
RUN mkdir /data && chown node:node /data && chmod 700 /data
VOLUME /data
USER node
EXPOSE 3000
# Whether the process lives: one that cannot reach its database is not helped by a restart.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
# Without npm in between, so that SIGTERM reaches the service.
ENTRYPOINT ["bin/plant-store"]
CMD ["serve"]
