/**
 * The files of the API reference: Swagger UI from its package, the script that starts it, and the page. This server
 * serves all of them; nothing is loaded from other sites. Their URLs contain a digest of the content, so browsers may
 * cache them forever. They are read from disk once, at the first request.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { withEtag, type TaggedText } from '#api/http/etag.ts'

export interface DocsFiles {
  readonly page: TaggedText
  /** By the name in the URL. */
  readonly assets: ReadonlyMap<string, TaggedText>
}

const CSS = 'text/css; charset=utf-8'
const JS = 'text/javascript; charset=utf-8'

const ASSET_SOURCES = {
  style: { name: 'swagger-ui.css', type: CSS, at: import.meta.resolve('swagger-ui-dist/swagger-ui.css') },
  bundle: { name: 'swagger-ui-bundle.js', type: JS, at: import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js') },
  start: { name: 'start.js', type: JS, at: import.meta.resolve('./docs-start.js') },
} as const

/** The path of the files below /docs. */
export const ASSETS = '/docs/assets'

interface DocsAsset {
  readonly name: string
  readonly file: TaggedText
}

/** @throws if a file of the installation is missing. */
export async function readDocsFiles(): Promise<DocsFiles> {
  const [style, bundle, start] = await Promise.all(
    [ASSET_SOURCES.style, ASSET_SOURCES.bundle, ASSET_SOURCES.start].map(readAsset),
  )
  if (style === undefined || bundle === undefined || start === undefined)
    throw new Error('a file of the API reference page is missing; reinstall the packages')
  const assets = new Map([style, bundle, start].map(({ name, file }) => [name, file]))
  return { page: withEtag(renderPage(style.name, [bundle.name, start.name]), 'text/html; charset=utf-8'), assets }
}

/** `start.js` becomes `start.<digest>.js`. Source maps are not served, so their reference is removed. */
async function readAsset({
  name,
  type,
  at,
}: {
  readonly name: string
  readonly type: string
  readonly at: string
}): Promise<DocsAsset> {
  const text = (await readFile(fileURLToPath(at), 'utf8')).replace(/\n\/[/*]# sourceMappingURL=.*$/s, '\n')
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { name: name.replace(/(?=\.\w+$)/, `.${digest}`), file: withEtag(text, type) }
}

function renderPage(style: string, scripts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mailstead API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${ASSETS}/${style}">
</head>
<body>
<noscript>
<p>This page needs JavaScript. The same description for programs: <a href="/openapi.json">openapi.json</a>.</p>
</noscript>
<main id="reference"></main>
${scripts.map((name) => `<script src="${ASSETS}/${name}" defer></script>`).join('\n')}
</body>
</html>
`
}
