/** Each reason for the end of an import has a code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { findImportTranslation } from './reason-texts.ts'

/** What is in quotes or backquotes in these places. */
const SOURCES: readonly (readonly [file: string, place: RegExp])[] = [
  ['csv-reader.ts', /CSV_\w+: ['`]([^'`]+)['`]/g],
  ['import-runner.ts', /THEN '([^']* [^']+)'/g],
  ['purge-imports.ts', /reason = '([^']+)'/g],
]

describe('reasons of imports', () => {
  for (const [file, place] of SOURCES)
    it(`have a code in ${file}`, () => {
      const source = readFileSync(join(import.meta.dirname, file), 'utf8')
      const found = [...source.matchAll(place)].map(([, text = '']) => text.replaceAll(/\$\{[^}]*\}/g, '131072'))
      assert.isNotEmpty(found)
      for (const text of found) assert.isNotNull(findImportTranslation(text), text)
    })

  it('name a line and what is wrong in it', () => {
    const problem = 'the row is longer than 131072 characters; check for a quote that is never closed'
    assert.deepEqual(findImportTranslation(`line 7: ${problem}`), {
      code: 'import_reason.at_line',
      params: { line: '7', problem },
      param_translations: { problem: { code: 'import_reason.row_too_long', params: { max: '131072' } } },
    })
  })
})
