/** Assembles octets.wat: `node src/mime/generate-octets-module.ts` writes octets-module.ts. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import wabt from 'wabt'

const LINE = 100

export async function generateOctetsModule(): Promise<string> {
  const assembler = await wabt()
  const module = assembler.parseWat('octets.wat', readFileSync(join(import.meta.dirname, 'octets.wat'), 'utf8'))
  const base64 = Buffer.from(module.toBinary({}).buffer).toString('base64')
  const lines = base64.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? []
  return [
    '/** octets.wat in base64, by generate-octets-module.ts. */',
    'export const OCTETS_MODULE =',
    ...lines.map((line, i) => `  '${line}'${i + 1 < lines.length ? ' +' : ''}`),
    '',
  ].join('\n')
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(join(import.meta.dirname, 'octets-module.ts'), await generateOctetsModule())
