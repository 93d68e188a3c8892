/** What the rendered examples of the chart were made from. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const FOLDER = import.meta.dirname
export const CHART = join(FOLDER, 'mailstead')
export const EXAMPLES = join(FOLDER, 'examples')

export function listExamples() {
  return readdirSync(EXAMPLES).toSorted()
}

/** Of all files of the chart and one example. */
export function chartChecksum(example) {
  const files = readdirSync(CHART, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const hash = createHash('sha256')
  for (const file of [...files.toSorted(), join(EXAMPLES, example)])
    hash.update(`${file.slice(FOLDER.length)}\n`).update(readFileSync(file))
  return hash.digest('hex')
}
