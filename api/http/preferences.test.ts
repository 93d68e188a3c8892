import { assert } from 'chai'
import { isStrict, wantsTranslations } from './preferences.ts'

describe('Prefer: handling=strict', () => {
  const CASES: readonly (readonly [prefer: string | undefined, expected: boolean])[] = [
    [undefined, false],
    ['', false],
    ['handling=strict', true],
    ['Handling="strict"', true],
    ['respond-async, handling=strict; x=y', true],
    ['handling=lenient', false],
    ['nothandling=strict', false],
  ]
  for (const [prefer, expected] of CASES)
    it(`${String(prefer)}: ${expected}`, () =>
      assert.strictEqual(isStrict(prefer === undefined ? {} : { prefer }), expected))
})

describe('Prefer: translations', () => {
  const CASES: readonly (readonly [prefer: string | undefined, expected: boolean])[] = [
    [undefined, false],
    ['translations', true],
    ['handling=strict, translations', true],
    ['no-translations', false],
    ['translations=none', false],
  ]
  for (const [prefer, expected] of CASES)
    it(`${String(prefer)}: ${expected}`, () =>
      assert.strictEqual(wantsTranslations(prefer === undefined ? {} : { prefer }), expected))
})
