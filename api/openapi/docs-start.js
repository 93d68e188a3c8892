// Starts the reference page. Calls go to the server that the page came from, under whatever name it was reached.
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
    validatorUrl: null, // no stranger is asked whether the description is valid
  })
}

start().catch((error) => {
  document.querySelector('#reference').textContent = `The description could not be loaded: ${error.message}`
})
