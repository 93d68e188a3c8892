import { assert } from 'chai'
import { SETTINGS } from '#config/schema.ts'
import { problemOf } from './questions.ts'

describe('the answers of mailstead setup', () => {
  const CASES: readonly (readonly [
    setting: 'mode' | 'hostname' | 'publicUrl',
    answer: string,
    problem: RegExp | null,
  ])[] = [
    ['mode', 'live', null],
    ['mode', 'production', /one of sandbox, live/],
    ['hostname', 'mail.example.com', null],
    ['hostname', '', /a public name/],
    ['hostname', 'mail.local', /a public name/],
    ['publicUrl', '', null],
    ['publicUrl', 'mail.example.com', /a URL/],
  ]
  for (const [setting, answer, problem] of CASES) {
    it(`${setting}: ${JSON.stringify(answer)}`, () => {
      const found = problemOf(SETTINGS[setting], setting, answer)
      if (problem === null) assert.strictEqual(found, null)
      else assert.match(found ?? '', problem)
    })
  }
})
