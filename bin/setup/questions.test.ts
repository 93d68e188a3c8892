import { assert } from 'chai'
import { SETTINGS } from '#config/schema.ts'
import { hintOf, problemOf } from './questions.ts'

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
  it('name what an empty answer means, without a password', () => {
    const hints = [
      hintOf('hostname', ''),
      hintOf('httpsPort', '443'),
      hintOf('databaseUrl', ''),
      hintOf('databaseUrl', 'postgres://mailstead:s3cr:et@127.0.0.1:5432/mailstead'),
      hintOf('redisUrl', 'rediss://:secret@redis.example:6379'),
      hintOf('redisUrl', 'redis://127.0.0.1:6379'),
    ]
    assert.deepEqual(hints, [
      '',
      ' [443]',
      '; empty: the embedded one',
      ' [postgres://mailstead:…@127.0.0.1:5432/mailstead]',
      ' [rediss://:…@redis.example:6379]',
      ' [redis://127.0.0.1:6379]',
    ])
  })
})
