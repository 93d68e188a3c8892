/** Conditions of steps on attributes of a contact or an event. */
import { assert } from 'chai'
import { asks, run, tag } from './step-engine.test-data.ts'

describe('comparison of attributes', () => {
  const ROWS: readonly (readonly [
    attribute: string,
    operator: string,
    value: string | number | boolean | null,
    is: boolean,
  ])[] = [
    ['first_name', 'equals', 'ADA', true],
    ['firstName', 'equals', 'ada ', true],
    ['firstName', 'equals', 'Ad', false],
    ['lastName', 'equals', '', false],
    ['lastName', 'not_equals', 'Byron', true],
    ['lastName', 'exists', null, false],
    ['lastName', 'not_exists', null, true],
    ['plan', 'equals', 'pro', true],
    ['attributes.plan', 'equals', 'pro', true],
    ['plan', 'not_equals', 'pro', false],
    ['seats', 'greater_than', 9, true],
    ['seats', 'greater_than', '9', true],
    ['seats', 'less_than', 9, false],
    ['seats', 'equals', '12', true],
    ['since', 'less_than', '2029-05-01T00:00:01Z', true],
    ['since', 'greater_than', '2029-04-30', true],
    ['address.city', 'equals', 'bern', true],
    ['address.zip', 'exists', null, false],
    ['address', 'exists', null, true],
    ['tags', 'contains', 'VIP', true],
    ['tags', 'not_contains', 'vip', false],
    ['companyName', 'contains', 'engine', true],
    ['event.total', 'greater_than', 19, true],
    ['event.total', 'equals', 19.9, true],
    ['event.none', 'less_than', 5, false],
    ['constructor', 'exists', null, false],
    ['__proto__.toString', 'exists', null, false],
    ['email', 'contains', '@example.com', true],
  ]
  for (const [attribute, operator, value, is] of ROWS) {
    it(`${attribute} ${operator} ${value}: ${is}`, () => {
      const result = run([asks('q', { type: 'attribute', attribute, operator, value }, [tag('y', 'yes')], [])])
      assert.strictEqual(result.effects.length === 1, is)
    })
  }
})

describe('timestamps without a zone', () => {
  const zone = process.env['TZ']
  before(() => {
    process.env['TZ'] = 'America/New_York'
  })
  after(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })
  const ROWS: readonly (readonly [found: string, value: string])[] = [
    ['2029-05-01T10:00:00', '2029-05-01T10:00:00Z'],
    ['2029-05-01 10:00', '2029-05-01T10:00:00.000Z'],
    ['2029-05-01', '2029-05-01T00:00'],
    ['2029-05-01T10:00:00+02:00', '2029-05-01 08:00:00'],
  ]
  for (const [found, value] of ROWS) {
    it(`are UTC in any server time zone: ${found} is ${value}`, () => {
      const question = { type: 'attribute', attribute: 'event.at', operator: 'equals', value }
      assert.strictEqual(run([asks('q', question, [tag('y', 'yes')], [])], { event: { at: found } }).effects.length, 1)
    })
  }
})
