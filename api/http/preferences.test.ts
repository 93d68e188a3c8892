import type { IncomingHttpHeaders } from 'node:http'
import { assert } from 'chai'
import { isStrict, wantsTranslations } from './preferences.ts'

type Case = readonly [prefer: string | undefined, expected: boolean]

const STRICT: readonly Case[] = [
  [undefined, false],
  ['', false],
  ['handling=strict', true],
  ['Handling="strict"', true],
  ['respond-async, handling=strict; x=y', true],
  ['handling=lenient', false],
  ['nothandling=strict', false],
]
const TRANSLATIONS: readonly Case[] = [
  [undefined, false],
  ['translations', true],
  ['handling=strict, translations', true],
  ['no-translations', false],
  ['translations=none', false],
]

function describePreference(
  name: string,
  read: (headers: IncomingHttpHeaders) => boolean,
  cases: readonly Case[],
): void {
  describe(`Prefer: ${name}`, () => {
    for (const [prefer, expected] of cases)
      it(`${String(prefer)}: ${expected}`, () =>
        assert.strictEqual(read(prefer === undefined ? {} : { prefer }), expected))
  })
}

describePreference('handling=strict', isStrict, STRICT)
describePreference('translations', wantsTranslations, TRANSLATIONS)
