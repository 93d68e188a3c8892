/** Each reason why a contact waits in an automation, or has left it, has a code. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { findEnrolmentTranslation } from './reason-texts.ts'

/** In SQL and in values; constants in capitals, and the only sentence with a gap. */
const PLACES = [
  /\breason(?: =|:) '([^']+)'/g,
  /\bconst (?:QUOTA_EXCEEDED|NO_TEMPLATE|NOT_SUBSCRIBED) = '([^']+)'/g,
  /\breason = `([^`]+)`/g,
  /return `([^`]+ is not an address [^`]+)`/g,
  /THEN '(the contact [^']+)'/g,
]
/** Refusals of changes, which api/http/refusal-texts.test.ts reads, and the word in an event. */
const OTHERS = /^A workspace can have|^An (?:archived )?automation|^suppressed$/

describe('reasons of contacts in automations', () => {
  const sources = globSync('*.ts', { cwd: import.meta.dirname })
    .filter((file) => !file.includes('.test'))
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))

  for (const place of PLACES)
    it(`have a code where ${place.source}`, () => {
      const found = sources
        .flatMap((source) => [...source.matchAll(place)])
        .map(([, text = '']) => text.replaceAll(/\$\{[^}]*\}/g, '7'))
        .filter((text) => text.includes(' ') && !OTHERS.test(text))
      assert.isNotEmpty(found)
      assert.deepEqual(
        found.filter((text) => findEnrolmentTranslation(text) === null),
        [],
      )
    })
})
