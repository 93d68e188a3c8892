// Starts the API reference. Calls go to the origin that served the page.
async function start() {
  const answer = await fetch('/openapi.json')
  const spec = await answer.json()
  const here = { url: location.origin }
  const others = spec.servers.filter(({ url }) => url !== here.url)
  globalThis.SwaggerUIBundle({
    spec: { ...spec, servers: [here, ...others] },
    dom_id: '#reference',
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null, // no external validation service
  })
}

start().catch((error) => {
  document.querySelector('#reference').textContent = `The API description could not be loaded: ${error.message}`
})
