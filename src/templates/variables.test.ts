/**
 * Variables of messages: which contact they describe, their spellings, and that custom attributes never hide a
 * variable.
 */
import { assert } from 'chai'
import type { ContactFields } from '#src/contacts/contact-fields.ts'
import { createEngine } from './engine.ts'
import {
  createVariableFilter,
  sampleVariables,
  toSnakeCase,
  VARIABLE_NAMES,
  VARIABLES,
  variablesOf,
  type MailFacts,
} from './variables.ts'

const CONTACT: ContactFields = {
  id: 'c',
  email: 'ada@x.example',
  firstName: 'Ada',
  lastName: 'Lovelace',
  companyName: 'Engines',
  jobTitle: 'Analyst',
  phoneNumber: '1',
  linkedin: 'l',
  timezone: 'Europe/London',
  tags: ['a', 'b'],
  customAttributes: { plan: 'gold', email: 'other@x.example', unsubscribeUrl: 'https://evil.example' },
}
const MAIL: MailFacts = {
  unsubscribeUrl: 'https://t.example/u',
  preferencesUrl: 'https://t.example/p',
  viewInBrowserUrl: 'https://t.example/v',
  campaign: { id: 'id', name: 'Spring' },
  workspace: { name: 'Shop' },
  event: { order: { n: 7 } },
}

function render(text: string, contact = CONTACT, mail = MAIL): string {
  const rendered = createEngine().render(
    { key: 'k', subject: '', html: null, text },
    JSON.stringify(variablesOf(contact, mail)),
  )
  return rendered.ok ? (rendered.text ?? '') : rendered.reason
}

const CASES: readonly [text: string, output: string][] = [
  [
    '{{email}} {{firstName}} {{first_name}} {{fullName}} {{full_name}}',
    'ada@x.example Ada Ada Ada Lovelace Ada Lovelace',
  ],
  [
    '{{company}} {{companyName}} {{company_name}} {{jobTitle}} {{phone_number}} {{timezone}}',
    'Engines Engines Engines Analyst 1 Europe/London',
  ],
  ['{{#each tags}}{{this}}{{/each}} {{plan}} {{attributes.plan}} {{attributes.email}}', 'ab gold gold other@x.example'],
  [
    '{{unsubscribeUrl}} {{unsubscribe_url}} {{preferencesUrl}} {{viewInBrowserUrl}}',
    'https://t.example/u https://t.example/u https://t.example/p https://t.example/v',
  ],
  ['{{campaign.name}} {{workspace.name}} {{event.order.n}}', 'Spring Shop 7'],
]

describe('the variables of a message', () => {
  for (const [text, output] of CASES) it(text, () => assert.strictEqual(render(text), output))

  it('are empty if the contact has no value, and never print "null"', () => {
    const nobody = { ...CONTACT, firstName: null, lastName: null, companyName: null, tags: [], customAttributes: {} }
    assert.strictEqual(
      render('[{{firstName}}{{fullName}}{{company}}{{plan}}{{tags}}{{campaign.name}}{{event.x}}]', nobody, {
        ...MAIL,
        campaign: undefined,
        event: undefined,
      }),
      '[]',
    )
    assert.strictEqual(render('{{fullName}}', { ...nobody, lastName: 'Lovelace' }), 'Lovelace')
  })

  it('have both spellings and a sample value', () => {
    for (const name of Object.keys(VARIABLES))
      assert.ok(VARIABLE_NAMES.has(name) && VARIABLE_NAMES.has(toSnakeCase(name)), name)
    assert.deepEqual(new Set(Object.keys(sampleVariables())), VARIABLE_NAMES)
  })

  it('are omitted exactly if the source cannot read them', () => {
    for (const [text] of CASES) {
      const few = JSON.stringify(variablesOf(CONTACT, MAIL, createVariableFilter([text, null])))
      const rendered = createEngine().render({ key: 'k', subject: '', html: null, text }, few)
      assert.strictEqual(rendered.ok && rendered.text, render(text), text)
    }
    assert.deepEqual(
      Object.keys(
        variablesOf(CONTACT, MAIL, createVariableFilter(['Hi {{firstName}}', '{{plan}} {{#if event.x}}1{{/if}}'])),
      ),
      ['plan', 'firstName', 'event'],
    )
    for (const any of [
      '{{lookup . "email"}}',
      '{{#each this}}x{{/each}}',
      '{{#with @root}}{{/with}}',
      '{{#each . }}{{/each}}',
    ])
      assert.deepEqual(variablesOf(CONTACT, MAIL, createVariableFilter([any])), variablesOf(CONTACT, MAIL), any)
  })

  it('work with custom attributes that have dangerous names', () => {
    const customAttributes = JSON.parse('{"__proto__":{"x":"bad"},"constructor":"c","plan":"gold"}') as Record<
      string,
      unknown
    >
    assert.strictEqual(render('[{{x}}][{{attributes.x}}]{{plan}}', { ...CONTACT, customAttributes }), '[][]gold')
  })
})
