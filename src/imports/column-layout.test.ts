import { assert } from 'chai'
import fc from 'fast-check'
import { readLayout, type LayoutOptions } from './column-layout.ts'

const OPTIONS: LayoutOptions = { mapping: {}, unknownColumns: 'ignore' }

function meanings(header: string, options: Partial<LayoutOptions> = {}): unknown {
  const read = readLayout(header, { ...OPTIONS, ...options })
  return read.ok ? read.layout.columns.map(({ meaning }) => meaning) : read.details
}

describe('the layout of a file', () => {
  const SPELLED: readonly (readonly [string, readonly string[]])[] = [
    ['email', ['email']],
    ['E-Mail;First Name;last_name', ['email', 'firstName', 'lastName']],
    ['Email Address\tfirstName\tCompany', ['email', 'firstName', 'companyName']],
    ['e-mail|job title|PHONE|time zone', ['email', 'jobTitle', 'phoneNumber', 'timezone']],
    ['"email","Name, full",tags', ['email', 'ignore', 'tags']],
    ['email,name,status,custom_attributes', ['email', 'name', 'status', 'customAttributes']],
    ['id,email,created_at,attribute:Plan,colour', ['ignore', 'email', 'ignore', 'attribute:Plan', 'ignore']],
    ['email,E-Mail', ['email', 'ignore']],
    ["'@handle,email", ['ignore', 'email']],
  ]
  for (const [header, expected] of SPELLED) {
    it(`${JSON.stringify(header)} is recognised`, () => assert.deepEqual(meanings(`${header}\r\nrest`), expected))
  }

  it('a mapping overrides column names, whatever its case and spelling', () => {
    const mapping = { Kontakt: 'e_mail', Email: null, plan: 'attribute:plan', X: 'tags' }
    assert.deepEqual(meanings('email;kontakt;Plan;x', { mapping }), ['ignore', 'email', 'attribute:plan', 'tags'])
  })

  it('unknown columns become attributes only on request, and columns of the export never do', () => {
    assert.deepEqual(meanings('email,colour,deliverabilityScore,', { unknownColumns: 'attributes' }), [
      'email',
      'attribute:colour',
      'ignore',
      'ignore',
    ])
  })

  const WRONG: readonly (readonly [string, Partial<LayoutOptions>, string, RegExp])[] = [
    ['', {}, '', /no header line/],
    ['"email', {}, '', /no header line/],
    ['first,last', {}, 'mapping', /no column is the email address; the header has "first", "last"/],
    ['email', { mapping: { mail: 'email' } }, 'mapping.mail', /no such column/],
    ['email,a', { mapping: { a: 'height' } }, 'mapping.a', /must be one of/],
    ['email,a', { mapping: { a: 'attribute:' } }, 'mapping.a', /must be one of/],
    ['a,b', { mapping: { a: 'email', b: 'email' } }, 'mapping.b', /already/],
    [`email,${'x,'.repeat(10_000)}`, {}, '', /10002 columns; at most 200/],
    ['x'.repeat(100_000), {}, '', /no header line/],
  ]
  for (const [header, options, path, message] of WRONG) {
    it(`${JSON.stringify(header.slice(0, 20))} with ${JSON.stringify(options)} is rejected: ${message.source}`, () => {
      const read = readLayout(header, { ...OPTIONS, ...options })
      assert.ok(!read.ok)
      assert.strictEqual(read.details[0]?.path, path)
      assert.match(read.details[0].message, message)
    })
  }

  it('any text is accepted or rejected, never an exception', () => {
    const texts = fc.string({ unit: fc.constantFrom('"', ',', ';', '\t', '\n', '\r', 'email', 'x', '\0', "'", '=') })
    fc.assert(
      fc.property(texts, fc.dictionary(fc.string(), fc.option(fc.string())), (text, mapping) => {
        const read = readLayout(text, { mapping, unknownColumns: 'attributes' })
        assert.ok(
          read.ok
            ? read.layout.columns.filter(({ meaning }) => meaning === 'email').length === 1
            : read.details.length > 0,
        )
      }),
    )
  })
})
