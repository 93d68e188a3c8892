/**
 * GET /docs/guides/going-live: the guides of docs/guides as they are written, in Markdown. Findings of
 * `mailstead doctor` lead here, also where no checkout is at hand.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { NOT_MODIFIED_RESPONSE, respondTagged, REVALIDATE, type TaggedText, withCompression } from '#api/http/etag.ts'
import { route } from '#api/http/route.ts'

const FOLDER = join(import.meta.dirname, '../../docs/guides')
/** Letters and hyphens only: the name cannot leave the folder. */
const PAGE = /^([a-z-]{1,60})(?:\.md)?$/

export const guide = route({
  name: 'guide',
  summary: 'Get a guide, in Markdown',
  method: 'GET',
  paths: ['/docs/guides/:page'],
  atRoot: true,
  access: 'public',
  params: z.object({ page: z.string() }),
  status: 200,
  produces: ['text/plain'],
  additionalResponses: NOT_MODIFIED_RESPONSE,
  errors: ['NOT_FOUND'],
  handle: async (_ctx, { params, headers }) => {
    const [, name] = PAGE.exec(params.page) ?? []
    const found = name === undefined ? null : await findGuide(name)
    if (found === null) return refuse('NOT_FOUND', 'There is no such guide. See /docs.')
    return respondTagged(found, headers, REVALIDATE)
  },
})

/** By name. Only names of files stay, and those change only with a release: the map does not grow. */
const guides = new Map<string, Promise<TaggedText | null>>()

/** A guide, compressed once per process; null if there is none of this name. */
export async function findGuide(name: string): Promise<TaggedText | null> {
  const reading = guides.get(name) ?? readGuide(name)
  guides.set(name, reading)
  const found = await reading
  if (found === null) guides.delete(name)
  return found
}

async function readGuide(name: string): Promise<TaggedText | null> {
  try {
    return withCompression(await readFile(join(FOLDER, `${name}.md`), 'utf8'), 'text/plain; charset=utf-8')
  } catch {
    return null
  }
}
