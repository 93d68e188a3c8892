/**
 * The files of the pages for developers: one style sheet and one script, served by this server; nothing is loaded from
 * other sites. Their URLs contain a digest of the content, so browsers may cache them forever. They are read from disk
 * once, at the first request.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withEtag, type TaggedText } from '#api/http/etag.ts'
import type { PageAssets } from './reference-page.ts'

export interface DocsFiles {
  /** The URLs of the files. */
  readonly urls: PageAssets
  /** By the name in the URL. */
  readonly assets: ReadonlyMap<string, TaggedText>
}

/** The path of the files below /docs. */
export const ASSETS = '/docs/assets'

/** @throws if a file of the installation is missing. */
export async function readDocsFiles(): Promise<DocsFiles> {
  const [style, script] = await Promise.all([
    readAsset('reference.css', 'text/css; charset=utf-8'),
    readAsset('reference.js', 'text/javascript; charset=utf-8'),
  ])
  return {
    urls: { style: `${ASSETS}/${style.name}`, script: `${ASSETS}/${script.name}` },
    assets: new Map([style, script].map(({ name, file }) => [name, file])),
  }
}

/** `reference.js` becomes `reference.<digest>.js`. */
async function readAsset(name: string, type: string): Promise<{ readonly name: string; readonly file: TaggedText }> {
  const text = await readFile(join(import.meta.dirname, name), 'utf8')
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { name: name.replace(/(?=\.\w+$)/, `.${digest}`), file: withEtag(text, type) }
}
