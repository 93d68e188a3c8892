import { assert } from 'chai'
import { attributeName, checkMapping, detectMapping, toApiMapping } from './column-mapping.ts'
import type { CsvHead } from './csv-head.ts'

const headOf = (header: string[], ...rows: string[][]): CsvHead => ({ separator: ',', header, rows })

describe('mapping of columns', () => {
  it('recognises names, makes attributes of others, and uses each meaning once', () => {
    const mapping = detectMapping(headOf(['E-Mail', 'First Name', 'Plan (new)', 'Mail', 'created_at', '']))
    assert.deepEqual(toApiMapping(['E-Mail', 'First Name', 'Plan (new)', 'Mail', 'created_at', ''], mapping), {
      'E-Mail': 'email',
      'First Name': 'firstName',
      'Plan (new)': 'attribute:plan_new',
      Mail: 'ignore',
      created_at: 'ignore',
      '': 'ignore',
    })
    assert.isNull(checkMapping(mapping))
  })

  it('finds the addresses by their values', () => {
    const mapping = detectMapping(headOf(['Kontakt', 'Note'], ['a@x.org', 'b'], ['c@y.org', 'd@z.org'], ['', '']))
    assert.deepEqual(mapping[0], { kind: 'field', field: 'email' })
    assert.strictEqual(checkMapping(detectMapping(headOf(['Note'], ['b']))), 'noEmail')
  })

  it('says what is wrong', () => {
    const email = { kind: 'field', field: 'email' } as const
    assert.strictEqual(checkMapping([email, email]), 'repeated')
    assert.strictEqual(checkMapping([email, { kind: 'attribute', name: ' ' }]), 'noName')
    assert.isNull(checkMapping([email, { kind: 'ignore' }, { kind: 'ignore' }]))
  })

  it('of two columns with one name the first counts', () => {
    const mapping = [{ kind: 'field', field: 'email' }, { kind: 'ignore' }] as const
    assert.deepEqual(toApiMapping(['email', 'email'], mapping), { email: 'email' })
  })

  it('makes names of attributes', () => {
    const cases: readonly [string, string][] = [
      ['attribute:plan', 'plan'],
      ['  Größe in m² ', 'größe_in_m²'],
      ['---', ''],
    ]
    for (const [column, expected] of cases) assert.strictEqual(attributeName(column), expected, column)
  })
})
