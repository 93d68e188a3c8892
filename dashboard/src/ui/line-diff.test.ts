import { expect } from 'chai'
import fc from 'fast-check'
import { diffLines } from './line-diff.ts'

const text = fc.array(fc.constantFrom('a', 'b', 'c', '')).map((lines) => lines.join('\n'))

describe('line diff', () => {
  const table: [string, string, string][] = [
    ['a\nb\nc', 'a\nb\nc', ' a, b, c'],
    ['a\nb\nc', 'a\nc', ' a,-b, c'],
    ['a\nc', 'a\nb\nc', ' a,+b, c'],
    ['a\nb', 'a\nc', ' a,-b,+c'],
    ['a\na', 'a', ' a,-a'],
    ['', 'a', '-,+a'],
  ]
  const signs = { same: ' ', added: '+', removed: '-' }
  for (const [before, after, expected] of table)
    it(`${JSON.stringify(before)} to ${JSON.stringify(after)}`, () => {
      const lines = diffLines(before, after).lines.map((line) => signs[line.kind] + line.text)
      expect(lines.join()).to.equal(expected)
    })

  it('keeps both texts, and numbers their lines', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { lines } = diffLines(before, after)
        const old = lines.filter((line) => line.kind !== 'added')
        const changed = lines.filter((line) => line.kind !== 'removed')
        expect(old.map((line) => line.text).join('\n')).to.equal(before)
        expect(changed.map((line) => line.text).join('\n')).to.equal(after)
        expect(old.map((line) => line.oldNumber)).to.deep.equal(old.map((_, index) => index + 1))
        expect(changed.map((line) => line.newNumber)).to.deep.equal(changed.map((_, index) => index + 1))
      }),
    )
  })

  it('says that it does not compare very long texts line by line', () => {
    const long = (name: string) => Array.from({ length: 3000 }, (_, index) => `${name} ${index}`).join('\n')
    const diff = diffLines(long('old'), long('new'))
    expect(diff.isComplete).to.equal(false)
    expect(diff.lines).to.have.length(6000)
  })
})
