import { assert } from 'chai'
import { findAttributeUses } from './attribute-uses.ts'

const CASES: readonly (readonly [source: string, explicit: readonly string[], bare: readonly string[]])[] = [
  ['{{attributes.plan}} {{plan}}', ['plan'], ['plan']],
  ['{{attributes.plan}} {{#if attributes.plan}}x{{/if}}', ['plan'], []],
  ['{{attributes.[odd name]}}', ['odd name'], []],
  ['{{firstName}} {{first_name}} {{unsubscribeUrl}} {{campaign.name}} {{attributes}}', [], []],
  ['{{#each items}}{{plan}}{{/each}}', [], ['items']],
  ['{{order.id}}', [], ['order']],
]

describe('the attributes that a template uses', () => {
  for (const [source, explicit, bare] of CASES)
    it(`of ${source}`, () => {
      assert.deepEqual(findAttributeUses([source, null, source]), { explicit, bare })
    })
  it('are at most 100', () => {
    const source = Array.from({ length: 150 }, (_, i) => `{{name${i}}}`).join('')
    assert.lengthOf(findAttributeUses([source]).bare, 100)
  })
})
