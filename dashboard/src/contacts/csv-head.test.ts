import { assert } from 'chai'
import fc from 'fast-check'
import { detectEncoding, parseRecords, readCsvHead } from './csv-head.ts'

const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`

describe('beginning of a CSV file', () => {
  it('reads quotation marks, separators and ends of lines', () => {
    const cases: readonly [string, readonly (readonly string[])[]][] = [
      [
        'a,b\r\n1,2\r\n',
        [
          ['a', 'b'],
          ['1', '2'],
        ],
      ],
      [
        'a,b\r1,2',
        [
          ['a', 'b'],
          ['1', '2'],
        ],
      ],
      ['"a,b","c ""d"""\n', [['a,b', 'c "d"']]],
      ['"two\nlines",x\n', [['two\nlines', 'x']]],
      [
        'a,\n\n,b',
        [
          ['a', ''],
          ['', 'b'],
        ],
      ],
      ['5" pipe,x', [['5" pipe', 'x']]],
      ['', []],
    ]
    for (const [text, expected] of cases) assert.deepEqual(parseRecords(text, ',', 10), expected, JSON.stringify(text))
  })

  it('leaves out a last record that was cut', () => {
    assert.deepEqual(parseRecords('a,b\n1,2\n3', ',', 10, true), [
      ['a', 'b'],
      ['1', '2'],
    ])
  })

  it('chooses the separator that finds the addresses', () => {
    const cases: readonly [string, string, readonly string[]][] = [
      ['email;name, first\na@x.org;A', ';', ['email', 'name, first']],
      ['\uFEFFEmail\tName\na@x.org\tA', '\t', ['Email', 'Name']],
      ['a|b|c\n', '|', ['a', 'b', 'c']],
      ['email\na@x.org', ',', ['email']],
    ]
    for (const [text, separator, header] of cases)
      assert.deepInclude(readCsvHead(text, 5), { separator, header }, JSON.stringify(text))
    assert.isNull(readCsvHead('', 5))
  })

  it('detects the encoding', () => {
    assert.strictEqual(detectEncoding(new TextEncoder().encode('Jörg')), 'utf-8')
    assert.strictEqual(detectEncoding(new TextEncoder().encode('Jö').slice(0, 2)), 'utf-8')
    assert.strictEqual(detectEncoding(Uint8Array.of(0x4a, 0xf6, 0x72)), 'windows-1252')
    assert.strictEqual(detectEncoding(Uint8Array.of(0xff, 0xfe, 0x4a, 0)), 'utf-16le')
  })

  it('reads again what is written with quotation marks', () => {
    const record = fc.array(fc.string(), { minLength: 2, maxLength: 5 })
    fc.assert(
      fc.property(fc.array(record, { maxLength: 5 }), (records) => {
        const text = records.map((cells) => `${cells.map(quote).join(',')}\r\n`).join('')
        assert.deepEqual(parseRecords(text, ',', 100), records)
      }),
    )
  })

  it('never fails, whatever the text is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        readCsvHead(text, 3, true)
      }),
    )
  })
})
