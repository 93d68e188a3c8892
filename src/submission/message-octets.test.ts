import { assert } from 'chai'
import { MAX_SHARED } from '#src/mime/octets.ts'
import { validateOctets } from './message-octets.ts'

describe('the octets of a message', () => {
  const line = 'x'.repeat(76)
  const cases: readonly [what: string, octets: string, refusal: RegExp | null][] = [
    ['lines that end in CRLF', `${line}\r\n\r\n${line}\r\n`, null],
    ['no line end at the end', line, null],
    ['nothing', '', null],
    ['NUL', `a\0b\r\n`, /NUL/],
    ['LF without CR', `a\r\nb\n`, /LF without CR/],
    ['CR without LF', `a\rb\r\n`, /CR without LF/],
    ['CR at the end', `a\r\nb\r`, /CR without LF/],
  ]
  for (const [what, octets, refusal] of cases)
    it(`${what}: ${refusal === null ? 'accepted' : 'refused'}`, () => {
      const problem = validateOctets(Buffer.from(octets))
      if (refusal === null) assert.isNull(problem)
      else assert.match(problem?.message ?? '', refusal)
    })

  it('are examined beyond what is examined at once', () => {
    for (let length = MAX_SHARED - 4; length <= MAX_SHARED + 2; length++) {
      const start = 'x'.repeat(length)
      assert.isNull(validateOctets(Buffer.from(`${start}\r\n${start}\r\n`)), `${length}`)
      assert.match(validateOctets(Buffer.from(`${start}\r${start}`))?.message ?? '', /CR without LF/, `${length}`)
      assert.match(validateOctets(Buffer.from(`${start}\n${start}`))?.message ?? '', /LF without CR/, `${length}`)
      assert.match(validateOctets(Buffer.from(`${start}${start}\0`))?.message ?? '', /NUL/, `${length}`)
    }
  })
})
