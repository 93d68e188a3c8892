import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { fromHex } from './compose.test-data.ts'
import { generateOctetsModule } from './generate-octets-module.ts'
import { loadOctets, MAX_SHARED, type TextTraits } from './octets.ts'

const linesOf = (text: string): string => loadOctets(text).lines().toString()
const quotedOf = (text: string): string => loadOctets(text).quoted().toString('latin1')
/** Octets, as one character each. */
const relaxedOf = (octets: string): string => loadOctets(Buffer.from(octets, 'latin1')).relaxed().toString('latin1')

/** The same results, by regular expressions. */
const linesByExpression = (text: string): string => text.toWellFormed().replace(/\r\n?|\n/g, '\r\n')
const relaxedByExpression = (octets: string): string =>
  octets
    .replace(/(?<!\r)\n/g, '\r\n')
    .replace(/[ \t]+/g, ' ')
    .replace(/ (?=\r\n|$)/g, '')
const traitsByExpression = (text: string): TextTraits => {
  const lines = text.split(/\r\n?|\n/).map((line) => Buffer.from(line))
  return {
    nonAscii: Buffer.from(text).filter((octet) => octet > 127).length,
    longest: lines.reduce((longest, { length }) => Math.max(longest, length), 0),
    hasNul: text.includes('\0'),
    hasFrom: lines.some((line) => line.toString('latin1').startsWith('From ')),
  }
}

/** Quoted-printable, octet by octet, of lines that end in CRLF. */
function quotedByOctets(text: Buffer): string {
  let out = ''
  let column = 0
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? 0
    if (c === 13) {
      out += '\r\n'
      i++
      column = 0
      continue
    }
    const isLast = i + 1 === text.length || text[i + 1] === 13
    const isSpace = c === 9 || c === 32
    const isFrom = column === 0 && text.toString('latin1', i, i + 5) === 'From '
    const isLiteral = (isSpace ? !isLast : c > 32 && c < 127 && c !== 61) && !isFrom
    const octet = isLiteral ? String.fromCharCode(c) : `=${c.toString(16).toUpperCase().padStart(2, '0')}`
    if (column + octet.length > (isLast ? 76 : 75)) {
      out += '=\r\n'
      column = 0
      i--
      continue
    }
    column += octet.length
    out += octet
  }
  return out
}

/** Pieces that matter, and fillers up to more than a block of 16 octets. */
const piece = fc.oneof(
  fc.constantFrom('a', ' ', '\t', '\r\n', '\r', '\n', 'ü', '=', 'From ', '😀', '\0', '\ud800', '  ', ' \r\n'),
  fc.integer({ min: 1, max: 80 }).map((length) => 'x'.repeat(length)),
)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
)
const RUNS = { numRuns: 3000 }

describe('the module of passes', () => {
  it('is what octets.wat says', async () => {
    const written = readFileSync(join(import.meta.dirname, 'octets-module.ts'), 'utf8')
    assert.strictEqual(written, await generateOctetsModule(), 'run node src/mime/generate-octets-module.ts')
  })

  it('has room for texts of every size, also after a large one, and reads nothing behind a text', () => {
    for (const size of [0, 1, 15, 16, 17, MAX_SHARED / 3, MAX_SHARED - 9, MAX_SHARED + 9, 3_000_000, 5]) {
      const given = `${'ü \n'.repeat(size / 4)}x`
      assert.ok(quotedOf(given) === quotedByOctets(Buffer.from(linesByExpression(given))), `${size}`)
      assert.ok(linesOf(given) === linesByExpression(given), `${size}`)
      assert.ok(relaxedOf(given) === relaxedByExpression(Buffer.from(given, 'latin1').toString('latin1')), `${size}`)
      assert.deepEqual(loadOctets(given).traits(), traitsByExpression(given))
    }
    loadOctets('From here\nFrom here\0ü')
    assert.deepEqual(loadOctets('a').traits(), { nonAscii: 0, longest: 1, hasNul: false, hasFrom: false })
    assert.strictEqual(loadOctets('').traits().hasFrom, false)
  })
})

describe('the traits of a text', () => {
  it('are those that regular expressions find', () => {
    fc.assert(
      fc.property(text, (given) => {
        assert.deepEqual(loadOctets(given).traits(), traitsByExpression(given))
      }),
      RUNS,
    )
  })
})

describe('strict octets', () => {
  it('have line ends of CRLF only, and no NUL', () => {
    const isStrict = (given: string): boolean => loadOctets(given).isStrict
    for (const [given, expected] of [
      ['', true],
      ['a\r\nb\r\n', true],
      ['a\r', false],
      ['\n', false],
      [`${'x'.repeat(15)}\r\n`, true],
      [`${'x'.repeat(15)}\ry`, false],
      [`${'x'.repeat(15)}\r`, false],
      [`${'x'.repeat(16)}\n`, false],
      ['a\0', false],
    ] as const)
      assert.strictEqual(isStrict(given), expected, JSON.stringify(given))
    fc.assert(
      fc.property(fc.oneof(text, text.map(linesByExpression)), (given) => {
        assert.strictEqual(isStrict(given), !/\0|\r(?!\n)|(?<!\r)\n/.test(given))
      }),
      RUNS,
    )
  })
})

describe('lines', () => {
  it('end in CRLF', () => {
    assert.strictEqual(linesOf('a\rb\nc\r\nd\n\re\r\r\nf'), 'a\r\nb\r\nc\r\nd\r\n\r\ne\r\n\r\nf')
    assert.strictEqual(linesOf('a\nb\n'), 'a\r\nb\r\n')
    fc.assert(
      fc.property(text, (given) => {
        assert.strictEqual(linesOf(given), linesByExpression(given))
      }),
      RUNS,
    )
  })
})

describe('relaxed lines', () => {
  it('are those of regular expressions', () => {
    assert.strictEqual(relaxedOf(' C \r\nD \t E\r\n\r\n'), ' C\r\nD E\r\n\r\n')
    fc.assert(
      fc.property(text, (given) => {
        const octets = Buffer.from(given).toString('latin1')
        assert.strictEqual(relaxedOf(octets), relaxedByExpression(octets))
      }),
      RUNS,
    )
  })
})

describe('quoted-printable', () => {
  const cases: readonly [text: string, encoded: string][] = [
    ['', ''],
    ['a=b', 'a=3Db'],
    ['ü', '=C3=BC'],
    ['a \r\nb\t\r\n', 'a=20\r\nb=09\r\n'],
    ['a ', 'a=20'],
    ['\0\f', '=00=0C'],
    ['From me\r\nFrom', '=46rom me\r\nFrom'],
    ['x'.repeat(76), 'x'.repeat(76)],
    ['x'.repeat(77), `${'x'.repeat(75)}=\r\nxx`],
    [`${'x'.repeat(76)}\r\ny`, `${'x'.repeat(76)}\r\ny`],
    [`${'x'.repeat(74)}ü`, `${'x'.repeat(74)}=\r\n=C3=BC`],
    [`${'x'.repeat(75)}From x`, `${'x'.repeat(75)}=\r\n=46rom x`],
  ]
  for (const [given, encoded] of cases)
    it(JSON.stringify(given.slice(0, 80)), () => assert.strictEqual(quotedOf(given), encoded))

  it('decodes to the original text, in lines of 76', () => {
    fc.assert(
      fc.property(text, (given) => {
        const octets = Buffer.from(linesByExpression(given))
        const encoded = quotedOf(given)
        assert.ok(
          encoded
            .split('\r\n')
            .every(
              (line) =>
                line.length <= 76 && /^[\t !-~]*$/.test(line) && !/[\t ]$/.test(line) && !line.startsWith('From '),
            ),
        )
        assert.deepEqual(fromHex(encoded.replaceAll('=\r\n', '')), octets)
        assert.strictEqual(encoded, quotedByOctets(octets))
      }),
      RUNS,
    )
  })
})

describe('base64 of octets', () => {
  it('is that of Node in lines, also of the result of another pass', () =>
    fc.assert(
      fc.property(text, (value) => {
        const lines = Buffer.from(loadOctets(value).lines())
        const expected = (lines.toString('base64').match(/.{1,76}/g) ?? []).join('\r\n')
        assert.strictEqual(loadOctets(lines).base64().toString('latin1'), expected)
        assert.strictEqual(loadOctets(loadOctets(value).lines()).base64().toString('latin1'), expected)
      }),
      RUNS,
    ))
})
