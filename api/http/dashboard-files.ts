/**
 * The files of the dashboard, which `dashboard/build.mjs` writes to dashboard/dist. They are the same for everybody and
 * contain no data. The names of the assets contain a digest of their content, so browsers may cache them forever; the
 * page itself is written anew for each request, with a nonce for the style sheets that its scripts add.
 *
 * Until the dashboard is built, there is no page; it is looked for at each request. After a new build the old assets
 * are gone, and a page that still names them loads again.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { IMMUTABLE, REVALIDATE } from './etag.ts'
import type { ApiResponse } from './route.ts'

const FOLDER = join(import.meta.dirname, '../../dashboard/dist')
const NONCE_SLOT = '__CSP_NONCE__'
const HTML = 'text/html; charset=utf-8'

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
}
/** In the order of preference. The build writes each text file in both. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const

export interface DashboardFiles {
  /** The page of every address of the dashboard. */
  page(): ApiResponse
  /** The document that shows the HTML of a mail, without its scripts and with an origin of its own. */
  mailFrame(options: { readonly loadsImages: boolean }): ApiResponse
  /** Null if there is no such file. */
  asset(name: string, headers: IncomingHttpHeaders): Promise<ApiResponse | null>
}

/** Reads the files again when they were built again. Null while there are none. */
export function createDashboardFiles(folder = FOLDER): () => Promise<DashboardFiles | null> {
  let loaded: { readonly builtAt: number; readonly files: DashboardFiles } | null = null
  return async () => {
    const builtAt = await stat(join(folder, 'index.html')).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    )
    if (builtAt === null) return null
    if (loaded?.builtAt !== builtAt) loaded = { builtAt, files: await readFiles(folder) }
    return loaded.files
  }
}

async function readFiles(folder: string): Promise<DashboardFiles> {
  const assets = join(folder, 'assets')
  const [page, frame, names] = await Promise.all([
    readFile(join(folder, 'index.html'), 'utf8'),
    readFile(join(folder, 'mail-frame.html'), 'utf8'),
    readdir(assets).then((found) => new Set(found)),
  ])
  return {
    page: () => renderPage(page),
    mailFrame: ({ loadsImages }) => ({
      body: frame,
      type: HTML,
      headers: { ...REVALIDATE, ...frameHeaders(frame, loadsImages ? "'self' data: https:" : 'data:') },
    }),
    asset: async (name, headers) => {
      const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
      if (type === undefined || !names.has(name)) return null
      const accepted = readEncodings(headers['accept-encoding'])
      const encoding = ENCODINGS.find((one) => accepted.has(one.name) && names.has(name + one.suffix))
      const body = await readFile(join(assets, name + (encoding?.suffix ?? '')))
      const encoded = encoding === undefined ? {} : { 'Content-Encoding': encoding.name }
      const cached = /-[\w-]{8}\.\w+$/.test(name) ? IMMUTABLE : REVALIDATE
      return { body, type, headers: { ...cached, ...encoded, Vary: 'Accept-Encoding' } }
    },
  }
}

/** Every script and style is a file of this server; styles that a script adds carry the nonce of the response. */
function renderPage(text: string): ApiResponse {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  return {
    body: text.replace(NONCE_SLOT, nonce),
    type: HTML,
    headers: {
      'Cache-Control': 'no-store',
      'Content-Security-Policy': policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Permissions-Policy':
        'camera=(), geolocation=(), microphone=(), payment=(), usb=(), publickey-credentials-get=(self)',
    },
  }
}

/**
 * `sandbox` without `allow-same-origin` gives the document an origin of its own, which may read nothing of this server.
 * Of scripts only the one of the document may run. Images of other servers would report to the sender that the mail was
 * opened, so they are loaded only when the reader asks for them.
 */
function frameHeaders(text: string, images: string): Readonly<Record<string, string>> {
  const script = /<script>([\s\S]*?)<\/script>/.exec(text)?.[1] ?? ''
  const digest = createHash('sha256').update(script).digest('base64')
  const policy = [
    'sandbox allow-scripts',
    "default-src 'none'",
    `script-src 'sha256-${digest}'`,
    "style-src 'unsafe-inline'",
    `img-src ${images}`,
    'font-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ')
  return { 'Content-Security-Policy': policy, 'X-Frame-Options': 'SAMEORIGIN' }
}

/** The encodings with a weight above 0 (RFC 9110 §12.5.3). */
function readEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const items = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((item) => item.trim().split(/\s*;\s*/))
  return new Set(items.filter(([, weight]) => !/^q=0(?:\.0*)?$/.test(weight ?? '')).map(([name = '']) => name))
}
