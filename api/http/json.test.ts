import { assert } from 'chai'
import fc from 'fast-check'
import { readJson } from './json.ts'

const objectOf = (keys: number): string => `{${Array.from({ length: keys }, (_, i) => `"k${i}":1`).join(',')}}`
const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth)

describe('strict JSON', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const result = readJson(text)
        const isRefusable = text.includes('\\u') || text.includes('__proto__')
        if (result.ok) assert.deepEqual(result.value, JSON.parse(text))
        else assert.ok(isRefusable, `${text}: ${result.reason}`)
      }),
    )
  })

  it('never throws, and never accepts half a character, a NUL or __proto__', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json({ stringUnit: 'binary' }),
      fc
        .array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', 'a', '1', '\\u0000', '\\ud800', '"__proto__"'))
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(hostile, (text) => {
        const result = readJson(text)
        if (!result.ok) return
        const again = JSON.stringify(result.value)
        assert.ok(
          again.isWellFormed() &&
            !/\\u0000|\\ud[89a-f]/.test(again.replaceAll('\\\\', '')) &&
            !again.includes('"__proto__":'),
          again,
        )
      }),
      { numRuns: 2000 },
    )
  })

  const REFUSED: readonly (readonly [why: string, text: string, reason: RegExp])[] = [
    ['a broken text', '{"a":', /not valid JSON/],
    ['a text that never ends', '{"a":"', /not valid JSON/],
    ['an escape before the end', '{"a":"\\"}', /not valid JSON/],
    ['a trailing comma', '{"a":1,}', /not valid JSON/],
    ['a bare control character', '{"a":"\u0001"}', /not valid JSON/],
    ['a key twice', '{"a":1,"a":2}', /same key twice/],
    ['a key twice, escaped once', '{"a":1,"\\u0061":2}', /same key twice/],
    ['a key twice with space before its colon', '{"a" :1,"a"\n:2}', /same key twice/],
    ['a key twice beside a text that looks like one', '{"a":"\\":","a":1,"b":"x:\\":"}', /same key twice/],
    ['a key twice that ends with a backslash', '{"a\\\\":1,"a\\\\":2}', /same key twice/],
    ['a key twice in a large text', `{"a":"${'x'.repeat(300_000)}","a":1}`, /same key twice/],
    ['a key twice among many brackets', `{"a":[${'[],'.repeat(100)}1],"a":1}`, /same key twice/],
    ['a key twice in a nested object', '{"x":[{"a":{},"a":[]}]}', /same key twice/],
    ['__proto__', '{"__proto__":{"isAdmin":true}}', /__proto__/],
    ['__proto__, escaped', '{"x":{"\\u005f_proto__":1}}', /__proto__/],
    ['NUL', '{"a":"b\\u0000c"}', /NUL/],
    ['NUL in a key', '{"a\\u0000":1}', /NUL/],
    ['half a surrogate pair', '{"a":"\\ud800"}', /surrogate/],
    ['the other half', '["\\udc00\\ud800"]', /surrogate/],
    ['100,000 brackets', nested(100_000, '[', ']'), /nested deeper/],
    ['100,000 objects', nested(100_000, '{"a":', '}'), /nested deeper/],
    ['100,000 keys of an object', objectOf(100_000), /more than 2000 keys/],
    ['too many keys in an object of a list', `[${objectOf(3)},${objectOf(2001)}]`, /more than 2000 keys/],
    ['too many keys before they are parsed', objectOf(2001).slice(0, -1), /more than 2000 keys/],
    ['millions of small values', `[${'1,'.repeat(500_000)}1]`, /more than/],
  ]
  for (const [why, text, reason] of REFUSED) {
    it(`refuses ${why}`, () => {
      const result = readJson(text)
      assert.ok(!result.ok)
      assert.match(result.reason, reason)
    })
  }

  const READ: readonly (readonly [why: string, text: string, value: unknown])[] = [
    ['nothing as an empty object', '', {}],
    ['a byte order mark', '\ufeff{"a":1}', { a: 1 }],
    ['colons, braces and quotes in texts', '{"a":"b:{\\"c\\":1}\\\\","d":"}{"}', { a: 'b:{"c":1}\\', d: '}{' }],
    ['a text that looks like a key', '{"a":"b\\":1","c" : "\\\\"}', { a: 'b":1', c: '\\' }],
    ['brackets in texts', `{"a":"${'[{'.repeat(100)}"}`, { a: '[{'.repeat(100) }],
    ['as many keys as are allowed', objectOf(2000), JSON.parse(objectOf(2000))],
    [
      'more in several objects',
      `[${objectOf(1500)},${objectOf(1500)}]`,
      [JSON.parse(objectOf(1500)), JSON.parse(objectOf(1500))],
    ],
    ['a whole surrogate pair, escaped', '["\\ud83d\\ude00"]', ['😀']],
    ['the same key in different objects', '[{"a":1},{"a":2}]', [{ a: 1 }, { a: 2 }]],
    [
      'keys that mean something to objects',
      '{"constructor":1,"toString":2,"hasOwnProperty":3}',
      { constructor: 1, toString: 2, hasOwnProperty: 3 },
    ],
  ]
  for (const [why, text, value] of READ) {
    it(`reads ${why}`, () => {
      const result = readJson(text)
      assert.ok(result.ok)
      assert.strictEqual(JSON.stringify(result.value), JSON.stringify(value))
    })
  }

  it('detects duplicate keys at any depth, and nothing else', () => {
    // random strings of significant characters, in objects with few keys: duplicates are common
    const text = fc.array(fc.constantFrom('"', '\\', ':', '{', '}', '[', ' ', 'a', ',')).map((signs) => signs.join(''))
    const pairs = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'a\\', 'a":'), fc.constantFrom(':', ' :', '\n: '), text),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(pairs, (given) => {
        const members = given.map(([key, colon, value]) => JSON.stringify(key) + colon + JSON.stringify(value))
        const written = `{${members.join(',')}}`
        assert.strictEqual(readJson(written).ok, new Set(given.map(([key]) => key)).size === given.length, written)
      }),
      { numRuns: 2000 },
    )
  })

  it('needs linear time, also for backslashes', () => {
    // a quadratic reader would need minutes for these
    for (const text of [`{"a":"${'\\\\'.repeat(2_000_000)}"}`, `{"a":"${'\\"'.repeat(2_000_000)}"}`])
      assert.ok(readJson(text).ok)
  })
})
