import { assert } from 'chai'
import fc from 'fast-check'
import { changesOf, EMPTY_FORM, readAttribute, writeAttribute } from './contact-form.ts'

describe('form of a contact', () => {
  it('reads attributes with their types', () => {
    const cases: readonly [string, unknown][] = [
      ['pro', 'pro'],
      ['5', 5],
      ['-1.5', -1.5],
      ['true', true],
      ['0049 30 1', '0049 30 1'],
      ['00491', '00491'],
      ['12345678901234567890', '12345678901234567890'],
      ['1e5', '1e5'],
      ['["a"]', ['a']],
      ['{broken', '{broken'],
      ['"5"', '5'],
      ['', ''],
    ]
    for (const [text, expected] of cases) assert.deepEqual(readAttribute(text), expected, text)
  })

  it('writes each value so that it is read again', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string())), (value) => {
        assert.deepEqual(readAttribute(writeAttribute(value)), value)
      }),
    )
  })

  it('sends what changed, and null for what was removed', () => {
    const stored = {
      ...EMPTY_FORM,
      email: 'a@example.org',
      texts: { ...EMPTY_FORM.texts, first_name: 'Anna', last_name: 'Berg' },
      attributes: [
        { key: 0, name: 'plan', value: 'pro' },
        { key: 1, name: 'seats', value: '5' },
      ],
    }
    assert.deepEqual(changesOf(stored, stored), {})
    const form = {
      ...stored,
      texts: { ...stored.texts, first_name: '' },
      tags: ['vip'],
      attributes: [
        { key: 1, name: 'seats', value: '6' },
        { key: 2, name: ' ', value: 'x' },
      ],
    }
    assert.deepEqual(changesOf(form, stored), {
      first_name: null,
      tags: ['vip'],
      custom_attributes: { plan: null, seats: 6 },
    })
  })
})
