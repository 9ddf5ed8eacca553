// Shows the document of this service, wherever a proxy puts it.
SwaggerUIBundle({
  url: new URL('../../openapi.json', location.href).href,
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  deepLinking: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
  validatorUrl: null,
});
